//! Elections on etcd in a made-up world: a store with etcd's semantics, our processes, foreign
//! candidates, and the checks.

mod elections;
pub mod fact;
pub mod focus;
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
pub use records::Details;
pub use scenario::Counts;

crate::worlds! {
    Elections, "etcd", plan::draw
}
