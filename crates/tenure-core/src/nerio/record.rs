//! Records of a grantor, and the failures that each must survive.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::epoch::{Document, EpochId, Vote};
use super::identity::{Boot, Instance, Stamp, Who};
use super::roster::Entry;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// A record for the state directory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Record {
    /// Must survive a crash of the machine: written with a flush before the grantor's first grant.
    Identity {
        instance: Instance,
        boot: Boot,
        /// Largest lease length ever allowed here, for which a restart waits.
        delta_max: Duration,
        /// Document of the epoch that the grantor enters with this start.
        enters: Option<Arc<Document>>,
    },
    /// Must survive a crash of the machine: the grantor has entered the epoch of this document, and
    /// grants nothing there before the record is durable.
    Entered {
        document: Arc<Document>,
        /// Fence at which a restart begins, like that of a [`Reserve`](Self::Reserve).
        floor: Fence,
        /// Longest time for which a lease of an earlier epoch may last from now on. After another
        /// boot the grantor waits at least this long.
        inherited: Duration,
        /// Whether the grantor votes on the successor. A memory that replaces a memory lost in this
        /// epoch has no vote, because the lost memory may have voted.
        votes: bool,
    },
    /// Must survive a crash of the machine: the grantor's vote on the successor of this epoch. The
    /// grantor answers a proposer only after the record is durable.
    Vote { epoch: EpochId, vote: Box<Vote<Document>> },
    /// All leases of earlier epochs have ended. Survives a crash of the machine, but its loss would
    /// only make a restart wait.
    Settled { epoch: EpochId },
    /// Must survive a crash of the machine: no fence above `high` leaves this grantor before the
    /// record is durable, and a restart begins at `high`.
    ///
    /// After a loss of memory, the first reserve comes with the [entry](Self::Entered) into an
    /// epoch. This reserve shows that the fences have been read from the others. The grantor must
    /// not write a reserve earlier: until a reserve is durable, every start finds the memory lost.
    Reserve {
        /// Highest fence that may be accepted.
        high: Fence,
    },
    /// Must survive a crash of the machine: the memory of each member. Answers that report these
    /// memories, and oks that rest on them, leave only after the record is durable.
    Roster(Vec<(NodeName, Entry)>),
    /// Must survive the process only, so the record needs no flush: after another boot of the
    /// machine the grantor waits for all leases to end anyway.
    ///
    /// After such a wait, the first grant shows that the wait is over. The grantor must not write a
    /// grant earlier: until a grant is written, every start waits again.
    Grant(Box<GrantRecord>),
    /// Must survive the process only, and is for the supervisor of that process: a verification has
    /// promised that this node leads until this instant. The latest of all such instants counts.
    Promise { until: Time },
    /// The election is forgotten: its slot may hold another election.
    Forget(ElectionName),
    /// Must survive the process only: the grants so far are void, and later grants are made in this
    /// epoch. Written after the [entry](Self::Entered) is durable and before the first grant.
    ///
    /// A start that finds grants of another epoch waits for all leases to end, as after another
    /// boot. In an upgraded epoch no such record is written.
    Table {
        epoch: EpochId,
        /// Latest end of a lease of an earlier epoch, on this grantor's clock of this boot.
        until: Time,
    },
}

/// The state of one election at one grantor. The grantor writes it after each change, before the
/// answer leaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct GrantRecord {
    pub election: ElectionName,
    /// `A`: the holder of the lease.
    pub holder: Who,
    /// Source of the holder's requests.
    pub address: SocketAddr,
    pub value: Value,
    /// `gs`: the highest Start granted to the holder.
    pub start: Time,
    /// `F`: the end of the grant, on this grantor's clock of this boot of the machine.
    pub finish: Time,
    /// `T_q` of the grant.
    pub stamp: Stamp,
    pub priority: u8,
    pub leading: bool,
    /// Fence that the holder had announced when it asked.
    pub announced: Option<Fence>,
    /// Whether the grantor accepted the requested fence with the grant.
    pub accepted: bool,
    pub fence_seen: Fence,
    /// Leadership that raised `fence_seen` to its value; `None` after a restart from the reserve.
    pub fence_owner: Option<Tenancy>,
}

/// An attempt to lead, and the leadership that it may become. The candidate and the first Start of
/// the attempt identify both.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tenancy {
    pub who: Who,
    /// First Start of the attempt, on the candidate's clock.
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
            // The line leaves out `enters`, which only repeats the members of the settings.
            Self::Identity { instance, boot, delta_max, .. } => {
                write!(f, "identity {instance} {boot:?} delta_max {delta_max:?}")
            }
            Self::Entered { document, floor, inherited, .. } => {
                write!(f, "entered epoch {} reserve {floor}", document.number)?;
                match inherited.is_zero() {
                    true => Ok(()),
                    false => write!(f, " inherited {inherited:?}"),
                }
            }
            Self::Vote { epoch, vote } => {
                write!(f, "vote epoch {} promised {}", epoch.number, vote.promised)?;
                match &vote.accepted {
                    Some((by, document)) => write!(f, " accepted {} by {by}", document.number),
                    None => Ok(()),
                }
            }
            Self::Settled { epoch } => write!(f, "settled epoch {}", epoch.number),
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
            Self::Promise { until } => write!(f, "promise until {until}"),
            Self::Forget(election) => write!(f, "forget {election}"),
            Self::Table { epoch, until } => {
                write!(f, "table of epoch {}, earlier leases until {until}", epoch.number)
            }
        }
    }
}

impl fmt::Display for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.who, self.first)
    }
}
