//! NELE in a made-up world: a broker with its logs and coordinators, clients with the core in them,
//! and the checks.

pub mod broker;
pub mod client;
pub mod coordinator;
pub mod frame;
pub mod plan;
pub mod properties;
mod readings;
mod scenario;

pub use scenario::{Counts, Emergence, Own};

crate::worlds! {
    Emergence, "nele", plan::draw
}
