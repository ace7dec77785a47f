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

crate::worlds! {
    RegionalVoters, "voter", plan::draw
}
