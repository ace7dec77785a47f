//! Reports of a node to its operator.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::OwnEvent;

use crate::endpoint::Endpoint;
use crate::version::Version;

/// A report about a node, apart from its elections.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The node uses this endpoint from now on.
    Connected {
        endpoint: Endpoint,
        cluster: u64,
        member: u64,
        /// Version of etcd that the member runs.
        version: Version,
    },
    /// The member in use lacks a fix that candidates of other programs need: see
    /// [`Version::has_stalled_leader_fix`].
    EarlyRevocation {
        endpoint: Endpoint,
        /// Version of etcd that the member runs.
        version: Version,
    },
    /// The node has a new login at the endpoint in use, without an interruption.
    LoggedIn {
        endpoint: Endpoint,
        /// etcd's reason to refuse the earlier login; `None` if the earlier login was still good.
        why: Option<Arc<str>>,
    },
    /// The node failed to log in anew at the endpoint in use before the present login ends. The
    /// node tries again.
    NotLoggedIn { endpoint: Endpoint, why: Arc<str> },
    /// The node no longer uses this endpoint, and tries the next one.
    Disconnected { endpoint: Endpoint, why: Arc<str> },
    /// The node could not use this endpoint, and tries the next one.
    Unreachable { endpoint: Endpoint, why: Arc<str> },
    /// The node cannot observe this election: its observers end.
    NotObserved { election: ElectionName, why: Arc<str> },
    /// The endpoints now lead to another cluster than at the start. The node ignores the answers of
    /// that cluster.
    OtherCluster {
        /// Time for which every endpoint has answered for that other cluster.
        lasting: Duration,
    },
    Protocol {
        /// The election, if the event is about an election.
        election: Option<ElectionName>,
        event: OwnEvent,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { endpoint, member, version, .. } => {
                write!(f, "connected to {endpoint}, member {member:x} with etcd {version}")
            }
            Self::EarlyRevocation { endpoint, version } => write!(
                f,
                "{endpoint} runs etcd {version}: a leader of etcd that is stuck on its disk may \
                 end leases too early. This process moves its keys to a new lease, but candidates \
                 of other programs may lead on without a lease; upgrade to 3.4.31, 3.5.13, 3.6 \
                 or newer"
            ),
            Self::LoggedIn { endpoint, why: Some(why) } => {
                write!(f, "logged in again at {endpoint}: {why}")
            }
            Self::LoggedIn { endpoint, why: None } => {
                write!(f, "logged in again at {endpoint}, before the token ends")
            }
            Self::NotLoggedIn { why, .. } => {
                write!(f, "{why}; the earlier token is still good, and the node tries again")
            }
            Self::Disconnected { endpoint, why } => {
                write!(f, "disconnected from {endpoint}: {why}")
            }
            // The reason already names the endpoint.
            Self::Unreachable { why, .. } => f.write_str(why),
            Self::NotObserved { election, why } => {
                write!(f, "{election} cannot be observed: {why}")
            }
            Self::OtherCluster { .. } => f.write_str(
                "another etcd cluster answers than at the start: check the endpoints; after a \
                 restore with a new token, start this process again",
            ),
            Self::Protocol { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Protocol { election: None, event } => event.fmt(f),
        }
    }
}
