//! The outcome of a step of the session.

use alloc::vec::Vec;

use super::own_keys::FoundKey;
use crate::etcd::event::Lost;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{Refusal, Revision};
use crate::name::ElectionName;

/// The outcome of a session's step, which the node passes on to candidates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum SessionEvent {
    Nothing,
    Opened,
    /// A lease of a new term is open: keys move to it.
    Moving,
    Moved(MoveReport),
    /// A keep-alive was answered: [`confirm`](super::Session::confirm) comes next.
    Answered,
    /// A confirmation has read these keys: [`confirmed`](super::Session::confirmed) comes next.
    Found(Vec<FoundKey>),
    Lost(Lost),
    Refused(Refusal),
    /// etcd does not let this user read keys of this election.
    Unread(ElectionName, Refusal),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum MoveReport {
    All {
        to: LeaseId,
        asked: Vec<(ElectionName, Revision)>,
    },
    /// At least one key was not in its expected place.
    Found(Vec<FoundKey>),
}
