//! Facts that only worlds of etcd have.

use tenure_core::Time;
use tenure_core::etcd::{Answer, Bytes, LeaseId, Lost, Request};

use super::store::note::Note;

/// Something that a property may judge. Elections and nodes go by their numbers.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// The key of what has ended is told as gone.
    Released { node: usize, election: usize, key: &'a Bytes },
    /// A process takes its lease for over.
    Closed { node: usize, lease: LeaseId, lost: Option<Lost> },
    /// A request is sent.
    Sent {
        node: usize,
        life: u64,
        request: &'a Request,
        /// Instant on the clock of the node.
        local: Time,
    },
    /// An answer arrives.
    Heard {
        node: usize,
        answer: &'a Answer,
        /// Instant on the clock of the node.
        local: Time,
    },
    /// A core did not wait for the answer that it was given last.
    Unasked { node: usize },
    /// Something has become true in the store.
    Stored(&'a Note),
}
