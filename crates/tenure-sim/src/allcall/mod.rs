//! ALLCALL in a made-up world: servers of a bus, their clients with the core in them, and the
//! checks.

pub mod client;
pub mod frame;
pub mod plan;
pub mod properties;
mod scenario;
pub mod station;

pub use scenario::{Counts, LeasedLeaders};

crate::worlds! {
    LeasedLeaders, "allcall", plan::draw
}
