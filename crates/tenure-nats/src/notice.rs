//! What an operator should hear of.

use std::fmt;
use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::allcall::OwnEvent;

use crate::bus::ConnectError;
use crate::server::Server;

/// Something that happened beside the elections of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// This server is in use from now on.
    Connected {
        /// The server.
        server: Server,
        /// What it calls itself.
        name: Arc<str>,
        /// What it runs.
        version: Arc<str>,
    },
    /// This server is not used any more; the next one is tried.
    Disconnected {
        /// The server.
        server: Server,
        /// What happened.
        why: Arc<str>,
    },
    /// This server could not be used; the next one is tried.
    Unreachable {
        /// The server.
        server: Server,
        /// What happened.
        error: ConnectError,
    },
    /// The server in use is about to end, and others are in the list: one of them is used instead.
    Leaving {
        /// The server.
        server: Server,
    },
    /// The server in use refuses something, such as a subject for which the login has no
    /// permission. Without it rounds are void, and this node neither leads nor sees who does.
    Denied {
        /// The server.
        server: Server,
        /// What it said.
        said: Arc<str>,
    },
    /// The server in use says that something is wrong that is neither a right nor the login, as
    /// that the connection is stale.
    Complains {
        /// The server.
        server: Server,
        /// What it said.
        said: Arc<str>,
    },
    /// The server in use does not accept this login any more, and ends the connection. The login
    /// is made anew with the next one: its files may hold another by then.
    LoggedOut {
        /// The server.
        server: Server,
        /// What it said.
        said: Arc<str>,
    },
    /// More comes in than this node can read, and some of it was lost.
    Overrun {
        /// The server.
        server: Server,
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
            Self::Connected { server, name, version } => {
                write!(f, "connected to {server}, {name} with NATS {version}")
            }
            Self::Disconnected { server, why } => write!(f, "disconnected from {server}: {why}"),
            Self::Unreachable { server, error } => write!(f, "{server} cannot be used: {error}"),
            Self::Leaving { server } => {
                write!(f, "{server} says that it is about to end: going to the next one")
            }
            Self::Denied { server, said } => write!(
                f,
                "{server} denies this login a right that it needs: {said}; see the permissions \
                 that participants and askers need in docs/operations.md"
            ),
            Self::Complains { server, said } => write!(f, "{server} says: {said}"),
            Self::LoggedOut { server, said } => {
                write!(f, "{server} does not accept this login any more: {said}")
            }
            Self::Overrun { server } => write!(
                f,
                "more comes in from {server} than can be read, and some is lost: rounds may be \
                 void; look for a stranger on these subjects, or use few callers"
            ),
            Self::Protocol { election, event } => event.sentence(election.as_ref()).fmt(f),
        }
    }
}
