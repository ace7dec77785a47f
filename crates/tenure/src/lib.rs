//! Leader election.

pub mod clock;
pub mod supervise;
