//! What happens in worlds of etcd only.

use tenure_core::Time;
use tenure_core::etcd::{Answer, Bytes, LeaseId, Lost, Request};

use super::store::note::Note;

/// Something that a property may judge. Elections and nodes go by their numbers.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// The key of what has ended is told as gone.
    Released {
        /// Which node's.
        node: usize,
        /// In which election.
        election: usize,
        /// The key.
        key: &'a Bytes,
    },
    /// A process takes its lease for over.
    Closed {
        /// Which node.
        node: usize,
        /// The lease.
        lease: LeaseId,
        /// Why, if it was lost.
        lost: Option<Lost>,
    },
    /// A request is sent.
    Sent {
        /// By which node.
        node: usize,
        /// Its life.
        life: u64,
        /// The request.
        request: &'a Request,
        /// What its clock shows.
        local: Time,
    },
    /// An answer arrives.
    Heard {
        /// At which node.
        node: usize,
        /// The answer.
        answer: &'a Answer,
        /// What its clock shows.
        local: Time,
    },
    /// A core did not wait for the answer that it was given last.
    Unasked {
        /// Which node's.
        node: usize,
    },
    /// Something has become true in the store.
    Stored(&'a Note),
}
