//! Errors of the start of a node, and of requests that only Nerio has.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::{CampaignError, SystemError};
use tenure_core::{ClusterName, ElectionName, NodeName, View};

use crate::state::MemoryError;
use crate::transport::UdpError;

/// The reason why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Transport(#[from] UdpError),
    #[error(transparent)]
    State(#[from] MemoryError),
    #[error("grantor {name} is not in the members list ({members})")]
    NotAMember { name: NodeName, members: String },
    #[error(
        "{name} is a member, and a process with its name must grant leases: give this node a \
         storage, or another name"
    )]
    IsAMember { name: NodeName },
    #[error("the key belongs to cluster {theirs}, and this node to cluster {ours}")]
    OtherCluster { theirs: ClusterName, ours: ClusterName },
    #[error(
        "grantor {name} has a key of application {application}, and only the key of the cluster \
         allows to grant: give {name} that key"
    )]
    NotAMembersKey { name: NodeName, application: NodeName },
    #[error(transparent)]
    System(#[from] SystemError),
}

/// The node was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the node is closed")]
pub struct NodeClosed;

/// The reason why no edict was created (section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no edict: the leadership is over")]
pub struct NotLeading;

/// The leadership was won by another participant, or by another protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no edicts: this node did not win that leadership")]
pub struct NotWonHere;

/// The reason why a leader could not be verified.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("{by} says that it does not lead {election}")]
    DoesNotLead { election: ElectionName, by: NodeName },
    #[error("no answer within {waited:?}")]
    NoAnswer { waited: Duration },
    #[error("the node has been closed")]
    Closed,
}

/// The reason why new keys did not take the place of the present ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RekeyError {
    #[error("the key belongs to another cluster or application")]
    Others,
    /// The keys accept unsealed datagrams, and the node has an address at which a start without
    /// keys is refused.
    #[error(
        "the keys permit datagrams without a key, and this process receives on {address}, which is \
         not a loopback address: remove accept-unsealed, or restart the process with \
         insecure_any_address"
    )]
    Unsealed { address: SocketAddr },
    #[error("the node has no keys, or has been closed")]
    NoKeys,
}

/// The reason why no leader was found (section 10.4).
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FindError {
    #[error("{election} has no leader after {waited:?}: {}", last.as_ref().map_or_else(
        || "no grantor answered".to_owned(), ToString::to_string))]
    NoLeader { election: ElectionName, waited: Duration, last: Option<View> },
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}
