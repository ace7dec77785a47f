//! Requests of an application about any election.

use core::fmt::{self, Display};
use core::time::Duration;

use crate::name::{NodeName, Value};

/// A request of the application, about one election. `Extra` has the requests of one protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command<Extra> {
    /// Contend until elected, lost or resigned. Each election has at most one campaign in a node.
    Campaign {
        /// The value that others see when the candidate leads.
        value: Value,
        /// The higher goes first among those who wait, where the protocol can do so.
        priority: u8,
    },
    /// Stop contending or leading, now. Repeating it does nothing.
    Resign,
    /// Hand over to this candidate if it waits; keep leading if it does not. Ignored where the
    /// protocol cannot do so.
    Transfer {
        /// The name of the candidate.
        to: NodeName,
        /// Only find out whether it waits, and keep leading.
        probe: bool,
    },
    /// Follow who leads.
    Observe {
        /// How often to ask, where others do not report changes by themselves.
        every: Duration,
    },
    /// No longer follow who leads.
    Unobserve,
    /// A request that only this protocol offers.
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
