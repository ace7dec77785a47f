//! Reports of a node to its operator.

use std::fmt;
use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::voter::{Mode, OwnEvent, VoterUrl};
use tenure_tls::TlsCause;

use crate::client::{FORGED, UNAUTHENTICATED};
use crate::incoming::Failure;

/// A report about a node, apart from its leaderships.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Another voter does not answer, or its answer cannot be used.
    Unreachable {
        url: VoterUrl,
        why: Arc<str>,
    },
    /// TLS with another voter failed: one of the two refuses the other's certificate, or the other
    /// voter does not speak TLS.
    NoTls {
        url: VoterUrl,
        why: TlsCause,
    },
    Reachable {
        url: VoterUrl,
    },
    /// A voter answers for another election or mode: the node ignores its answers.
    OtherNetwork {
        url: VoterUrl,
        election: ElectionName,
        mode: Mode,
    },
    /// This voter and another have different secrets, and one of them refuses the other's MAC.
    Unauthenticated {
        url: VoterUrl,
        why: Arc<str>,
    },
    /// The node cannot resolve the host name of the seeds, and tries again.
    Seeds {
        host: Arc<str>,
        why: Arc<str>,
    },
    /// The node cannot read a certificate or key anew, and goes on with the earlier one.
    Certificates {
        why: Arc<str>,
    },
    /// The node cannot write its state, or could not find the state at the next start. The node
    /// makes no promise that depends on the state, and tries again every second.
    NotWritten {
        why: Arc<str>,
    },
    /// The node has written its state after [`NotWritten`](Self::NotWritten).
    Written,
    Protocol {
        /// The election, if the event is about an election.
        election: Option<ElectionName>,
        event: OwnEvent,
    },
}

impl Notice {
    pub(crate) fn of(url: VoterUrl, Failure { label, why, tls }: Failure) -> Self {
        match (label, tls) {
            (_, Some(why)) => Self::NoTls { url, why },
            (FORGED | UNAUTHENTICATED, None) => Self::Unauthenticated { url, why },
            (_, None) => Self::Unreachable { url, why },
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { url, why } => write!(f, "{url} cannot be used: {why}"),
            Self::NoTls { url, why } => {
                write!(f, "{url} cannot be used: TLS failed: {why}")
            }
            Self::Unauthenticated { url, why } => write!(f, "{url} cannot be used: {why}"),
            Self::Reachable { url } => write!(f, "{url} answers again"),
            Self::OtherNetwork { url, election, mode } => {
                write!(f, "{url} elects a leader of {election} in the mode {mode}")
            }
            Self::Seeds { host, why } => write!(f, "seed host {host} cannot be resolved: {why}"),
            Self::Certificates { why } => {
                write!(f, "{why}; the certificates that were read before stay in use")
            }
            Self::NotWritten { why } => {
                write!(f, "{why}; this voter makes no promise before it can write")
            }
            Self::Written => f.write_str("the state directory can be written again"),
            Self::Protocol { election: Some(election), event } => {
                write!(f, "{election}: {}", event.sentence())
            }
            Self::Protocol { election: None, event } => event.sentence().fmt(f),
        }
    }
}
