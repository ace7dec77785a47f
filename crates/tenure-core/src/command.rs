//! Requests of an application about any election.

use core::fmt::{self, Display};
use core::time::Duration;

use crate::name::{NodeName, Value};

/// A request of the application, about one election. `Extra` has the requests of one protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command<Extra> {
    /// Contend until this process loses or resigns. Each election has at most one campaign in a
    /// node.
    Campaign {
        value: Value,
        /// Rank among waiting candidates, the highest first, where the protocol has priorities.
        priority: u8,
    },
    /// Stop contending or leading, now. A repetition does nothing.
    Resign,
    /// Hand over to this candidate if it waits; otherwise keep leading. Protocols without a
    /// hand-over ignore this.
    Transfer {
        to: NodeName,
        /// Report whether the candidate waits, and keep leading.
        probe: bool,
    },
    Observe {
        /// Interval between queries, where other nodes do not report changes by themselves.
        every: Duration,
    },
    Unobserve,
    Extra(Extra),
}

impl<Extra: Display> Display for Command<Extra> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Campaign { value, priority } => {
                write!(f, "campaign value {:?} priority {priority}", value.as_str())
            }
            Self::Resign => f.write_str("resign"),
            Self::Transfer { to, probe: false } => write!(f, "transfer to {to}"),
            Self::Transfer { to, probe: true } => write!(f, "does {to} wait?"),
            Self::Observe { every } => write!(f, "observe every {every:?}"),
            Self::Unobserve => f.write_str("unobserve"),
            Self::Extra(extra) => extra.fmt(f),
        }
    }
}
