//! A made-up world for Tenure's cores: true time, drifting clocks, a network and disks that fail,
//! and a judge that sees all of it.

pub mod forecast;
pub mod nerio;
pub mod recorder;
pub mod rng;
pub mod sweep;
pub mod timeline;
pub mod violation;
pub mod world;
