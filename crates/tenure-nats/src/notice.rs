//! Reports of a node to its operator.

use std::fmt;
use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::allcall::OwnEvent;

use crate::bus::ConnectError;
use crate::server::Server;

/// A report about a node, apart from its elections.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The node uses this server from now on.
    Connected {
        server: Server,
        name: Arc<str>,
        /// Version of NATS that the server runs.
        version: Arc<str>,
    },
    /// The node no longer uses this server, and tries the next one.
    Disconnected { server: Server, why: Arc<str> },
    /// The node could not use this server, and tries the next one.
    Unreachable { server: Server, error: ConnectError },
    /// The server in use is about to end, and the list has other servers: the node goes to the next
    /// one.
    Leaving { server: Server },
    /// The server in use refuses a request, for example for a subject without permission. Without
    /// this permission rounds are void: the node does not lead, and does not know the leader.
    Denied { server: Server, said: Arc<str> },
    /// The server in use reports an error that is neither about a right nor about the login, such
    /// as a stale connection.
    Complains { server: Server, said: Arc<str> },
    /// The server in use no longer accepts this login, and ends the connection. The node reads the
    /// files of the login again, and logs in at the next server.
    LoggedOut { server: Server, said: Arc<str> },
    /// More messages come in than this node can read, and some were lost.
    Overrun { server: Server },
    Protocol {
        /// The election, if the event is about an election.
        election: Option<ElectionName>,
        event: OwnEvent,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { server, name, version } => {
                write!(f, "connected to {server}, {name} with NATS {version}")
            }
            Self::Disconnected { server, why } => write!(f, "disconnected from {server}: {why}"),
            Self::Unreachable { server, error } => write!(f, "{server} cannot be used: {error}"),
            Self::Leaving { server } => {
                write!(f, "{server} is about to end: this node goes to the next server")
            }
            Self::Denied { server, said } => write!(
                f,
                "{server} denies a right that this login needs: {said}; docs/howto/nats.md lists \
                 the permissions of participants and askers"
            ),
            Self::Complains { server, said } => write!(f, "{server} says: {said}"),
            Self::LoggedOut { server, said } => {
                write!(f, "{server} does not accept this login any more: {said}")
            }
            Self::Overrun { server } => write!(
                f,
                "{server} sends more messages than this node can read, and some are lost: rounds \
                 may be void; check which other clients publish on these subjects, or set fewer \
                 callers"
            ),
            Self::Protocol { election, event } => event.sentence(election.as_ref()).fmt(f),
        }
    }
}
