//! What an application or an operator is told.

use core::fmt;
use core::time::Duration;

use super::electorate::{Electorate, Fingerprint};
use super::identity::{Ballot, Participant};
use crate::name::NodeName;

/// Something that happened.
pub type Event = crate::event::Event<OwnEvent>;

/// What only the regional voter tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    /// The process has started.
    Started {
        /// As what.
        who: Participant,
    },
    /// Another voter answers, or registers.
    Known {
        /// Which.
        who: Participant,
    },
    /// It was dropped: this voter cannot reach it, and another one agrees.
    Dropped {
        /// Which.
        id: NodeName,
    },
    /// The electorate is another one: founded, changed, or written anew by a new leader.
    Electorate(Electorate),
    /// A draw begins.
    Drawing {
        /// Which.
        ballot: Ballot,
    },
    /// Two or more drew the highest number; it is drawn again, without an endorsement.
    Tie {
        /// In which draw.
        ballot: Ballot,
    },
    /// A leader is certified.
    Certified {
        /// Which draw.
        ballot: Ballot,
        /// Who has won it.
        leader: Participant,
    },
    /// The voters have counted different sets of numbers.
    VotesDiffer {
        /// In which draw.
        ballot: Ballot,
        /// By this one's result.
        by: NodeName,
    },
    /// This leader was asked to let others draw, and leads to the end of its lease.
    GivesWay,
    /// A leader asks for another lease than this voter's settings make.
    OtherTimes {
        /// Which.
        leader: NodeName,
        /// What it asks for.
        theirs: Duration,
        /// What this one would.
        ours: Duration,
    },
    /// Something that must never be.
    Breach(Breach),
    /// Something had no effect.
    Ignored(Ignored),
}

/// Something that must never be, and that voting cannot mend: an operator must look.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Breach {
    /// Two networks of one name that were founded apart have met (V2).
    OtherFounding {
        /// One of the other.
        by: NodeName,
        /// Its founding.
        theirs: Fingerprint,
    },
    /// Somebody of a member's id has another memory, or a run of it that was over answers: two
    /// pods of one id, or a directory that was lost or copied (V10).
    OtherIdentity {
        /// Which id.
        id: NodeName,
    },
    /// This voter's id stands in the electorate with another identity: its directory was lost. It
    /// returns by `members remove` and `members add`.
    LostDirectory,
    /// No counter is left for another ballot, so that this voter starts none any more.
    NoCounterLeft {
        /// The highest that it has heard of.
        highest: u64,
    },
    /// A voter has said two things in one ballot (V5).
    Equivocation {
        /// Which voter.
        id: NodeName,
        /// In which ballot.
        ballot: Ballot,
    },
}

/// Why something had no effect. Each is counted; none is worth a line of a log for each request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// An answer to a request that is over, or was never made.
    Late,
    /// An answer that contradicts itself, or answers something else.
    Malformed,
    /// A promise of another leadership, heartbeat or voter than the one that was asked.
    NotAsked,
    /// An answer of another network.
    OtherNetwork,
    /// A request that was refused. The answer says why.
    Refused,
    /// There is no room for another voter or request.
    Full,
    /// The command does not fit: a second campaign, or what this protocol does not offer.
    Command,
    /// A write failed, or one that was never asked for is said to have.
    NotWritten,
}

impl Ignored {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Late,
        Self::Malformed,
        Self::NotAsked,
        Self::OtherNetwork,
        Self::Refused,
        Self::Full,
        Self::Command,
        Self::NotWritten,
    ];

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
