//! Leader election.

pub mod clock;
pub mod state;
pub mod supervise;
