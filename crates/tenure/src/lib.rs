//! Leader election.

pub mod state;
pub mod clock;
pub mod supervise;
