//! Leader election.

pub mod state;
