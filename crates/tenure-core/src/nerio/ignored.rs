//! Reasons why messages have no effect.

/// The reason why a message had no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// Request whose Start is not above a Start that its candidate has released.
    Released,
    /// Message that is out of date: a Start below the granted Start, a lapsed Start, an older
    /// refusal, or an order for another leadership.
    Stale,
    Duplicate,
    /// Answer to a question that was not asked, or no longer matters.
    Unasked,
    /// Message that only a member may send, from a sender that has not proved to be a member.
    NotAMember,
    /// Message for a grantor, at a node without a grantor.
    NotAGrantor,
    /// Message that this grantor cannot carry out in its present state: it does not serve yet, is
    /// wedged, or never serves again.
    NotServing,
    /// Release or notice without effect: the sender holds no grant that the message could end, and
    /// no request of the sender waits.
    NotTheHolder,
    /// Request for a lease of length zero.
    Empty,
    Full,
    /// Verification or answer for another incarnation of this node.
    OtherIncarnation,
    /// Command that does not fit the state: a second campaign, or a command without the campaign
    /// that it needs.
    Command,
    /// Message that is meant for another epoch.
    OtherEpoch,
    /// Message from another memory than that of the member's seat.
    OtherMemory,
    /// Request of an incarnation whose process has ended.
    Gone,
    /// Report that a process has ended, by a member that does not watch that process.
    NotTheSupervisor,
    /// Message about the next epoch. The grantor has no vote, or the ballot is far above all
    /// others.
    NoVote,
    /// Ping at a member without a ring.
    NoRing,
}

impl Ignored {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Stale => "stale",
            Self::Duplicate => "duplicate",
            Self::Unasked => "unasked",
            Self::NotAMember => "not_a_member",
            Self::NotAGrantor => "not_a_grantor",
            Self::NotServing => "not_serving",
            Self::NotTheHolder => "not_the_holder",
            Self::Empty => "empty",
            Self::Full => "full",
            Self::OtherIncarnation => "other_incarnation",
            Self::Command => "command",
            Self::OtherEpoch => "epoch",
            Self::OtherMemory => "other_memory",
            Self::Gone => "gone",
            Self::NotTheSupervisor => "not_the_supervisor",
            Self::NoVote => "no_vote",
            Self::NoRing => "no_ring",
        }
    }
}
