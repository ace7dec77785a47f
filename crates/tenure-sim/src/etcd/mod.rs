//! Elections on etcd in a made-up world: a store with etcd's semantics, our processes, candidates
//! that are not ours, and the judges.

mod app;
pub mod bent;
mod counts;
pub mod fact;
pub mod foreign;
pub mod ledger;
pub mod packet;
pub mod plan;
pub mod process;
pub mod properties;
pub mod resident;
pub mod store;
mod town;

pub use counts::Counts;
pub use town::{Town, Worlds};
