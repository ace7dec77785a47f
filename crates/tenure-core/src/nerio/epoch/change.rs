//! Changes of members: an operator's question to any member, and the answer.
//!
//! A change adds, removes or replaces one seat. If two seats changed at once, a single crash could
//! leave the next epoch without a quorum (T12).

use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::config::HostPort;
use super::super::identity::{Inc, Instance};
use super::super::wire;
use super::{EpochId, Unready};
use crate::name::{NodeName, Text};
use crate::time::Time;
use crate::waiting::List;

/// An operator's question to any member: change the members. The operator repeats the question,
/// with the same number, to learn the state of the change.
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
    /// Another memory for a member: that of the blank with this name, or `instance` if two such
    /// blanks run.
    Replace {
        name: NodeName,
        /// Hosts of the seat after the change; if empty, the seat keeps its present hosts.
        hosts: Vec<HostPort>,
        instance: Option<Instance>,
    },
    /// Ends the change that this member carries out.
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

/// The state of a change.
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
    /// Another change was decided instead. The operator repeats this change if it is still wanted.
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
    /// The member asks all members to promise a ballot.
    Asking,
    /// The member asks the new members whether they are ready.
    Ready,
    /// The member asks all members to accept the change, which can no longer be cancelled.
    Deciding,
    /// The member waits, for at most `within`, until enough members know all leases from before
    /// their epoch: only then do they vote.
    Learning { within: Duration },
}

/// The reason why a change is refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum ChangeError {
    #[error(
        "another change ({what}, ordered by {by}) is not decided yet: wait until that change is \
         decided, or end it with `tenure members cancel`"
    )]
    Running {
        by: NodeName,
        /// The other change, [in brief](SeatChange::brief).
        what: SeatChange,
    },
    #[error(
        "the members are deciding on epoch {next}, so epoch {before} takes no other change: wait \
         until a quorum serves in epoch {next}, and repeat the change"
    )]
    Deciding { before: u64, next: u64 },
    #[error(
        "this node is no member of the present epoch: ask a member; `tenure members` lists them"
    )]
    Outside,
    #[error("this node cannot vote on a change of members: {why}. Ask another member")]
    NoVote { why: NoVote },
    #[error(
        "{name} is a member already: give the new member another name, or replace this member with \
         `tenure members replace`"
    )]
    Member { name: NodeName },
    #[error("{name} is no member: give the name of a member; `tenure members` lists them")]
    NotMember { name: NodeName },
    #[error("{name} is the only member, and a cluster needs one")]
    Last { name: NodeName },
    #[error("the cluster has {max} members, and no cluster may have more: remove a member first")]
    Full { max: usize },
    #[error("the member {name} needs 1 to {max} addresses")]
    Hosts { name: NodeName, max: usize },
    #[error(
        "no node {name} with an empty state directory asks to be let in: start {name} without \
         --new, with the present members in its list and, if the cluster has keys, with its key; \
         then repeat the change"
    )]
    NoBlank { name: NodeName },
    /// The member that is to be replaced runs, and no new node asks for its seat.
    #[error(
        "{name} runs as a member, and no second node {name} with an empty state directory asks to \
         be let in: to replace {name}, stop it for good, start the new node, and repeat the \
         change. If the member that runs is the new node, it needs no replacement"
    )]
    Entered { name: NodeName },
    #[error(
        "two nodes with the name {name} and an empty state directory ask to be let in, at {} and \
         {}: stop one of these nodes, and repeat the change",
        .addresses[0],
        .addresses[1]
    )]
    TwoBlanks { name: NodeName, addresses: [SocketAddr; 2] },
    /// The new node is not at the hosts of the seat.
    #[error(
        "the node {name} with an empty state directory sends from {address}, and does not answer \
         at the host of the member {name}: wait until that host's name leads to the node, also \
         from this member and with its list, and repeat the change; or run `tenure members \
         replace {name}=HOST:PORT` with the host at which all others reach the node, in the \
         spelling of this member's list"
    )]
    Elsewhere { name: NodeName, address: SocketAddr },
    #[error(
        "too few members answer (no answer from {}): start the members that are down, or check the \
         network to them, then repeat the change. A node whose state directory was lost in this \
         epoch has no vote",
        List(.who, ", ")
    )]
    Silent { who: Vec<NodeName> },
    #[error(
        "too few of the new members are ready for a quorum ({}): mend these nodes, and repeat the \
         change",
        List(.who, ", ")
    )]
    NotReady { who: Vec<Missing> },
    #[error(
        "the quorum system of the present members is not a majority: give the quorum system of \
         the new members with --quorums, and repeat the change"
    )]
    QuorumsNeeded,
    /// The quorums break a rule, or the document with these quorums does.
    #[error("{why}")]
    Document { why: Text },
    #[error(
        "the members document of the next epoch takes {bytes} bytes, and at most {max} are \
         allowed: write the quorums as weights"
    )]
    TooLong { bytes: usize, max: usize },
    #[error("there is nothing to cancel: this member carries out no change")]
    NothingRuns,
    #[error(
        "the change can no longer be cancelled: a member may have accepted the change, and grants \
         nothing until the change is decided"
    )]
    Begun,
    /// The driver refuses a question that no key seals.
    #[error(
        "the cluster has no keys, and without keys the members can change only if all of them, old \
         and new, are on loopback: give the cluster keys (`tenure keys new`)"
    )]
    Unsealed,
    /// The memory that is to be replaced answers.
    #[error(
        "{name} still runs as a member, with its state directory: if {name} is the new node, it \
         needs no replacement. Otherwise stop {name} for good, and repeat the change"
    )]
    Runs { name: NodeName },
    /// The seat already names the memory that asks to be let in.
    #[error(
        "the waiting node {name} is already a member of epoch {epoch}, but has not entered that \
         epoch: check that {name} and the members reach each other, and that their lists have the \
         present address of {name}; {name} then enters by itself"
    )]
    LetIn { name: NodeName, epoch: u64 },
}

/// The reason why a member takes no part in decisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum NoVote {
    #[error("the node is starting, or waits until old leases have ended")]
    Starts,
    #[error("its state directory was lost in this epoch, and with the directory its earlier votes")]
    Forgot,
    #[error("its quorum system is too long for the state directory; write the quorums as weights")]
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
    /// Maximum number of bytes of a question, which must fit into a datagram. A longer question
    /// reaches no member.
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
    /// Maximum number of names in an answer.
    pub const NAMES_MAX: usize = 12;
}

impl ChangeState {
    /// Whether the change has ended.
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
            Self::Learning { .. } => "learning",
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
