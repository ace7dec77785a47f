//! A made-up world for Tenure's cores: true time, drifting clocks, a network and disks that fail,
//! and a judge that sees all of it.

pub mod explain;
pub mod nerio;
#[cfg(tenure_planted)]
pub mod planted;
pub mod recorder;
pub mod rng;
pub mod shrink;
pub mod sweep;
pub mod timeline;
pub mod violation;
pub mod world;
