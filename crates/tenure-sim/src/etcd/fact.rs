//! Facts of etcd's worlds alone.

use tenure_core::etcd::{Answer, Bytes, LeaseId, Lost, Request};

use super::store::note::Note;

/// A fact for properties. Elections and nodes have numbers.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A core reports that the key of an ended claim is gone.
    Released { node: usize, election: usize, key: &'a Bytes },
    /// A core reports that its lease is over.
    Closed { node: usize, lease: LeaseId, lost: Option<Lost> },
    /// A core sends a request.
    Sent { node: usize, life: u64, request: &'a Request },
    /// An answer arrives.
    Heard { node: usize, answer: &'a Answer },
    /// A core ignored the latest answer, because it did not wait for this answer.
    Unasked { node: usize },
    /// A change of the store.
    Stored(&'a Note),
}
