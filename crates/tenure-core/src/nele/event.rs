//! Events for an application or an operator.

use alloc::sync::Arc;
use core::fmt;

use super::config::Terms;
use super::identity::{Partition, Process, Role};
use super::message::Cause;
use crate::name::ClusterName;

pub type Event = crate::event::Event<OwnEvent>;

/// An event that only NELE has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    Started {
        who: Process,
    },
    Assigned {
        partition: Partition,
    },
    Unassigned {
        partition: Partition,
        /// Whether the session had ended, so that another process may own the partition already.
        lost: bool,
    },
    /// A claim of this process is void (`at_most_one`).
    ClaimVoid {
        partition: Partition,
        why: Void,
    },
    /// A claim has no fence, and so wins no leadership (ruling 10): the client knows no leader
    /// epoch, or a number is too large.
    NoFence {
        partition: Partition,
        /// The leader epoch of the claim's batch.
        epoch: Option<u32>,
        offset: u64,
    },
    /// This process could not read a partition that is assigned to it, or could not write a record
    /// to it. Reported for the first failure in a row.
    Trouble {
        partition: Partition,
        why: Arc<str>,
    },
    /// Writing works again: a record was written after [`Trouble`](Self::Trouble).
    Written {
        partition: Partition,
    },
    /// Roles without a leader: other processes stand for them, but this process owns their
    /// partitions and does not stand for them. Reported at each change; `first` is `None` once
    /// every role has a leader.
    Unfilled {
        first: Option<Role>,
        last: Option<Role>,
        /// The number of roles, at most [`Limits::roles`](super::Limits).
        count: u32,
    },
    /// A process of another group on this machine leads a role that this process leads, too: both
    /// fail with the machine (ruling 9). Reported when that begins.
    SameHost {
        role: Role,
        who: Process,
        group: ClusterName,
    },
    /// Another process uses the name of this process. Reported for the first such process.
    SameName {
        who: Process,
    },
    /// Another process of the group has other terms: no promise holds while both lead. Reported
    /// once for each such process.
    Unlike {
        who: Process,
        terms: Terms,
        ours: Terms,
    },
    /// This process will never lead again: the topic was replaced, or has another number of
    /// partitions, or the client cannot go on.
    Halted {
        why: Cause,
    },
    Ignored(Ignored),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Void {
    /// Another process of the group has claimed the partition later.
    Claimed {
        /// The other process; `None` if its record cannot be read.
        by: Option<Process>,
    },
    /// Records are missing: an offset does not follow the last one.
    Jump {
        next: u64,
        came: u64,
    },
    Broken {
        why: Arc<str>,
    },
}

/// The reason why an input had no effect. Drivers count these events, and do not log them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// The report belongs to an earlier reading, or to an earlier assignment (ruling 2).
    OldReading,
    Repeated,
    /// The rebalance belongs to an earlier membership, or was reported before.
    OldRebalance,
    NoPartition,
    Full,
    /// A second campaign, or a command that this protocol does not offer.
    Command,
    /// The message is a request, or another message that no ledger sends.
    Malformed,
}

impl Ignored {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::OldReading => "old_reading",
            Self::Repeated => "repeated",
            Self::OldRebalance => "old_rebalance",
            Self::NoPartition => "no_partition",
            Self::Full => "full",
            Self::Command => "command",
            Self::Malformed => "malformed",
        }
    }
}

impl fmt::Display for OwnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { who } => write!(f, "started as {who}"),
            Self::Assigned { partition } => write!(f, "{partition} is assigned"),
            Self::Unassigned { partition, lost: false } => write!(f, "{partition} is given back"),
            Self::Unassigned { partition, lost: true } => write!(f, "{partition} is lost"),
            Self::ClaimVoid { partition, why } => {
                write!(f, "the claim to {partition} is void: {why}")
            }
            Self::NoFence { partition, epoch, offset } => {
                write!(f, "no fence for the claim at {offset} of {partition}, leader epoch ")?;
                match epoch {
                    Some(epoch) => epoch.fmt(f),
                    None => f.write_str("unknown"),
                }
            }
            Self::Trouble { partition, why } => write!(f, "{partition}: {why}"),
            Self::Written { partition } => write!(f, "{partition} can be written again"),
            Self::Unfilled { first: Some(first), count: 1, .. } => {
                write!(f, "{first} has no leader")
            }
            Self::Unfilled { first: Some(first), count, .. } => {
                write!(f, "{count} roles have no leader, the first is {first}")
            }
            Self::Unfilled { first: None, .. } => f.write_str("every role has a leader"),
            Self::SameHost { role, who, group } => {
                write!(f, "{who} in {group} is on the same host and leads {role}, too")
            }
            Self::SameName { who } => write!(f, "{who} has the same name as this process"),
            Self::Unlike { who, terms, ours } => {
                write!(f, "{who} of this group has {terms}, and this process has {ours}")
            }
            Self::Halted { why } => write!(f, "halted: {why}"),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claimed { by: Some(by) } => write!(f, "{by} has claimed the partition"),
            Self::Claimed { by: None } => f.write_str("a record after the claim cannot be read"),
            Self::Jump { next, came } => write!(f, "offset {came} came instead of {next}"),
            Self::Broken { why } => {
                write!(f, "the reading of the partition was interrupted: {why}")
            }
        }
    }
}
