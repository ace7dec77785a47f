//! Changes of members: an operator's question to any member, and the answer.
//!
//! A change adds, removes or replaces one seat. Two seats at once could end in an epoch without a
//! quorum through a single crash (T12).

use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::super::config::HostPort;
use super::super::identity::{Inc, Instance};
use super::super::wire;
use super::{EpochId, Unready};
use crate::name::{NodeName, Text};
use crate::time::Time;
use crate::waiting::List;

/// An operator's question to a member: change the members. The asker repeats it, with the same
/// number, to hear how far the change is; any member takes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Time of the question on the asker's clock.
    pub start: Time,
    /// Random number of the change.
    pub number: u64,
    pub what: SeatChange,
    /// Quorum system of the new members, in the [form of documents](super::Document::quorums).
    /// `None` for a majority, or where a replacement leaves the system as it is.
    pub quorums: Option<Text>,
}

/// The change of one seat.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SeatChange {
    /// A new member: a running node with an empty state directory.
    Add {
        name: NodeName,
        hosts: Vec<HostPort>,
    },
    Remove {
        name: NodeName,
    },
    /// Another state directory of a member: that of the running node with this name which has
    /// entered no epoch, or `instance` if there are two.
    Replace {
        name: NodeName,
        /// Hosts of the seat from then on; the present ones if empty.
        hosts: Vec<HostPort>,
        instance: Option<Instance>,
    },
    /// No change, but the end of the one that this member carries out.
    Cancel,
}

/// The answer to [`Change`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Changed {
    /// Incarnation that asked.
    pub asker: Inc,
    /// Start of the question.
    pub start: Time,
    pub number: u64,
    pub state: ChangeState,
}

/// How far a change is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ChangeState {
    Working {
        phase: ChangePhase,
        /// Members that have not answered, at most [`Changed::NAMES_MAX`].
        waits_for: Vec<NodeName>,
    },
    /// The new members are decided. Their epoch serves as soon as a quorum of them has entered it.
    Done {
        epoch: EpochId,
    },
    /// Another change was decided instead. Ask again where this one is still wanted.
    Superseded {
        epoch: EpochId,
    },
    Cancelled,
    Refused(ChangeError),
}

/// The present step of a change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ChangePhase {
    /// The member asks nodes for their memories.
    Finding,
    /// The members are asked to promise a ballot.
    Asking,
    /// The new members are asked whether they are ready.
    Ready,
    /// The members are asked to accept: the change cannot be cancelled any more.
    Deciding,
}

/// The reason why a change is refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum ChangeError {
    #[error(
        "{by} has asked for another change, {what}, which is not decided yet: wait for it, or end \
         it with `tenure members cancel`"
    )]
    Running {
        by: NodeName,
        /// The other change, [in brief](SeatChange::brief).
        what: SeatChange,
    },
    #[error(
        "the members accept those of epoch {next}, so no other change can follow epoch {before}: \
         wait until epoch {next} serves, and ask again"
    )]
    Deciding { before: u64, next: u64 },
    #[error("this node is no member of the present epoch: ask a member (`tenure members`)")]
    Outside,
    #[error("this node cannot vote on members: {why}. Ask another member")]
    NoVote { why: NoVote },
    #[error("{name} is a member already: take another name, or replace it")]
    Member { name: NodeName },
    #[error("{name} is no member: `tenure members` names them")]
    NotMember { name: NodeName },
    #[error("{name} is the only member, and a cluster needs one")]
    Last { name: NodeName },
    #[error("a cluster has at most {max} members: remove one first")]
    Full { max: usize },
    #[error("{name} needs 1 to {max} addresses")]
    Hosts { name: NodeName, max: usize },
    #[error(
        "no node {name} with an empty state directory asks to be let in: start it with these \
         members in its list and without --new, and ask again"
    )]
    NoBlank { name: NodeName },
    /// The node of a seat that is to be replaced has entered the present epoch.
    #[error(
        "{name} runs as a member, and no second node {name} with an empty state directory asks to \
         be let in: leave it, if it has come back by itself, as nodes do until the members are \
         first changed; otherwise stop it for good, and start the new one"
    )]
    Entered { name: NodeName },
    #[error(
        "two nodes with the name {name} and an empty state directory ask to be let in, at {} and \
         {}: stop one of them, and ask again",
        .addresses[0],
        .addresses[1]
    )]
    TwoBlanks { name: NodeName, addresses: [SocketAddr; 2] },
    /// The seat would keep hosts at which the new node is not.
    #[error(
        "the node {name} with an empty state directory sends from {address}, which is no address \
         of the member {name}: name the host at which others reach it, `tenure members replace \
         {name}=HOST:PORT`, and ask again"
    )]
    Elsewhere { name: NodeName, address: SocketAddr },
    #[error(
        "{} answered nothing: start what is down, or look at the way there, and ask again; a node \
         whose state directory was lost in this epoch has no vote",
        List(.who, ", ")
    )]
    Silent { who: Vec<NodeName> },
    #[error(
        "too few of the new members are ready to form a quorum ({}): mend that, and ask again",
        List(.who, ", ")
    )]
    NotReady { who: Vec<Missing> },
    #[error(
        "the quorums are not a majority: give those of the new members with --quorums, and ask \
         again"
    )]
    QuorumsNeeded,
    /// The quorums, or the document with them, break a rule.
    #[error("{why}")]
    Document { why: Text },
    #[error(
        "the document of the new members takes {bytes} bytes, and a change can carry {max}: use \
         weights for the quorums"
    )]
    TooLong { bytes: usize, max: usize },
    #[error("there is nothing to cancel: this member carries out no change")]
    NothingRuns,
    #[error(
        "the change can be cancelled no more: a member may have accepted it, and serves again only \
         when it is decided"
    )]
    Begun,
    /// The driver refuses a question that no key seals.
    #[error(
        "the cluster has no keys, and without keys members change only where all of them, old and \
         new, are on loopback: give the cluster keys (`tenure keys new`)"
    )]
    Unsealed,
}

/// The reason why a member takes no part in decisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum NoVote {
    #[error("the node starts, or waits until old leases have ended")]
    Starts,
    #[error("its state directory was lost in this epoch, and with it its earlier votes")]
    Forgot,
    #[error("the quorums are too long to be written down; use weights")]
    TooLong,
}

/// A seat that is not ready.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Missing {
    pub name: NodeName,
    /// `None` if the node did not answer.
    pub why: Option<Unready>,
}

impl Change {
    /// Most bytes of a question, so that it fits into a datagram. A member sees no longer one.
    pub const BYTES_MAX: usize = 1_000;

    /// Whether the question fits into a datagram.
    #[must_use]
    pub fn fits(&self) -> bool {
        wire::length(self) <= Self::BYTES_MAX
    }
}

impl SeatChange {
    /// The change without addresses, which would not fit into an answer.
    #[must_use]
    pub fn brief(&self) -> Self {
        match self {
            Self::Add { name, .. } => Self::Add { name: name.clone(), hosts: Vec::new() },
            Self::Replace { name, instance, .. } => {
                Self::Replace { name: name.clone(), hosts: Vec::new(), instance: *instance }
            }
            Self::Remove { .. } | Self::Cancel => self.clone(),
        }
    }
}

impl Changed {
    /// Most names in an answer.
    pub const NAMES_MAX: usize = 12;
}

impl ChangeState {
    /// Whether nothing more follows.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Working { .. })
    }
}

impl ChangePhase {
    /// The step as a label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Asking => "asking",
            Self::Ready => "ready",
            Self::Deciding => "deciding",
        }
    }
}

impl fmt::Display for SeatChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { name, .. } => write!(f, "add {name}"),
            Self::Remove { name } => write!(f, "remove {name}"),
            Self::Replace { name, .. } => write!(f, "replace {name}"),
            Self::Cancel => f.write_str("cancel"),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Some(why) => write!(f, "{} {why}", self.name),
            None => write!(f, "{} does not answer", self.name),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "change {} {} start {}", self.number, self.what, self.start)
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "change {} is {} start {}", self.number, self.state, self.start)
    }
}

impl fmt::Display for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Working { phase, waits_for } if waits_for.is_empty() => {
                f.write_str(phase.label())
            }
            Self::Working { phase, waits_for } => {
                write!(f, "{} without {}", phase.label(), List(waits_for, ", "))
            }
            Self::Done { epoch } => write!(f, "done in epoch {}", epoch.number),
            Self::Superseded { epoch } => write!(f, "superseded by epoch {}", epoch.number),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Refused(error) => write!(f, "refused: {error}"),
        }
    }
}
