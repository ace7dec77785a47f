//! What an operator should hear of.

use std::fmt;
use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::voter::{Mode, OwnEvent, VoterUrl};

use crate::client::{FORGED, NO_TLS, UNAUTHENTICATED};
use crate::incoming::Failure;

/// Something that happened beside the leaderships of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Another voter does not answer, or what it answers cannot be used.
    Unreachable {
        /// Where it is called.
        url: VoterUrl,
        /// What happened.
        why: Arc<str>,
    },
    /// TLS with another voter did not come about: a certificate is not believed, on one side or
    /// the other, or it speaks no TLS.
    NoTls {
        /// Where it is called.
        url: VoterUrl,
        /// What happened.
        why: Arc<str>,
    },
    /// It answers again.
    Reachable {
        /// Where it is called.
        url: VoterUrl,
    },
    /// One that was asked is of another election or mode, so what it says does not count.
    OtherNetwork {
        /// Where it is called.
        url: VoterUrl,
        /// Its election.
        election: ElectionName,
        /// Its mode.
        mode: Mode,
    },
    /// It does not believe who asks, or what it answers is not to be believed: the secrets differ.
    Unauthenticated {
        /// Where it is called.
        url: VoterUrl,
        /// What happened.
        why: Arc<str>,
    },
    /// The seeds' name cannot be resolved; it is tried again.
    Seeds {
        /// Which name.
        host: Arc<str>,
        /// What the resolver says.
        why: Arc<str>,
    },
    /// A certificate or key cannot be read anew; the earlier one stays in use.
    Certificates {
        /// What is wrong.
        why: Arc<str>,
    },
    /// What must not be forgotten cannot be written, or would not be found again. This voter
    /// promises nothing that rests on it, and tries again every second.
    NotWritten {
        /// Why not.
        why: Arc<str>,
    },
    /// It was written.
    Written,
    /// What the protocol itself tells.
    Protocol {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What.
        event: OwnEvent,
    },
}

impl Notice {
    /// A request to that one came to nothing.
    pub(crate) fn of(url: VoterUrl, Failure { label, why }: Failure) -> Self {
        match label {
            NO_TLS => Self::NoTls { url, why },
            FORGED | UNAUTHENTICATED => Self::Unauthenticated { url, why },
            _ => Self::Unreachable { url, why },
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { url, why } => write!(f, "{url} cannot be used: {why}"),
            Self::NoTls { url, why } => {
                write!(f, "{url} cannot be used: TLS did not come about: {why}")
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
            Self::NotWritten { why } => write!(f, "{why}; nothing is promised that rests on it"),
            Self::Written => f.write_str("the state directory can be written again"),
            Self::Protocol { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Protocol { election: None, event } => event.fmt(f),
        }
    }
}
