//! What an application may ask.

use core::fmt;

use crate::name::Value;

/// A request of the application, about one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Contend until elected, lost or resigned. One campaign for each election and process: the
    /// key is named by the lease, and the lease is the process's.
    Campaign {
        /// What others should know of the candidate.
        value: Value,
    },
    /// Tell others something else, from now on.
    Proclaim {
        /// The new value.
        value: Value,
    },
    /// Stop contending or leading, now. Repeating it does nothing.
    Resign,
    /// Follow who leads.
    Observe,
    /// No longer follow who leads.
    Unobserve,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Campaign { value } => write!(f, "campaign value {:?}", value.as_str()),
            Self::Proclaim { value } => write!(f, "proclaim {:?}", value.as_str()),
            Self::Resign => f.write_str("resign"),
            Self::Observe => f.write_str("observe"),
            Self::Unobserve => f.write_str("unobserve"),
        }
    }
}
