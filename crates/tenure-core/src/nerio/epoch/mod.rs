//! Epochs of a cluster, section 10.6.

mod membership;

pub use membership::Membership;
