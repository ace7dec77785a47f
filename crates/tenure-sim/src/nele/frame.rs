//! Messages of these worlds: requests of clients to their broker, and its answers.

use std::fmt;

use tenure_core::contract;
use tenure_core::nele::{
    Command, Entry, EntryNumber, Event, Partition, Reading, Record, Report, Request, Start, Target,
    TopicId,
};

use super::broker::Fault;
pub use crate::world::nodes::Place;

/// Membership of a client, as the coordinator knows it, with a unique number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    pub group: usize,
    pub number: u64,
}

/// A message between a client and the broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// A client joins.
    Join(Member),
    /// A member's heartbeat, with its partitions.
    Beat(Member, Vec<u32>),
    Leave(Member),
    /// A rebalance begins (its generation): each member reports its partitions, then waits for the
    /// others.
    Rebalance(Member, u64),
    /// A member joins that rebalance, with its partitions.
    Joins(Member, u64, Vec<u32>),
    /// The assignment of a member. The member gives surplus partitions back.
    Assignment(Member, Vec<u32>),
    /// The coordinator does not know this member.
    Unknown(Member),
    /// A request for the end of a partition.
    End(Partition, Reading),
    /// The end of a partition, in the topic of this number.
    Ends(Partition, Reading, u64, u128),
    /// A request for records from this offset on, with the leader epoch of the last read record.
    Fetch(Partition, Reading, u64, Option<u32>),
    Fetched(Partition, Reading, Vec<Record>),
    /// The offset does not exist.
    OutOfRange(Partition, Reading),
    /// An entry to append.
    Produce(Target, Box<Entry>),
    /// The offset of the entry.
    Produced(EntryNumber, Partition, u64),
    /// A request for the topic.
    Metadata,
    /// The topic, with its number of partitions.
    Topic(TopicId, u32),
}

/// An event of a process, in order: an event of the core, a request of the core to the ledger, or a
/// report of the ledger to the core.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice {
    Core(Event),
    /// A request of the core.
    Asked(Box<Request>),
    /// A report to the core.
    Heard(Box<Report>),
    /// A fault of the broker.
    Broke(Fault),
}

/// Types of a node's messages, commands and events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Start;
    type Sender = Place;
    type Address = Place;
    type Message = Frame;
    type Record = std::convert::Infallible;
    type Command = Command;
    type Event = Notice;
}

pub(super) type Out = contract::Effects<Words>;

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {} of group {}", self.number, self.group)
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(member) => write!(f, "{member} joins"),
            Self::Beat(member, own) => write!(f, "{member} is there, and has {own:?}"),
            Self::Leave(member) => write!(f, "{member} leaves"),
            Self::Rebalance(member, generation) => {
                write!(f, "{member} rebalances in generation {generation}")
            }
            Self::Joins(member, generation, own) => {
                write!(f, "{member} joins generation {generation}, with {own:?}")
            }
            Self::Assignment(member, may) => write!(f, "{member} may have {may:?}"),
            Self::Unknown(member) => write!(f, "{member} is unknown"),
            Self::End(partition, reading) => write!(f, "{partition}, {reading}: its end?"),
            Self::Ends(partition, reading, end, topic) => {
                write!(f, "{partition}, {reading}: ends at {end} of topic {topic:x}")
            }
            Self::Fetch(partition, reading, from, _) => {
                write!(f, "{partition}, {reading}: from {from}")
            }
            Self::Fetched(partition, reading, records) => {
                write!(f, "{partition}, {reading}:")?;
                records.iter().try_for_each(|record| write!(f, " {record};"))
            }
            Self::OutOfRange(partition, reading) => write!(f, "{partition}, {reading}: not there"),
            Self::Produce(Target::Every, entry) => write!(f, "append to all {entry}"),
            Self::Produce(Target::One(partition), entry) => {
                write!(f, "append to {partition} {entry}")
            }
            Self::Produced(number, partition, offset) => {
                write!(f, "{number} is at {offset} of {partition}")
            }
            Self::Metadata => f.write_str("which topic?"),
            Self::Topic(id, partitions) => write!(f, "topic {id} with {partitions} partitions"),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core(event) => event.fmt(f),
            Self::Asked(request) => write!(f, "asks: {request}"),
            Self::Heard(report) => write!(f, "hears: {report}"),
            Self::Broke(fault) => write!(f, "goes wrong: {fault:?}"),
        }
    }
}
