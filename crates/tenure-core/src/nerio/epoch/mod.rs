//! Epochs of a cluster, section 10.6.

mod id;
mod membership;

pub use id::EpochId;
pub use membership::Membership;
