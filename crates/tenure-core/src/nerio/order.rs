//! Orders to end a leadership: the order, and its handling by a grantor.
//!
//! An order decides nothing. A grantor passes it on to the holder of its grant, and the holder
//! reports it: the application ends the leadership, or goes on.

use core::fmt;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::body::WordAndName;
use super::identity::Inc;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// Authorized sender to grantor: the leadership with this fence is to end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Order {
    pub election: ElectionName,
    pub start: Time,
    /// Random number of the order: repetitions to any grantor carry the same number.
    pub number: u64,
    /// Fence of the only leadership that the order may end.
    pub fence: Fence,
    /// Next leader; `None` for any candidate that wins.
    pub next: Option<NodeName>,
}

/// A grantor's handling of an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Passed {
    /// The grantor passed the order on to the holder of its grant, which may obey or not.
    On,
    /// The grant is not held with that fence, or the holder has reported that it no longer leads.
    NotHeld,
    /// Without keys a grantor obeys no order from other machines.
    Unsealed,
}

/// Grantor to the sender of an order: the outcome here.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Ordered {
    pub election: ElectionName,
    pub asker: Inc,
    pub start: Time,
    pub passed: Passed,
}

/// Grantor to the holder of its grant: an authorized sender orders you to end your leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct StepDown {
    pub election: ElectionName,
    /// Incarnation that holds the grant: no other incarnation obeys.
    pub holder: Inc,
    pub fence: Fence,
    pub next: Option<NodeName>,
    pub number: u64,
    pub from: SocketAddr,
}

impl Passed {
    /// The outcome as a label.
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
        let next = WordAndName("next", self.next.as_ref());
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
        let next = WordAndName("next", self.next.as_ref());
        let Self { election, fence, number, .. } = self;
        write!(f, "step down {election} fence {fence} by order {number}{next}")
    }
}
