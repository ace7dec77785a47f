//! ALLCALL in a made-up world: servers of a bus, their clients with the core in them, and the
//! checks.

pub mod client;
pub mod frame;
pub mod plan;
pub mod properties;
mod scenario;
pub mod station;

pub use scenario::{Counts, LeasedLeaders};

use crate::sweep::Source;

/// Worlds of ALLCALL.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = LeasedLeaders;

    const NAME: &'static str = "allcall";

    fn plan(&self, seed: u64) -> plan::Plan {
        plan::draw(seed)
    }
}
