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
    /// This voter has dropped another voter: neither this voter nor a third one can reach it.
    Dropped {
        id: NodeName,
    },
    /// The electorate was founded, changed, or rewritten by a new leader.
    Electorate(Electorate),
    Drawing {
        ballot: Ballot,
    },
    /// At least two voters drew the highest number. The voters endorse none, and draw again.
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
    /// Another voter or an operator has asked this leader for another draw: the leader no longer
    /// renews, and leads to the end of its lease.
    GivesWay,
    /// A leader asks for a lease of another length than this voter's settings give.
    OtherTimes {
        leader: NodeName,
        theirs: Duration,
        ours: Duration,
    },
    Breach(Breach),
    Ignored(Ignored),
}

/// A state that must never occur, and that voting cannot mend: an operator has to act.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Breach {
    /// Another network with the same name was founded apart from this one (V2).
    OtherFounding { by: NodeName, theirs: Fingerprint },
    /// A process with a member's id has another identity, or an earlier run of a member answers:
    /// two pods have one id, or a directory was lost or copied (V10).
    OtherIdentity { id: NodeName },
    /// The electorate has this voter's id with another identity: its directory was lost.
    /// `members remove` and `members add` give the vote back.
    LostDirectory,
    /// No counter is left for another ballot: this voter starts no more ballots.
    NoCounterLeft { highest: u64 },
    /// A voter has sent two votes or two results in one ballot (V5).
    Equivocation { id: NodeName, ballot: Ballot },
}

/// The reason why an input had no effect. Drivers count these events, and do not log them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// An answer to a request that has ended, or was never made.
    Late,
    /// An answer that contradicts itself, or does not fit its request.
    Malformed,
    /// A promise for a leadership, heartbeat or voter that this leader did not ask about.
    NotAsked,
    OtherNetwork,
    /// A refused request. The answer has the reason.
    Refused,
    Full,
    /// A second campaign, or a command that this protocol does not offer.
    Command,
    /// A failed write, or the report of a write that this voter never asked for.
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

impl OwnEvent {
    /// The event as a sentence for operators. `Display` prints some events in fewer words, for
    /// traces.
    pub fn sentence(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Self::Known { .. } | Self::Dropped { .. } | Self::GivesWay => {
                write!(f, "this voter {self}")
            }
            Self::Electorate(electorate) => {
                write!(f, "the electorate is {electorate}")
            }
            Self::Drawing { ballot } => write!(f, "this voter draws a leader in ballot {ballot}"),
            Self::Tie { ballot } => {
                write!(f, "ballot {ballot} ended in a tie: the voters draw again")
            }
            Self::Certified { ballot, leader } => {
                write!(f, "ballot {ballot} made {leader} the leader")
            }
            Self::VotesDiffer { ballot, by } => {
                write!(f, "{by} counts other votes in ballot {ballot} than this voter")
            }
            event => fmt::Display::fmt(event, f),
        })
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
            Self::VotesDiffer { ballot, by } => write!(f, "{by} counts other votes in {ballot}"),
            Self::GivesWay => f.write_str("lets others draw at the end of its lease"),
            Self::OtherTimes { leader, theirs, ours } => {
                write!(
                    f,
                    "the lease of {leader} is {theirs:?}, and by the settings of this voter it \
                     would be {ours:?}"
                )
            }
            Self::Breach(breach) => write!(f, "breach: {breach}"),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherFounding { by, theirs } => {
                write!(
                    f,
                    "{by} belongs to another network for this election, whose founding is {theirs}"
                )
            }
            Self::OtherIdentity { id } => write!(f, "{id} has another identity"),
            Self::LostDirectory => f.write_str("the directory of this voter was lost"),
            Self::NoCounterLeft { highest } => {
                write!(f, "no ballot counter is left above {highest}")
            }
            Self::Equivocation { id, ballot } => {
                write!(f, "{id} has sent two different votes or results in {ballot}")
            }
        }
    }
}
