//! Processes, and the numbers of the protocol.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::name::NodeName;

/// A run of a process: its name, and random bits that differ from run to run.
///
/// A process that is killed and started again is another `Process`: the claims of the earlier run
/// do not count for the later one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Process {
    /// The name, unique in the group among processes that run at the same time.
    pub id: NodeName,
    /// 128 random bits, drawn when the process starts.
    pub incarnation: u128,
}

/// A role, by its number j: R_j of the text. Role j is the election `NAME/j`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Role(pub u32);

/// A partition of the topic, by its number k: M_k of the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Partition(pub u32);

/// The number of a membership: a process is another member each time that it joins its group. The
/// core counts from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Membership(pub u64);

/// The number of a rebalance: partitions are assigned to a process, revoked or lost. The driver
/// counts upwards from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct RebalanceId(pub u64);

impl RebalanceId {
    /// No rebalance: an observer reads the partition, outside the group.
    pub const NONE: Self = Self(0);
}

/// The name of an uninterrupted reading of a partition, from its end on: the assignment, and the
/// number of the attempt. The core counts attempts upwards.
///
/// A record belongs to the reading that delivered it, and to no later reading (ruling 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Reading {
    /// The rebalance that assigned the partition, or [`RebalanceId::NONE`].
    pub rebalance: RebalanceId,
    /// A number that no other reading of this process has.
    pub attempt: u64,
}

/// The number of a record that a process publishes. The process counts upwards from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct EntryNumber(pub u64);

impl Role {
    /// The partition that decides on this role: `j mod M`. So each role has a partition, whatever M
    /// is. `partitions` is not zero in settings that were checked.
    #[must_use]
    pub const fn partition(self, partitions: u32) -> Partition {
        match self.0.checked_rem(partitions) {
            Some(rest) => Partition(rest),
            None => Partition(0),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{:08x}", self.id, self.incarnation >> 96)
    }
}

macro_rules! numbers {
    ($($number:ty: $sign:literal),+) => {$(
        impl fmt::Display for $number {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($sign, "{}"), self.0)
            }
        }
    )+};
}

numbers!(Role: "role ", Partition: "partition ", Membership: "membership ", RebalanceId: "",
    EntryNumber: "#");

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reading {}.{}", self.rebalance, self.attempt)
    }
}
