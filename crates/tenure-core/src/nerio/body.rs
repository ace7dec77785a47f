//! Bodies of messages: each stands for one kind on the wire.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::{Inc, Instance, Mark, Stamp, Who};
use super::roster::Roster;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// `grantRequest` (section 3).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The election.
    pub election: ElectionName,
    /// `Start` on the candidate's clock: names the instance, and is not interpreted.
    pub start: Time,
    /// δ, the length of the lease in real time.
    pub delta: Duration,
    /// The longest δ that this candidate is going to ask for: its first lease is shorter.
    pub lease: Duration,
    /// The first Start of this attempt to lead: names the leadership it may become.
    pub first: Time,
    /// The fence that the candidate proposes for it.
    pub fence: Fence,
    /// The fence of its leadership, once its claim was raised with it; none before. Only this
    /// makes the holder of a grant a leader to observers.
    pub announced: Option<Fence>,
    /// Its place among those who wait: the higher goes first.
    pub priority: u8,
    /// Whether it holds a lease already, and renews it.
    pub leading: bool,
    /// Who should be handled first when the grant ends.
    pub next: Option<NodeName>,
    /// What others should know of the candidate when it leads.
    pub value: Value,
}

/// `ok` (sections 3 and 7).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Granted {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that asked: another incarnation of the same name may have used the same
    /// Start.
    pub asker: Inc,
    /// The Start of the request.
    pub start: Time,
    /// Which memory granted it.
    pub instance: Instance,
    /// Which memory each member has, as far as this one has written it down: by
    /// [place](super::Checked::place). Empty if it knows of none.
    pub memories: Vec<Mark>,
    /// `T_q`: the sample with which it was granted.
    pub stamp: Stamp,
    /// Whether the fence was accepted for this leadership.
    pub accepted: bool,
    /// The highest fence seen before this grant.
    pub seen: Fence,
    /// Whether the request had waited: such an answer measures no round trip.
    pub waited: bool,
    /// Whether the candidate named as `next` waits here.
    pub next_waits: bool,
    /// The first of those who wait.
    pub waiting: Option<NodeName>,
}

/// Why a request was not granted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// Somebody else holds the grant; the request waits here unless it says otherwise.
    Held {
        /// Who and for how long.
        holder: Box<Holder>,
        /// Whether the request was parked.
        parked: bool,
    },
    /// This grantor lost its memory and waits until every lease it may have given has ended.
    Quarantine {
        /// How much longer, on its clock.
        remaining: Duration,
    },
    /// This grantor lost its memory and reads the fences of the others, or the cluster is new, and
    /// it waits for all members.
    Recovering {
        /// Whether anybody is known to remember the cluster: then it is not new.
        known: bool,
    },
    /// The lease asked for, or to be asked for next, is longer than this grantor gives.
    TooLong {
        /// What the candidate asks for.
        lease: Duration,
        /// The longest it gives.
        delta_max: Duration,
    },
    /// The fence proposed is more than 2⁴² above the highest one seen.
    FenceTooFar,
    /// The same incarnation of this candidate asks from another address.
    OtherAddress {
        /// The address that holds the grant.
        holder: SocketAddr,
    },
    /// This grantor keeps as many elections as it may.
    Full,
    /// The state directory of this grantor cannot be written.
    Disk,
    /// This grantor starts, and what it must write down first is on its way to its state directory.
    Starting,
    /// Another memory of this member has taken the place of the one that this process has.
    Replaced,
}

/// `refused` (section 10.2).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that asked.
    pub asker: Inc,
    /// The Start of the request.
    pub start: Time,
    /// Why.
    pub refusal: Refusal,
    /// The highest fence seen.
    pub seen: Fence,
    /// Where another incarnation is that uses the candidate's name at the same time.
    pub name_shared: Option<SocketAddr>,
}

/// A grant as a grantor describes it to others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// Who holds it.
    pub who: Who,
    /// Where its requests come from.
    pub address: SocketAddr,
    /// What it wants others to know. Empty in a refusal, which has no use for it, and must not be
    /// much longer than its request.
    pub value: Value,
    /// How much longer, on the grantor's clock.
    pub remaining: Duration,
    /// The highest Start granted to it.
    pub start: Time,
    /// Its priority.
    pub priority: u8,
    /// Whether it held a lease when it asked.
    pub leading: bool,
    /// Whether the last leader named it.
    pub next: bool,
    /// The fence of its leadership, if it had announced one when it asked for this grant: a
    /// candidate that has not won has none.
    pub fence: Option<Fence>,
    /// It leads no more, and releases the grant in about so long, because a verification promised
    /// that nobody else leads before.
    pub leaving: Option<Duration>,
    /// How long its leases are, or are to be; zero if it has not said that since this grantor
    /// started. Zero in a refusal.
    pub lease: Duration,
}

/// `release` (section 6), naming the Start it ends (erratum 4).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Release {
    /// The election.
    pub election: ElectionName,
    /// Every instance up to this Start is given up.
    pub start: Time,
    /// Who should be handled first.
    pub next: Option<NodeName>,
}

/// The claim is lowered, and a promise holds the release up. Nothing is decided by it: it is there
/// so that those who ask are not told that its sender leads. Not answered, and not repeated.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Leaving {
    /// The election.
    pub election: ElectionName,
    /// The Start that is going to be released.
    pub start: Time,
    /// How much longer the promise holds it up, in real time, rounded up.
    pub held: Duration,
}

/// The answer to a release.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Released {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that gave it up.
    pub asker: Inc,
    /// The Start of the release.
    pub start: Time,
}

/// `verifyLeadership` (section 10.5).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Verify {
    /// The election.
    pub election: ElectionName,
    /// `Start` on the asker's clock.
    pub start: Time,
}

/// `remainder` (section 10.5), bound to the asker's incarnation and question.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Remainder {
    /// The election.
    pub election: ElectionName,
    /// The Start of the question.
    pub start: Time,
    /// The incarnation of the asker.
    pub asker: Inc,
    /// The least real time for which the leadership goes on; zero when there is none.
    pub remaining: Duration,
    /// Its fence.
    pub fence: Option<Fence>,
}

/// A question about an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Query {
    /// The election.
    pub election: ElectionName,
    /// When it was asked, on the asker's clock.
    pub start: Time,
}

/// Whether a grantor's word counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Service {
    /// It grants.
    Serving,
    /// It lost its memory and waits.
    Quarantine {
        /// How much longer, on its clock.
        remaining: Duration,
    },
    /// It lost its memory and reads the fences of a full quorum of others, or the cluster is new,
    /// and it waits for all members.
    Recovering {
        /// Whether anybody is known to remember the cluster: then it is not new.
        known: bool,
    },
    /// It cannot write its state directory. What it says of holders is written and counts; that
    /// nobody holds an election it does not say. Or a flush has taken too long, and is under way.
    Failing,
    /// It starts, and what it must write down before it grants is on its way to its state
    /// directory.
    Starting,
    /// It has another memory than the one that the others know as this member's: a later one has
    /// taken its place. It never grants again.
    Replaced,
}

/// What one grantor knows of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct State {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that asked.
    pub asker: Inc,
    /// When it was asked, on the asker's clock.
    pub start: Time,
    /// Whether its word counts.
    pub service: Service,
    /// Which memory says so.
    pub instance: Instance,
    /// Which memory each member has, as far as this one has written it down.
    pub memories: Vec<Mark>,
    /// Who holds its grant, if that is written down.
    pub holder: Option<Box<Holder>>,
    /// How long nobody has held it here, at least, on the grantor's clock.
    pub free_for: Duration,
    /// How many wait.
    pub waiting: u16,
    /// The highest fence seen.
    pub seen: Fence,
    /// The longest lease that this grantor gives, now or as soon as it may.
    pub delta_max: Duration,
    /// After a start that raised it, until that counts.
    pub raise: Option<Box<Raising>>,
}

/// A grantor gives longer leases later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Raising {
    /// The longest that it gives until then.
    pub before: Duration,
    /// How much longer, on its clock.
    pub remaining: Duration,
}

/// A question for the names of elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct List {
    /// Names the question in the answer.
    pub start: Time,
    /// Only names after this one.
    pub after: Option<ElectionName>,
}

/// A page of names in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// The Start of the question.
    pub start: Time,
    /// Whether its word counts.
    pub service: Service,
    /// Elections with a live grant.
    pub names: Vec<ElectionName>,
    /// Whether there are more after the last.
    pub more: bool,
}

/// A member says which memory it has, and asks for what others know: for the fences (the scalar
/// fence, rule 4), and for the memories.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FenceRead {
    /// When it was asked, on the asker's clock.
    pub start: Time,
    /// The memory that the asker has.
    pub instance: Instance,
    /// Whether that is to be written down before the answer. A member with an empty directory only
    /// asks at first: as long as it could not serve, its real directory may come back.
    pub record: bool,
}

/// An upper bound on every fence that this grantor has seen, and on every lease that it gave.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FenceSeen {
    /// The incarnation that asked.
    pub asker: Inc,
    /// The Start of the question.
    pub start: Time,
    /// The bound on fences.
    pub seen: Fence,
    /// The bound on leases: the largest `delta_max` that this grantor ever had.
    pub delta_max: Duration,
    /// Whether it remembers everything, so that its word bounds what others forgot. If not, its
    /// directory is empty: it was lost, or the cluster is new.
    pub whole: bool,
    /// How much longer a leader that it has heard since it started may lead, on its clock.
    pub leader: Duration,
    /// Which memories it has written down, its own among them.
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

/// Where there is one: ` fence 7`.
pub(super) fn fmt_fence(fence: Option<Fence>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fence {
        Some(fence) => write!(f, " fence {fence}"),
        None => Ok(()),
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
        }
    }
}

/// A name behind a word, where there is one.
pub(super) struct Named<'a>(pub(super) &'a str, pub(super) Option<&'a NodeName>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(name) => write!(f, " {} {name}", self.0),
            None => Ok(()),
        }
    }
}
