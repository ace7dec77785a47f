//! Bodies of messages, one for each kind on the wire.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::{Inc, Instance, Mark, Stamp, Who};
use super::oqwbs::{ClockFault, WallGrant, WallStart};
use super::roster::Roster;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// `grantRequest` (section 3).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    pub election: ElectionName,
    /// `Start` on the candidate's clock. For the grantor, an opaque name of this instance of OQwBD.
    pub start: Time,
    /// δ, the length of the lease, in real time.
    pub delta: Duration,
    /// Longest δ for which this candidate will ask; the first lease of a leadership is shorter.
    pub lease: Duration,
    /// First Start of this attempt to lead, which names the leadership.
    pub first: Time,
    /// Fence that the candidate proposes for the leadership.
    pub fence: Fence,
    /// Fence of the leadership; `None` until the claim is raised with this fence. Observers name
    /// only a holder with an announced fence as leader.
    pub announced: Option<Fence>,
    /// Rank among waiting candidates, the highest first.
    pub priority: u8,
    /// Whether the candidate holds a lease already, and renews it.
    pub leading: bool,
    /// Candidate that the grantor handles first when the grant ends.
    pub next: Option<NodeName>,
    /// Value that others see when the candidate leads.
    pub value: Value,
    /// The Start on the candidate's wall clock; `None` without a bound on skew. With a wall clock
    /// the request has another kind on the wire.
    #[serde(skip)]
    pub wall: Option<WallStart>,
}

/// `ok` (sections 3 and 7).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Granted {
    pub election: ElectionName,
    /// Incarnation that asked: another incarnation of the same name may have used the same Start.
    pub asker: Inc,
    pub start: Time,
    /// Identity of the memory that granted the request.
    pub instance: Instance,
    /// Marks of the members' memories by [position](super::Membership::position), as this grantor
    /// has written them down; empty if it has written none.
    pub memories: Vec<Mark>,
    /// `T_q`: the sample at which the request was granted.
    pub stamp: Stamp,
    /// Whether the grantor accepted the fence for this leadership.
    pub accepted: bool,
    /// Highest fence seen before this grant.
    pub seen: Fence,
    /// Whether the request had waited: the answer to a waiting request measures no round trip.
    pub waited: bool,
    /// Whether the candidate named as `next` waits at this grantor.
    pub next_waits: bool,
    /// First of the candidates that wait at this grantor, in the order in which the grantor handles
    /// them.
    pub waiting: Option<NodeName>,
    /// The clocks of the grantor; `None` without a bound on skew. With these clocks the ok has
    /// another kind on the wire.
    #[serde(skip)]
    pub wall: Option<WallGrant>,
}

/// The reason why a request was not granted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// Another candidate holds the grant. The request waits here if `parked`.
    Held { holder: Box<Holder>, parked: bool },
    /// This grantor lost its memory and waits until every lease that it may have given has ended.
    Quarantine {
        /// Rest of the wait, on the grantor's clock.
        remaining: Duration,
    },
    /// This grantor has no memory: it reads the fences of other members or, in a new cluster, waits
    /// for all members.
    Recovering {
        /// Whether some member has a memory of the cluster, so that the cluster is not new.
        known: bool,
    },
    /// The candidate asks, now or later, for a longer lease than this grantor gives.
    TooLong {
        /// Longest lease for which the candidate asks.
        lease: Duration,
        /// Longest lease that the grantor gives.
        delta_max: Duration,
    },
    /// The proposed fence is more than 2⁴² above the highest fence seen.
    FenceTooFar,
    /// The same incarnation of this candidate holds the grant from another address.
    OtherAddress {
        /// Address from which the holder asked for the grant.
        holder: SocketAddr,
    },
    /// This grantor keeps as many elections as its limit allows.
    Full,
    /// The grantor cannot write its state directory.
    Disk,
    /// This grantor has just started, and waits for the first write to its state directory.
    Starting,
    /// A later memory of this member has replaced the memory of this process.
    Replaced,
    /// This grantor has accepted the members of the next epoch, and grants nothing until it has
    /// entered that epoch.
    Wedged {
        /// Number of the next epoch.
        next: u64,
    },
    /// This grantor is no member of the present epoch.
    Removed {
        /// Number of the present epoch.
        epoch: u64,
    },
    /// The clocks of candidate and grantor cannot be compared.
    Clock(ClockFault),
    /// This grantor takes its own clock to be wrong.
    WrongClock,
}

/// `refused` (section 10.2).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Refused {
    pub election: ElectionName,
    pub asker: Inc,
    pub start: Time,
    pub refusal: Refusal,
    /// Highest fence that the grantor has seen in the election.
    pub seen: Fence,
    /// Address of another incarnation that uses the candidate's name at the same time.
    pub name_shared: Option<SocketAddr>,
}

/// A grant as its grantor describes it to others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub who: Who,
    /// Source of the holder's requests.
    pub address: SocketAddr,
    /// Value that the holder shows to others. Empty in a refusal, which must not be much longer
    /// than its request.
    pub value: Value,
    /// Rest of the grant, on the grantor's clock.
    pub remaining: Duration,
    /// Highest Start granted to the holder.
    pub start: Time,
    pub priority: u8,
    /// Whether the holder led when it sent its last request.
    pub leading: bool,
    /// Whether the last leader named the holder as the next.
    pub next: bool,
    /// Fence that the holder announced with its request; `None` for a candidate that has not won.
    pub fence: Option<Fence>,
    /// Approximate span until the release, if the holder no longer leads. A promise to a verifier
    /// delays the release.
    pub leaving: Option<Duration>,
    /// Length of the holder's leases, present or planned. Zero in a refusal, and until the holder's
    /// first request after this grantor's start.
    pub lease: Duration,
}

/// `release` (section 6), with the Start up to which it applies (erratum 4).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Release {
    pub election: ElectionName,
    /// The candidate gives up every instance up to this Start.
    pub start: Time,
    /// Candidate that the grantor handles first.
    pub next: Option<NodeName>,
}

/// A leader's notice that its claim is lowered while a promise delays the release. The grantor
/// stops reporting the sender as leader to observers. This message has no answer and no repetition,
/// and decides nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Leaving {
    pub election: ElectionName,
    pub start: Time,
    /// Rest of the delay, in real time, rounded up.
    pub held: Duration,
}

/// The answer to a release.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Released {
    pub election: ElectionName,
    /// Incarnation that gave the grant up.
    pub asker: Inc,
    pub start: Time,
}

/// `verifyLeadership` (section 10.5).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Verify {
    pub election: ElectionName,
    /// `Start` on the asker's clock.
    pub start: Time,
}

/// `remainder` (section 10.5), bound to the asker's incarnation and question.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Remainder {
    pub election: ElectionName,
    pub start: Time,
    pub asker: Inc,
    /// Shortest real time for which the leadership goes on; zero without a leadership.
    pub remaining: Duration,
    pub fence: Option<Fence>,
}

/// A question about an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Query {
    pub election: ElectionName,
    /// Time of the question on the asker's clock.
    pub start: Time,
}

/// Whether a grantor's answers count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Service {
    Serving,
    /// The grantor lost its memory and waits.
    Quarantine {
        /// Rest of the wait, on the grantor's clock.
        remaining: Duration,
    },
    /// The grantor has no memory: it reads the fences of a full quorum of others or, in a new
    /// cluster, waits for all members.
    Recovering {
        /// True if a member remembers the cluster, and no member says that the grantor's memory was
        /// there at the founding. The grantor then needs enough members that remember.
        known: bool,
    },
    /// The grantor cannot write its state directory, or a flush takes too long. The grantor's
    /// reports of holders count, because it reports only written grants; it reports no election as
    /// free.
    Failing,
    /// The grantor has just started, and waits for the first write to its state directory.
    Starting,
    /// Other members know a later memory of this member. The grantor never grants again.
    Replaced,
    /// The grantor has accepted the members of the next epoch, and grants nothing until it has
    /// entered that epoch. Its earlier grants last, and observers rely on them.
    Wedged,
    /// The grantor is no member of the present epoch.
    Removed,
    /// The grantor takes its own clock to be wrong, and grants nothing. Its earlier grants last.
    WrongClock,
}

/// The state of an election at one grantor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct State {
    pub election: ElectionName,
    pub asker: Inc,
    /// Time of the question on the asker's clock.
    pub start: Time,
    pub service: Service,
    pub instance: Instance,
    /// Marks of the members' memories by position, as this grantor has written them down.
    pub memories: Vec<Mark>,
    pub holder: Option<Box<Holder>>,
    /// Least span for which no candidate has held the grant, on the grantor's clock.
    pub free_for: Duration,
    /// Number of candidates that wait at this grantor.
    pub waiting: u16,
    /// Highest fence that the grantor has seen in the election.
    pub seen: Fence,
    /// Longest lease that this grantor gives, now or after the wait of `raise`.
    pub delta_max: Duration,
    /// The wait after a start that raised `delta_max`; `None` once the grantor gives the longer
    /// leases.
    pub raise: Option<Box<Raising>>,
}

/// The wait of a grantor before it gives longer leases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Raising {
    /// Longest lease during the wait.
    pub before: Duration,
    /// Rest of the wait, on the grantor's clock.
    pub remaining: Duration,
}

/// A question for the names of elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct List {
    pub start: Time,
    /// Bound of the page, which has only names after this name.
    pub after: Option<ElectionName>,
}

/// A page of names in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Listed {
    pub start: Time,
    pub service: Service,
    /// Elections with a live grant.
    pub names: Vec<ElectionName>,
    pub more: bool,
}

/// A grantor's report of its memory, and its question for a bound on all fences seen and for the
/// memories that the recipient knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FenceRead {
    /// Time of the question on the asker's clock.
    pub start: Time,
    pub instance: Instance,
    /// Whether the recipient writes down the asker's memory before it answers. A member with an
    /// empty directory asks for this writing only once it has enough answers to serve: until then
    /// its lost directory may still be found.
    pub record: bool,
}

/// An upper bound on every fence that this grantor has seen, and on every lease that it gave.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FenceSeen {
    pub asker: Inc,
    pub start: Time,
    pub seen: Fence,
    /// Bound on leases: the largest `delta_max` that this grantor ever had.
    pub delta_max: Duration,
    /// Whether the grantor's memory is intact, so that this answer bounds what others forgot. If
    /// not, the grantor's directory is empty: lost, or of a new cluster.
    pub whole: bool,
    /// Longest remaining time of the leaderships that the grantor has heard of since its start, on
    /// the grantor's clock.
    pub leader: Duration,
    /// Memories that the grantor has written down, its own among them.
    pub roster: Roster,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {:?} start {}", self.who, self.remaining, self.start)?;
        fmt_fence(self.fence, f)?;
        match self.leaving {
            Some(held) => write!(f, " leaving in {held:?}"),
            None => Ok(()),
        }
    }
}

/// Prints ` fence 7` for a fence, and nothing for `None`.
pub(super) fn fmt_fence(fence: Option<Fence>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fence {
        Some(fence) => write!(f, " fence {fence}"),
        None => Ok(()),
    }
}

impl Refusal {
    /// Whether a blank, too, may refuse for this reason.
    pub(super) const fn may_be_of_blank(&self) -> bool {
        matches!(
            self,
            Self::Quarantine { .. } | Self::Recovering { .. } | Self::Starting | Self::Disk
        )
    }
}

impl Service {
    /// Whether a blank may be in this state.
    pub(super) const fn may_be_of_blank(&self) -> bool {
        let waits = matches!(self, Self::Quarantine { .. } | Self::Recovering { .. });
        waits || matches!(self, Self::Starting | Self::Failing)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { holder, parked } => {
                write!(f, "held by {holder}{}", if *parked { ", parked" } else { "" })
            }
            Self::Quarantine { remaining } => write!(f, "in quarantine for {remaining:?}"),
            Self::Recovering { known } => {
                write!(f, "recovering{}", if *known { "" } else { ", new" })
            }
            Self::TooLong { lease, delta_max } => {
                write!(f, "a lease of {lease:?}, longer than the {delta_max:?} that it gives")
            }
            Self::FenceTooFar => f.write_str("fence too far"),
            Self::OtherAddress { holder } => write!(f, "held from {holder}"),
            Self::Full => f.write_str("full"),
            Self::Disk => f.write_str("cannot write"),
            Self::Starting => f.write_str("starting"),
            Self::Replaced => f.write_str("replaced by a later memory"),
            Self::Wedged { next } => write!(f, "wedged for epoch {next}"),
            Self::Removed { epoch } => write!(f, "removed in epoch {epoch}"),
            Self::Clock(fault) => fault.fmt(f),
            Self::WrongClock => f.write_str("wrong clock"),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serving => f.write_str("serving"),
            Self::Quarantine { remaining } => write!(f, "in quarantine for {remaining:?}"),
            Self::Recovering { known } => {
                write!(f, "recovering{}", if *known { "" } else { ", new" })
            }
            Self::Failing => f.write_str("unable to write its state directory"),
            Self::Starting => f.write_str("starting"),
            Self::Replaced => f.write_str("replaced by a later memory"),
            Self::Wedged => f.write_str("wedged while its members change"),
            Self::Removed => f.write_str("no member any more"),
            Self::WrongClock => f.write_str("stopped by its own clock"),
        }
    }
}

/// A word and a name, printed only if there is a name.
pub(super) struct WordAndName<'a>(pub(super) &'a str, pub(super) Option<&'a NodeName>);

impl fmt::Display for WordAndName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(name) => write!(f, " {} {name}", self.0),
            None => Ok(()),
        }
    }
}
