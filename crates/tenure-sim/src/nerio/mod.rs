//! Nerio in a made-up world: its disks, its applications, its judges.

mod app;
pub mod disk;
pub mod driver;
pub mod fact;
pub mod ledger;
pub mod plan;
pub mod properties;
mod town;

pub use town::{Counts, Town};
