//! Regional voters in a made-up world: HTTP exchanges with the driver's part of them, directories,
//! and the checks.

pub mod account;
pub mod exchange;
mod fact;
pub mod plan;
pub mod properties;
mod scenario;
pub mod server;

pub use fact::Own;
pub use scenario::{Counts, RegionalVoters};

use crate::sweep::Source;

/// Worlds of regional voters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = RegionalVoters;

    const NAME: &'static str = "voter";

    fn plan(&self, seed: u64) -> plan::Plan {
        plan::draw(seed)
    }
}
