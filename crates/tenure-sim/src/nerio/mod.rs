//! Nerio in a made-up world: its disks, its applications, its judges.

mod app;
pub mod bent;
mod codec;
mod counts;
pub mod disk;
pub mod driver;
pub mod fact;
mod forge;
mod installed;
pub mod ledger;
pub mod plan;
pub mod properties;
mod town;
mod worlds;

pub use counts::Counts;
pub use town::Town;
pub use worlds::Worlds;
