//! Epochs of a cluster, section 10.6.

mod document;
mod id;
mod membership;
mod whereabouts;

pub use document::{Document, DocumentError, Origin, Seat};
pub use id::EpochId;
pub use membership::Membership;
pub use whereabouts::{Current, Where};
