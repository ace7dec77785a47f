//! The outcome of a step of the session.

use alloc::vec::Vec;

use super::keys::FoundKey;
use crate::etcd::event::Lost;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{Refusal, Revision};
use crate::name::ElectionName;

/// The outcome of a step of the session; the node sees to the candidates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum SessionEvent {
    Nothing,
    /// The first lease is there: candidates can make keys on it.
    Opened,
    /// A lease of a new term is there: keys are moved to it.
    Moving,
    /// etcd has answered a move.
    Moved(MoveReport),
    /// etcd has answered a keep-alive: [`confirm`](super::Session::confirm) comes next.
    Answered,
    /// A confirmation has read these keys: [`confirmed`](super::Session::confirmed) comes next.
    Found(Vec<FoundKey>),
    /// The lease is over.
    Lost(Lost),
    /// etcd refuses a lease.
    Refused(Refusal),
    /// etcd refuses to read keys of this election.
    Unread(ElectionName, Refusal),
}

/// The outcome of a transaction that moves keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum MoveReport {
    /// All keys are on this lease.
    All { to: LeaseId, asked: Vec<(ElectionName, Revision)> },
    /// At least one key was not where it was thought to be.
    Found(Vec<FoundKey>),
}
