//! What a participant waits for by itself.

use crate::time::{Deadline, Time};

/// What is due at a deadline. The first group is a grantor's, the second a candidate's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    /// The quarantine ends.
    Quarantine,
    /// The fences of the others are asked for again.
    ReadFences,
    /// The boot is written again.
    WriteBoot,
    /// The fences that were read are written again.
    WriteFences,
    /// Longer leases are given.
    LongerLeases,
    /// A flush takes too long.
    FlushHangs,
    /// Records are written again.
    WriteRecords,
    /// What was heard of memories is written again.
    WriteMemories,
    /// A grantor says again which memory it has.
    SayMemory,
    /// A grant or a waiting request ends.
    GrantEnd,
    /// A candidate asks for the lease.
    Attempt,
    /// A leader renews its lease.
    Renewal,
    /// A lease ends.
    LeaseEnd,
    /// The time for a hand-over ends.
    TransferEnd,
    /// A release is sent again.
    Release,
    /// An observer asks, or what it was told ends.
    Observe,
}

impl Timer {
    /// In words.
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
            Self::SayMemory => "saying again which memory it has",
            Self::GrantEnd => "a grant or a waiting request ends",
            Self::Attempt => "a candidate asks for the lease",
            Self::Renewal => "a leader renews",
            Self::LeaseEnd => "a lease ends",
            Self::TransferEnd => "the time for a hand-over ends",
            Self::Release => "a release is sent again",
            Self::Observe => "an observer asks again",
        }
    }

    pub(super) const fn at(self, at: Time) -> Deadline {
        Deadline { at, why: self.why() }
    }
}
