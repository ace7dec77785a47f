//! Nerio in a made-up world: its disks, its own facts and checks.

mod changes;
mod codec;
pub mod disk;
pub mod epochs;
pub mod fact;
pub mod focus;
mod forge;
mod installed;
mod lists;
mod node;
pub mod operator;
pub mod plan;
pub mod properties;
mod quorum_leases;
mod scenario;
pub mod walls;
pub mod watch;
mod worlds;

pub use quorum_leases::{Details, Grant, QuorumLeases};
pub use scenario::Counts;
pub use worlds::Worlds;
