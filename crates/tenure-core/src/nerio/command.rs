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
    /// The clocks of this node and of the members have been set right: compare them anew. The
    /// command concerns the node, whatever its election is.
    ClearBreach,
    /// Stop leading: a handle has found that the claim has lapsed. Work under the claim may still
    /// use its grace.
    Lapsed,
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verify { leader } => write!(f, "verify {leader}"),
            Self::ClearBreach => f.write_str("clear breach"),
            Self::Lapsed => f.write_str("lapsed"),
        }
    }
}
