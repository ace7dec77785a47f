//! What a participant waits for by itself.

use crate::time::{Deadline, Time};

/// What is due at a deadline. The first group is about the lease, the second about one election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    /// A lease is asked for, or what is known of it is read again.
    Establish,
    /// The lease is renewed.
    Renewal,
    /// The lease must be taken for over.
    LeaseEnd,
    /// A lease of a new term is asked for, or keys are moved to it.
    NewTerm,
    /// The lease that was handed in is renewed.
    GivenLease,
    /// A lease that is not needed any more is revoked again.
    Revoke,
    /// An answer is overdue.
    Answer,
    /// A candidate makes its key.
    Create,
    /// A candidate that waits, or a leader, looks at the queue.
    Look,
    /// A candidate that leaves deletes its key again, or looks whether it came late.
    Leave,
    /// An observer looks.
    Observe,
}

impl Timer {
    /// In words.
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
