//! Epochs of a cluster, section 10.6.
//!
//! An epoch is a membership with a number. The members of an epoch decide its successor by
//! [proposals](Proposer) and durable [votes](Vote). No node uses these two yet.

mod id;
mod membership;
mod proposer;
mod vote;

pub use id::EpochId;
pub use membership::Membership;
pub use proposer::{Phase, Proposer};
pub use vote::{Ballot, Vote};
