//! Epochs of a cluster, section 10.6.
//!
//! An epoch is a membership with a number, and a [document](Document) describes it. The members of
//! an epoch decide its successor by [proposals](Proposer) and durable [votes](Vote). A member of
//! the successor enters it with an [inheritance](Inheritance): the leases of the epoch before that
//! may not be over. No node uses these three yet.

mod document;
mod id;
mod membership;
mod proposer;
mod rests;
mod transfer;
mod vote;
mod whereabouts;

pub use document::{Document, DocumentError, Origin, Seat};
pub use id::EpochId;
pub use membership::Membership;
pub use proposer::{Phase, Proposer};
pub use rests::{HeldRest, Inheritance, Page, RestBounds, Source};
pub use transfer::{DocumentPart, DocumentRead, DocumentReader, ReadOutcome};
pub use vote::{Ballot, Vote};
pub use whereabouts::{Current, Where};
