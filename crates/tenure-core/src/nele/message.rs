//! Messages between a process and its ledger: requests that go out, reports that come in.
//!
//! A driver maps these types to Kafka's wire format. [The module's
//! document](super#what-a-driver-owes) lists the duties of a driver.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::config::{Limits, Terms};
use super::identity::{EntryNumber, Membership, Partition, Process, Reading, RebalanceId, Role};
use crate::fence::Fence;
use crate::name::{ClusterName, ElectionName, NodeName, Value};

/// The maximum number of ranges of roles of one entry. An entry with more is unreadable.
pub const RANGES_MAX: usize = 64;
/// The maximum number of leaderships of an entry. An entry with more is unreadable.
pub const LEADS_MAX: usize = Limits::ROLES_MAX;

/// A request to the ledger, or a report of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    Request(Request),
    Report(Report),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Subscribe to the topic as a member of the group. The driver then reports each [`Rebalance`]
    /// of this membership, and the first one even if it assigns nothing.
    Join(Membership),
    /// Leave the group at once, without waiting for a session to end. The driver answers with
    /// [`Report::Left`], in any case and in bounded time.
    Leave(Membership),
    /// Give back the partitions of this rebalance, which was a revocation: all leaderships that
    /// depend on them have ended. A driver waits for this request no longer than R
    /// ([`Config::max_poll_interval`](super::Config::max_poll_interval)).
    GiveBack(RebalanceId),
    /// Find the end of this partition, report it as [`Report::Position`], and read on from there.
    /// All later records of the partition belong to this reading. A reading without a rebalance is
    /// outside the group: the driver reads the partition without an assignment.
    Read {
        partition: Partition,
        /// The name of this reading in reports.
        reading: Reading,
    },
    /// End this reading outside the group.
    Stop(Reading),
    /// Write a record to these partitions. The record has the entry in its headers, and neither key
    /// nor value.
    Publish { to: Target, entry: Entry },
}

/// The partitions to which a record is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Each partition of the topic, so that none dries up. The driver reports failures, and the
    /// first success after a failure.
    Every,
    /// This partition. The driver reports success and failure.
    One(Partition),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Report {
    /// The topic as it is now. The driver reads its metadata at least every few minutes, after each
    /// lost connection, and before each position that it finds for a member.
    Topic {
        id: TopicId,
        partitions: u32,
    },
    Rebalance(Rebalance),
    /// The process has left the group, or the driver has stopped waiting for the departure.
    Left(Membership),
    /// The end of a partition, where reading goes on; or the failure to find it.
    Position {
        partition: Partition,
        reading: Reading,
        /// The offset of the record that is appended next, or the reason for the failure.
        end: Result<u64, Arc<str>>,
    },
    /// The next records of a partition, in order, without a gap since the last such report of the
    /// same reading.
    Records {
        partition: Partition,
        reading: Reading,
        records: Vec<Record>,
    },
    /// Reading was interrupted: an offset out of range, a reset, or a truncated log.
    Broken {
        partition: Partition,
        reading: Reading,
        why: Arc<str>,
    },
    Published {
        number: EntryNumber,
        partition: Partition,
        /// The offset, or the reason why no acknowledgement came. The ledger may then still have
        /// appended the record.
        outcome: Result<u64, Arc<str>>,
    },
    /// The client can no longer be a member of this topic's group, and waiting does not help.
    /// Another client with the same static id has fenced this client off, or this client has lost
    /// its authorization.
    Fatal {
        why: Cause,
    },
}

/// A fault, and its remedy where an operator has one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cause {
    pub what: Arc<str>,
    pub fix: Option<&'static str>,
}

impl From<&str> for Cause {
    fn from(what: &str) -> Self {
        Self { what: what.into(), fix: None }
    }
}

impl From<String> for Cause {
    fn from(what: String) -> Self {
        Self { what: what.into(), fix: None }
    }
}

impl From<Cause> for Arc<str> {
    fn from(cause: Cause) -> Self {
        if cause.fix.is_some() { cause.to_string().into() } else { cause.what }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.fix.map_or(Ok(()), |fix| write!(f, ": {fix}"))
    }
}

/// The identity of a topic. A topic that is created anew under the same name has another identity.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct TopicId {
    pub cluster: Arc<str>,
    pub topic: u128,
}

/// A change of the partitions that are assigned to this process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rebalance {
    pub membership: Membership,
    pub id: RebalanceId,
    pub change: Change,
    pub partitions: Vec<Partition>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The partitions are assigned to this process in addition to its others. The driver reads none
    /// of them before [`Request::Read`].
    Assigned,
    /// The partitions are about to be revoked. The driver gives them back after
    /// [`Request::GiveBack`], and no other process gets them earlier.
    Revoked,
    /// The partitions may belong to another process already, because the session is over. The
    /// driver waits for nothing.
    Lost,
}

/// A record as it was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    pub offset: u64,
    /// The leader epoch of its batch; `None` if the client knows no epoch, or reports a negative
    /// number.
    pub epoch: Option<u32>,
    pub said: Said,
}

/// The content of a record's headers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Said {
    /// A record of another program.
    Nothing,
    /// A record of this protocol that cannot be read: of a later version, or damaged. The record
    /// may be a claim.
    Unreadable,
    Entry(Entry),
}

/// The entry of a process in a record.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The election: the part of the elections' names before the role.
    pub election: ElectionName,
    /// The group, without the number of partitions.
    pub group: ClusterName,
    pub partitions: u32,
    /// The other terms of the sender, which its group must share.
    pub terms: Terms,
    pub sender: Process,
    pub host: NodeName,
    /// The number of the record among all records of the sender. Sender and number name a claim.
    pub number: EntryNumber,
    pub kind: Kind,
    /// The roles that the sender stands for, at most [`RANGES_MAX`] ranges.
    pub stands: Vec<RoleRange>,
    /// The roles that the sender leads, at most [`LEADS_MAX`], each once, in order.
    pub leads: Vec<Lead>,
}

/// The purpose of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The sender is alive, and keeps the partition from drying up.
    Beat,
    /// The sender was assigned the partition, and claims it (`at_most_one`).
    Claim,
}

/// Roles in a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RoleRange {
    pub first: Role,
    /// The last role, not before the first.
    pub last: Role,
}

/// A role that the sender of a record leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// The value that the leader shows to others.
    pub value: Value,
}

impl RoleRange {
    #[must_use]
    pub fn contains(&self, role: Role) -> bool {
        (self.first..=self.last).contains(&role)
    }
}

impl Entry {
    /// Whether the entry is well-formed: it has a number, its lists are bounded, ranges begin
    /// before they end, and each leadership is there once, in order.
    #[must_use]
    pub fn is_formed(&self) -> bool {
        let bounded = self.stands.len() <= RANGES_MAX && self.leads.len() <= LEADS_MAX;
        let ranges = self.stands.iter().all(|range| range.first <= range.last);
        let numbered = self.number > EntryNumber(0);
        bounded && ranges && numbered && self.leads.is_sorted_by(|one, next| one.role < next.role)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(request) => request.fmt(f),
            Self::Report(report) => report.fmt(f),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(membership) => write!(f, "join, {membership}"),
            Self::Leave(membership) => write!(f, "leave, {membership}"),
            Self::GiveBack(rebalance) => write!(f, "give back, rebalance {rebalance}"),
            Self::Read { partition, reading } => {
                write!(f, "read {partition} from its end, {reading}")
            }
            Self::Stop(reading) => write!(f, "stop {reading}"),
            Self::Publish { to: Target::Every, entry } => write!(f, "publish {entry}"),
            Self::Publish { to: Target::One(partition), entry } => {
                write!(f, "publish on {partition} {entry}")
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic { id, partitions } => write!(f, "topic {id} with {partitions} partitions"),
            Self::Rebalance(rebalance) => rebalance.fmt(f),
            Self::Left(membership) => write!(f, "left, {membership}"),
            Self::Position { partition, reading, end: Ok(end) } => {
                write!(f, "{partition} ends at {end}, {reading}")
            }
            Self::Position { partition, reading, end: Err(why) } => {
                write!(f, "{partition} has no known end, {reading}: {why}")
            }
            Self::Records { partition, reading, records } => {
                write!(f, "{partition}, {reading}:")?;
                records.iter().try_for_each(|record| write!(f, " {record};"))
            }
            Self::Broken { partition, reading, why } => {
                write!(f, "{partition}: {reading} was interrupted: {why}")
            }
            Self::Published { number, partition, outcome: Ok(offset) } => {
                write!(f, "{number} is at {offset} of {partition}")
            }
            Self::Published { number, partition, outcome: Err(why) } => {
                write!(f, "{number} failed on {partition}: {why}")
            }
            Self::Fatal { why } => write!(f, "cannot go on: {why}"),
        }
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} of cluster {:?}", self.topic >> 96, self.cluster)
    }
}

impl fmt::Display for Rebalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { membership, id, change, partitions } = self;
        let change = match change {
            Change::Assigned => "assigned",
            Change::Revoked => "to be revoked",
            Change::Lost => "lost",
        };
        write!(f, "rebalance {id}, {membership}, {change}:")?;
        match &partitions[..] {
            [] => f.write_str(" none"),
            some => some.iter().try_for_each(|partition| write!(f, " {}", partition.0)),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, epoch, said } = self;
        write!(f, "{offset}")?;
        if let Some(epoch) = epoch {
            write!(f, " of epoch {epoch}")?;
        }
        match said {
            Said::Nothing => f.write_str(" of another program"),
            Said::Unreadable => f.write_str(" unreadable"),
            Said::Entry(entry) => write!(f, " {entry}"),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, sender, number, kind, stands, leads, .. } = self;
        let kind = match kind {
            Kind::Beat => "beat",
            Kind::Claim => "claim",
        };
        write!(f, "{kind} {number} of {sender} in {group}, stands for")?;
        for RoleRange { first, last } in stands {
            write!(f, " {}", first.0)?;
            if last > first {
                write!(f, "..{}", last.0)?;
            }
        }
        f.write_str(if stands.is_empty() { " nothing" } else { "" })?;
        for Lead { role, fence, .. } in leads {
            write!(f, ", leads {}", role.0)?;
            if let Some(fence) = fence {
                write!(f, " fence {fence}")?;
            }
        }
        Ok(())
    }
}
