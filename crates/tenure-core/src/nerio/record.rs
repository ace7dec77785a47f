//! What a grantor writes down, and why each part must survive what.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::{Boot, Instance, Stamp, Who};
use super::roster::Entry;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// Something that goes to the state directory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Record {
    /// Must survive the machine: written with a flush before the grantor's first grant.
    Identity {
        /// Which memory this is.
        instance: Instance,
        /// The boot that begins.
        boot: Boot,
        /// The largest lease length ever allowed here: how long a restart waits.
        delta_max: Duration,
    },
    /// Must survive the machine: no fence above `high` leaves this grantor before it is durable,
    /// and a restart begins at it.
    ///
    /// Where the memory was lost, the first one says that the fences have been read from the
    /// others, and must not be written before: until it is durable every start finds the memory
    /// lost again.
    Reserve {
        /// The highest fence that may be accepted.
        high: Fence,
    },
    /// Must survive the machine: which memory each member has. An answer that says so, and an ok
    /// that goes by it, leave after it is durable.
    Roster(Vec<(NodeName, Entry)>),
    /// Must survive the process only: without a flush, because another boot of the machine
    /// waits out all leases anyway.
    ///
    /// Where all leases had to be waited out, the first one says that they have been, and must
    /// not be written before: until then every start has to wait again.
    Grant(Box<GrantRecord>),
    /// The election is forgotten: its slot may be used by another election.
    Forget(ElectionName),
}

/// The state of one election at one grantor, after a change and before its answer leaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct GrantRecord {
    /// The election.
    pub election: ElectionName,
    /// `A`: to whom the lease is granted.
    pub holder: Who,
    /// Where its requests came from.
    pub address: SocketAddr,
    /// What it wants others to know of it.
    pub value: Value,
    /// `gs`: the highest Start granted to the holder.
    pub start: Time,
    /// `F`: when the grant ends, on this grantor's clock of this boot of the machine.
    pub finish: Time,
    /// `T_q` of the grant.
    pub stamp: Stamp,
    /// The holder's priority.
    pub priority: u8,
    /// Whether the holder led when it asked.
    pub leading: bool,
    /// The fence that it had announced when it asked.
    pub announced: Option<Fence>,
    /// Whether the grant was accepted with the fence it asked for.
    pub accepted: bool,
    /// The highest fence granted in this election.
    pub fence_seen: Fence,
    /// The leadership that moved `fence_seen` to where it is; `None` after a restart from the
    /// reserve.
    pub fence_owner: Option<Tenancy>,
}

/// `L`: one attempt to lead and everything it became, named by its first Start.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tenancy {
    /// Who.
    pub who: Who,
    /// The first Start of the attempt, on its clock.
    pub first: Time,
}

impl From<GrantRecord> for Record {
    fn from(grant: GrantRecord) -> Self {
        Self::Grant(Box::new(grant))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity { instance, boot, delta_max } => {
                write!(f, "identity {instance} {boot:?} delta_max {delta_max:?}")
            }
            Self::Reserve { high } => write!(f, "reserve {high}"),
            Self::Roster(members) => {
                f.write_str("roster")?;
                members.iter().try_for_each(|(name, Entry { instance, founder })| {
                    write!(f, " {name} {instance}{}", if *founder { " founder" } else { "" })
                })
            }
            Self::Grant(grant) => write!(
                f,
                "grant {} to {} start {} finish {} stamp {} fence {}",
                grant.election,
                grant.holder,
                grant.start,
                grant.finish,
                grant.stamp,
                grant.fence_seen
            ),
            Self::Forget(election) => write!(f, "forget {election}"),
        }
    }
}

impl fmt::Display for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.who, self.first)
    }
}
