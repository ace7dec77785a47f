//! Events for an application and an operator.

use core::fmt;
use core::time::Duration;

use super::electorate::{Electorate, Fingerprint};
use super::identity::{Ballot, Participant};
use crate::name::NodeName;

pub type Event = crate::event::Event<OwnEvent>;

/// An event that only the regional voter reports.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    Started {
        who: Participant,
    },
    Known {
        who: Participant,
    },
    /// This voter has dropped a voter that it cannot reach, and that another voter cannot reach
    /// either.
    Dropped {
        id: NodeName,
    },
    /// The electorate was founded, changed, or written anew by a new leader.
    Electorate(Electorate),
    Drawing {
        ballot: Ballot,
    },
    /// Two or more voters drew the highest number; the voters draw again, and endorse none of them.
    Tie {
        ballot: Ballot,
    },
    Certified {
        ballot: Ballot,
        leader: Participant,
    },
    /// The voters have counted different sets of numbers.
    VotesDiffer {
        ballot: Ballot,
        by: NodeName,
    },
    /// This leader was asked for another draw, and leads to the end of its lease.
    GivesWay,
    /// A leader asks for another lease than the settings of this voter make.
    OtherTimes {
        leader: NodeName,
        theirs: Duration,
        ours: Duration,
    },
    Breach(Breach),
    Ignored(Ignored),
}

/// A state that must never be, and that voting cannot mend: an operator must look.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Breach {
    /// Two networks of one name that were founded apart have met (V2).
    OtherFounding { by: NodeName, theirs: Fingerprint },
    /// A process with a member's id has another memory, or a run of it that was over answers: two
    /// pods have one id, or a directory was lost or copied (V10).
    OtherIdentity { id: NodeName },
    /// This voter's id stands in the electorate with another identity: its directory was lost. This
    /// voter gets its vote back by `members remove` and `members add`.
    LostDirectory,
    /// No counter is left for another ballot: this voter starts none any more.
    NoCounterLeft { highest: u64 },
    /// A voter has sent two votes or two results in one ballot (V5).
    Equivocation { id: NodeName, ballot: Ballot },
}

/// The reason for which an input had no effect. Each is counted, and none is logged for each
/// request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// An answer to a request that is over, or was never made.
    Late,
    /// An answer that contradicts itself, or answers something else.
    Malformed,
    /// A promise for another leadership, heartbeat or voter than was asked.
    NotAsked,
    OtherNetwork,
    /// A refused request. The answer says why.
    Refused,
    Full,
    /// A second campaign, or a command that this protocol does not offer.
    Command,
    /// A failed write, or the report of a write that was never asked for.
    NotWritten,
}

impl Ignored {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Malformed => "malformed",
            Self::NotAsked => "not_asked",
            Self::OtherNetwork => "other_network",
            Self::Refused => "refused",
            Self::Full => "full",
            Self::Command => "command",
            Self::NotWritten => "not_written",
        }
    }
}

impl fmt::Display for OwnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { who } => write!(f, "started as {who}"),
            Self::Known { who } => write!(f, "knows {who}"),
            Self::Dropped { id } => write!(f, "dropped {id}"),
            Self::Electorate(electorate) => write!(f, "electorate {electorate}"),
            Self::Drawing { ballot } => write!(f, "draws in {ballot}"),
            Self::Tie { ballot } => write!(f, "tie in {ballot}"),
            Self::Certified { ballot, leader } => write!(f, "{leader} certified by {ballot}"),
            Self::VotesDiffer { ballot, by } => write!(f, "{by} has other votes of {ballot}"),
            Self::GivesWay => f.write_str("gives way at the end of its lease"),
            Self::OtherTimes { leader, theirs, ours } => {
                write!(f, "the lease of {leader} is {theirs:?}, and here it would be {ours:?}")
            }
            Self::Breach(breach) => write!(f, "breach: {breach}"),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherFounding { by, theirs } => write!(f, "{by} was founded as {theirs}"),
            Self::OtherIdentity { id } => write!(f, "{id} has another identity"),
            Self::LostDirectory => f.write_str("the directory of this voter was lost"),
            Self::NoCounterLeft { highest } => write!(f, "no counter is left after {highest}"),
            Self::Equivocation { id, ballot } => write!(f, "{id} says two things in {ballot}"),
        }
    }
}
