//! NELE in a made-up world: a broker with its logs and its coordinator, clients with the core in
//! them, and the checks.

pub mod broker;
pub mod client;
pub mod coordinator;
pub mod frame;
pub mod plan;
pub mod proofs;
pub mod properties;
mod scenario;

pub use scenario::{Counts, Emergence, Own};

use crate::sweep::Source;

/// Worlds of NELE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = Emergence;

    const NAME: &'static str = "nele";

    fn plan(&self, seed: u64) -> plan::Plan {
        plan::draw(seed)
    }
}
