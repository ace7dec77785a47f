//! What an application may ask of its node.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use crate::name::{NodeName, Value};

/// A request of the application, about one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Contend until elected, lost or resigned. One campaign for each election and node.
    Campaign {
        /// What others should know of the candidate when it leads.
        value: Value,
        /// The higher goes first among those who wait.
        priority: u8,
    },
    /// Stop contending or leading, now. Repeating it does nothing.
    Resign,
    /// Hand over to this candidate if it waits; keep leading if it does not.
    Transfer {
        /// Its name.
        to: NodeName,
        /// Only find out whether it waits, and keep leading.
        probe: bool,
    },
    /// Follow who leads, asking the grantors every so often.
    Observe {
        /// How often to ask.
        every: Duration,
    },
    /// No longer follow who leads.
    Unobserve,
    /// Ask a leader whether it leads (section 10.5).
    Verify {
        /// Where the leader is reached.
        leader: SocketAddr,
    },
}

impl fmt::Display for Command {
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
            Self::Verify { leader } => write!(f, "verify {leader}"),
        }
    }
}
