//! Elections on etcd in a made-up world: a store with etcd's semantics, our processes, candidates
//! that are not ours, and the checks.

pub mod bent;
mod elections;
pub mod fact;
pub mod foreign;
pub mod outside;
pub mod packet;
pub mod plan;
pub mod process;
pub mod properties;
pub mod records;
mod scenario;
pub mod store;
mod troubles;
pub mod words;

pub use elections::Elections;
pub use records::Led;
pub use scenario::Counts;

use crate::sweep::Source;

/// Worlds of elections on etcd.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = Elections;

    const NAME: &'static str = "etcd";

    fn plan(&self, seed: u64) -> plan::Plan {
        plan::draw(seed)
    }
}
