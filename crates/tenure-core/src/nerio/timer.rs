//! The deadlines of a participant.

use crate::time::{Deadline, Time};

/// The purpose of a deadline. The first group is a grantor's, the second a candidate's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    Quarantine,
    ReadFences,
    WriteBoot,
    WriteFences,
    LongerLeases,
    FlushHangs,
    WriteRecords,
    WriteMemories,
    SayMemory,
    GrantEnd,
    WriteVote,
    Propose,
    Admit,
    AskEpoch,
    AskRests,
    RestsOver,
    Attempt,
    Renewal,
    LeaseEnd,
    TransferEnd,
    Release,
    Observe,
    ReadDocument,
    Ring,
}

impl Timer {
    /// The purpose in words.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Quarantine => "the quarantine ends",
            Self::ReadFences => "asking for fences again",
            Self::WriteBoot => "writing the boot again",
            Self::WriteFences => "writing the fences that were read again",
            Self::LongerLeases => "longer leases are given",
            Self::FlushHangs => "a flush takes too long",
            Self::WriteRecords => "writing again",
            Self::WriteMemories => "writing again which memories there are",
            Self::SayMemory => "a grantor states its memory again",
            Self::GrantEnd => "a grant or a waiting request ends",
            Self::WriteVote => "writing again its vote, or its entry into an epoch",
            Self::Propose => "asking again about the next epoch",
            Self::Admit => "asking for a member whose directory may be lost",
            Self::AskEpoch => "asking the other members for their epoch",
            Self::AskRests => "asking again which leases may last",
            Self::RestsOver => "all leases of earlier epochs have ended",
            Self::Attempt => "a candidate asks for the lease",
            Self::Renewal => "a leader renews",
            Self::LeaseEnd => "a lease ends",
            Self::TransferEnd => "the time for a hand-over ends",
            Self::Release => "a release is sent again",
            Self::Observe => "an observer asks again",
            Self::ReadDocument => "asking for a part of a document again",
            Self::Ring => "asking the neighbours on the ring",
        }
    }

    pub(super) const fn at(self, at: Time) -> Deadline {
        Deadline { at, why: self.why() }
    }
}
