//! What an operator should hear of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::OwnEvent;

use crate::endpoint::Endpoint;
use crate::version::Version;

/// Something that happened beside the elections of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// This endpoint is in use from now on.
    Connected {
        /// The endpoint.
        endpoint: Endpoint,
        /// The id of its cluster.
        cluster: u64,
        /// The id of the member behind it.
        member: u64,
        /// What it runs.
        version: Version,
    },
    /// The member in use lacks a fix that candidates of other programs need: see
    /// [`Version::has_stalled_leader_fix`].
    EarlyRevocation {
        /// The endpoint.
        endpoint: Endpoint,
        /// What it runs.
        version: Version,
    },
    /// There is a new login at the endpoint in use. Nothing was interrupted.
    LoggedIn {
        /// The endpoint.
        endpoint: Endpoint,
        /// What etcd said of the login before; `None` if that was good still.
        why: Option<Arc<str>>,
    },
    /// The login at the endpoint in use is to be made anew before it ends, and was not. It is tried
    /// again.
    NotLoggedIn {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// This endpoint is not used any more; the next one is tried.
    Disconnected {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// This endpoint could not be used; the next one is tried.
    Unreachable {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// An election cannot be observed by this node: its observers are told that nothing follows.
    NotObserved {
        /// The election.
        election: ElectionName,
        /// What stands against it, and what to do.
        why: Arc<str>,
    },
    /// Another cluster answers than at the start; its words are not heard.
    OtherCluster {
        /// For how long nobody else has answered, and every endpoint has.
        lasting: Duration,
    },
    /// The core reports this event.
    Protocol {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What.
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
                "{endpoint} runs etcd {version}, of which a leader that is stuck on its disk may \
                 end leases too early: this process moves its keys to a new one, but candidates \
                 of other programs may lead on without theirs; upgrade to 3.4.31, 3.5.13, 3.6 or \
                 newer"
            ),
            Self::LoggedIn { endpoint, why: Some(why) } => {
                write!(f, "logged in again at {endpoint}: {why}")
            }
            Self::LoggedIn { endpoint, why: None } => {
                write!(f, "logged in again at {endpoint}, before the token ends")
            }
            Self::NotLoggedIn { why, .. } => {
                write!(f, "{why}; the token before is good still, and a new one is tried for again")
            }
            Self::Disconnected { endpoint, why } => {
                write!(f, "disconnected from {endpoint}: {why}")
            }
            // It names the endpoint itself.
            Self::Unreachable { why, .. } => f.write_str(why),
            Self::NotObserved { election, why } => {
                write!(f, "{election} cannot be observed: {why}")
            }
            Self::OtherCluster { .. } => f.write_str(
                "another etcd cluster answers than at the start: look at the endpoints; after a \
                 restore with a new token, start this process again",
            ),
            Self::Protocol { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Protocol { election: None, event } => event.fmt(f),
        }
    }
}
