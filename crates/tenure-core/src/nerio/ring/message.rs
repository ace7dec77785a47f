//! Messages of the ring.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::body::WordAndName;
use super::super::identity::{Inc, Instance};
use crate::name::NodeName;
use crate::time::Time;

/// A question whether the recipient lives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Ping {
    /// Time of the question on the asker's clock.
    pub start: Time,
}

/// The answer to a ping. Members without a ring send none.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pong {
    pub asker: Inc,
    pub start: Time,
    pub instance: Instance,
    /// Weak leader of the partition in which the sender sees itself.
    pub weak: Option<NodeName>,
}

impl fmt::Display for Ping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ping start {}", self.start)
    }
}

impl fmt::Display for Pong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weak = WordAndName("weak leader", self.weak.as_ref());
        write!(f, "pong start {}{weak}", self.start)
    }
}
