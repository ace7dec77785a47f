//! Which elections there are, and who wants one, as the members of a protocol say.

use std::time::Duration;

use tenure::Time;
use tenure_core::{ElectionName, NodeName};

use super::members::Member;
use crate::failure::Failure;

/// What the members that answered say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing<T> {
    /// All that any of them knows.
    pub all: Vec<T>,
    /// Each member, in the order of their list, and how it does.
    pub members: Vec<Member>,
    /// The members that cannot say all that there is, and why.
    pub missing: Vec<String>,
    /// When the first of this was asked for.
    pub asked: Time,
    /// When all had answered: of then it is.
    pub at: Time,
    /// How the command ends where fewer than a quorum could say all.
    pub failure: Option<Failure>,
}

/// Who leads, as a quorum says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lead {
    /// Its name.
    pub id: NodeName,
    /// The fence of its leadership.
    pub fence: u64,
    /// Until when, unless it renews.
    pub until: Time,
    /// It leads no more, and nobody else does until then.
    pub leaving: Option<Time>,
}

/// A lease that a member has granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    /// Which one.
    pub member: NodeName,
    /// To whom.
    pub id: NodeName,
    /// The fence of a leadership, if that one has announced it.
    pub fence: Option<u64>,
    /// Until when; it may be over.
    pub until: Time,
}

/// An election that somebody holds or waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedElection {
    /// Its name.
    pub election: ElectionName,
    /// Who leads it, if a quorum says so.
    pub leader: Option<Lead>,
    /// What each member has granted.
    pub votes: Vec<Vote>,
    /// How many wait, at the member at which the most do.
    pub waiting: u16,
    /// When the oldest of this was asked for.
    pub asked: Time,
}

/// One that wants to lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedCandidate {
    /// Its name.
    pub id: NodeName,
    /// What tells it from others of this name.
    pub incarnation: String,
    /// As such it leads, if a quorum says so.
    pub lead: Option<Lead>,
    /// The higher goes first.
    pub priority: u8,
    /// The members that have granted it the lease.
    pub granted: Vec<NodeName>,
    /// Those whose grants have ended since they were asked.
    pub ended: Vec<NodeName>,
    /// The members at which it waits.
    pub waits_at: Vec<NodeName>,
    /// For how long at least it had waited, when a member said so.
    pub waited: Option<Duration>,
}
