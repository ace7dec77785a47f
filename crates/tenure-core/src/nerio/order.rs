//! What ends a leadership by order from elsewhere: the order, and what a grantor makes of it.
//!
//! Nothing is decided by it. A grantor passes an order on to the holder of its grant, and the
//! holder reports it: whoever uses the node ends the leadership, or goes on.

use core::fmt;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::body::Named;
use super::identity::Inc;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// Somebody to a grantor: the leadership with this fence is to end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The election.
    pub election: ElectionName,
    /// Names the question in the answer.
    pub start: Time,
    /// Names the order, drawn at random: repetitions have the same, through whichever grantor.
    pub number: u64,
    /// The leadership that is to end, and no other.
    pub fence: Fence,
    /// Who is to lead next; whoever wins, if that is nobody.
    pub next: Option<NodeName>,
}

/// What a grantor did with an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Passed {
    /// It told the holder of its grant, which may obey or not.
    On,
    /// Its grant is not held with that fence, or the holder has said that it leads no more.
    NotHeld,
    /// Where datagrams are not sealed it obeys nobody from other machines.
    Unsealed,
}

/// Grantor to the one that gave an order: what came of it here.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Ordered {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that gave the order.
    pub asker: Inc,
    /// The Start of the order.
    pub start: Time,
    /// What came of it.
    pub passed: Passed,
}

/// Grantor to the holder of its grant: somebody who may orders you to end your leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct StepDown {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that holds the grant: no other one obeys.
    pub holder: Inc,
    /// The leadership that is to end, and no other.
    pub fence: Fence,
    /// Who is to lead next, if that was said.
    pub next: Option<NodeName>,
    /// The number of the order.
    pub number: u64,
    /// From where the order came.
    pub from: SocketAddr,
}

impl Passed {
    /// In a word.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::On => "passed on",
            Self::NotHeld => "not held",
            Self::Unsealed => "unsealed",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = Named("next", self.next.as_ref());
        let Self { election, fence, number, start, .. } = self;
        write!(f, "order {number} {election} fence {fence} start {start}{next}")
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ordered {} start {} {}", self.election, self.start, self.passed.label())
    }
}

impl fmt::Display for StepDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = Named("next", self.next.as_ref());
        let Self { election, fence, number, .. } = self;
        write!(f, "step down {election} fence {fence} by order {number}{next}")
    }
}
