//! Messages of these worlds: requests of clients to their broker, and its answers.

use std::fmt;

use tenure_core::contract;
use tenure_core::nele::{
    Command, Entry, EntryNumber, Event, Partition, Reading, Record, Report, Request, Start, Target,
    TopicId,
};

use super::broker::Fault;
pub use crate::world::nodes::Place;

/// Membership of a client, as the coordinator knows it. No two have the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    pub group: usize,
    pub number: u64,
}

/// Message between a client and the broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// A client joins.
    Join(Member),
    /// A member is there, and has these.
    Beat(Member, Vec<u32>),
    /// A member leaves.
    Leave(Member),
    /// The group is dealt anew, for this many times: a member says again what it has, and all wait
    /// until each has.
    Dealing(Member, u64),
    /// A member takes part in that, and has these.
    Joins(Member, u64, Vec<u32>),
    /// Partitions that a member may have now; the member gives the rest back.
    Assignment(Member, Vec<u32>),
    /// There is no such member.
    Unknown(Member),
    /// Where does a partition end?
    End(Partition, Reading),
    /// There, in the topic of this number.
    Ends(Partition, Reading, u64, u128),
    /// Which records come from this offset on? With the leader epoch of the last record read.
    Fetch(Partition, Reading, u64, Option<u32>),
    /// These records.
    Fetched(Partition, Reading, Vec<Record>),
    /// Nothing can be read there.
    OutOfRange(Partition, Reading),
    /// Append this.
    Produce(Target, Box<Entry>),
    /// The entry is at this offset.
    Produced(EntryNumber, Partition, u64),
    /// Which topic is it?
    Metadata,
    /// This, with so many partitions.
    Topic(TopicId, u32),
}

/// Event of a process: an event of its core, a request of the core to the ledger, or a report of
/// the ledger to the core, each in its place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice {
    /// The core tells this.
    Core(Event),
    /// The core has asked for this.
    Asked(Box<Request>),
    /// The core hears this now.
    Heard(Box<Report>),
    /// This goes wrong in the broker.
    Broke(Fault),
}

/// Types of the messages, commands and events of a node.
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

/// Effects of a node.
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
            Self::Dealing(member, deal) => write!(f, "{member} is dealt anew, {deal}"),
            Self::Joins(member, deal, own) => write!(f, "{member} joins in {deal}, with {own:?}"),
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
