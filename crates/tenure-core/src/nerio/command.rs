//! Requests of an application to its node.

use core::fmt;
use core::net::SocketAddr;

/// A request of the application, about one election.
pub type Command = crate::Command<Extra>;

/// Requests that only Nerio offers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// Ask a leader whether it leads (section 10.5).
    Verify { leader: SocketAddr },
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verify { leader } => write!(f, "verify {leader}"),
        }
    }
}
