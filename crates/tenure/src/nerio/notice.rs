//! What an operator should hear of.

use std::fmt;
use std::net::SocketAddr;

use tenure_core::nerio::{Refusal, Who};
use tenure_core::{ElectionName, NodeName, Time};

/// Something that happened on a node beside its elections.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A peer runs with another configuration: another cluster, members list, quorum system,
    /// drift bound or longest lease. Nothing it sends is believed.
    Mismatch {
        /// The peer's name.
        peer: NodeName,
        /// Its address.
        address: SocketAddr,
        /// The digest of its configuration.
        theirs: u64,
        /// The digest of this node's.
        ours: u64,
    },
    /// This grantor grants from now on.
    Serving,
    /// This grantor lost its memory and grants nothing until every lease has ended.
    Quarantined {
        /// Until then on `CLOCK_BOOTTIME`.
        until: Time,
    },
    /// This grantor lost its memory and reads the fences of the others.
    Recovering,
    /// The state directory cannot be written. What could not be written is written again every
    /// second; said once, until [`DiskMended`](Self::DiskMended).
    DiskFailed {
        /// What failed, where, and what the system said.
        error: String,
    },
    /// Everything that could not be written is written.
    DiskMended,
    /// Two processes use one name at the same time.
    NameContested {
        /// The name.
        name: NodeName,
    },
    /// One life of a participant speaks from two addresses.
    AddressContested {
        /// Who.
        who: Who,
        /// The address that holds the grant.
        holder: SocketAddr,
        /// The other.
        other: SocketAddr,
    },
    /// A grantor refused this candidate for a reason that time alone does not mend.
    Obstacle {
        /// The election.
        election: ElectionName,
        /// The grantor.
        grantor: NodeName,
        /// Its reason.
        refusal: Refusal,
    },
    /// A grantor says that another process uses this candidate's name.
    NameShared {
        /// The election.
        election: ElectionName,
        /// The grantor.
        grantor: NodeName,
    },
    /// This grantor's grant of an election went to somebody else.
    Granted {
        /// The election.
        election: ElectionName,
        /// To whom.
        to: Who,
    },
    /// This grantor's grant of an election was given up.
    Freed {
        /// The election.
        election: ElectionName,
        /// By whom.
        by: Who,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { peer, address, theirs, ours } => write!(
                f,
                "{peer} at {address} runs with another configuration (digest {theirs:016x}, here \
                 {ours:016x}): cluster, members, quorums, drift and lease-max must be the same \
                 everywhere"
            ),
            Self::Serving => f.write_str("granting leases"),
            Self::Quarantined { until } => {
                let left = until.since(crate::clock::now());
                write!(f, "granting nothing for {left:.1?}, until every lease has ended")
            }
            Self::Recovering => f.write_str("reading the fences of the others"),
            Self::DiskFailed { error } => {
                write!(f, "{error}; requests are refused, and it is written again every second")
            }
            Self::DiskMended => f.write_str("the state directory can be written again"),
            Self::NameContested { name } => {
                write!(f, "two processes use the name {name} at the same time")
            }
            Self::AddressContested { who, holder, other } => {
                write!(f, "{who} speaks from {holder} and from {other}; the first is believed")
            }
            Self::Obstacle { election, grantor, refusal } => {
                write!(f, "{grantor} refuses this candidate for {election}: {refusal}")
            }
            Self::NameShared { election, grantor } => write!(
                f,
                "{grantor} says that another process uses this candidate's name for {election}"
            ),
            Self::Granted { election, to } => write!(f, "{election} granted to {to}"),
            Self::Freed { election, by } => write!(f, "{election} given up by {by}"),
        }
    }
}
