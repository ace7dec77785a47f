//! The actions of a participant's deadlines.

use crate::time::{Deadline, Time};

/// The action at a deadline. Actions on leases are listed first, then actions on one election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    /// The session reads to see the term, or requests a lease.
    Establish,
    Renewal,
    LeaseEnd,
    /// The session requests a lease of a new term, or moves keys to it.
    NewTerm,
    GivenLease,
    /// The session revokes a lease that no candidate needs.
    Revoke,
    Answer,
    Create,
    Look,
    /// A candidate that leaves deletes its key again, or searches for a late key.
    Leave,
    Observe,
}

impl Timer {
    /// The reason of a [`Deadline`], in words.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Establish => "asking for a lease",
            Self::Renewal => "renewing the lease",
            Self::LeaseEnd => "the lease ends",
            Self::NewTerm => "a lease of a new term",
            Self::GivenLease => "renewing the lease that was handed in",
            Self::Revoke => "revoking a lease again",
            Self::Answer => "an answer is overdue",
            Self::Create => "a candidate makes its key",
            Self::Look => "a candidate looks",
            Self::Leave => "a candidate deletes its key again",
            Self::Observe => "an observer looks",
        }
    }

    pub(super) const fn at(self, at: Time) -> Deadline {
        Deadline { at, why: self.why() }
    }
}
