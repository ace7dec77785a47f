//! Why something did not happen, or is over.

use std::io;
use std::time::Duration;

use tenure_core::nerio::View;
use tenure_core::{ElectionName, NameError, NodeName};

use crate::state::StateError;
use crate::transport::UdpError;

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No socket.
    #[error(transparent)]
    Transport(#[from] UdpError),
    /// No state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A grantor that nobody would ask.
    #[error("{name} is to grant leases but is not in the members list ({members})")]
    NotAMember {
        /// The name given.
        name: NodeName,
        /// The names in the list.
        members: String,
    },
    /// A candidate must not be mistaken for a grantor.
    #[error(
        "{name} is a member, so it has to grant leases: give it a storage, or give this \
         candidate another name"
    )]
    IsAMember {
        /// The name given.
        name: NodeName,
    },
    /// The system refused something a node needs.
    #[error("cannot start a node: {doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a campaign ended without being won.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CampaignError {
    /// One campaign for each election and node.
    #[error(
        "this node campaigns in {election} or leads it already; wait for that to end, or use \
         another node"
    )]
    AlreadyCampaigning {
        /// The election.
        election: ElectionName,
    },
    /// Others could not be told this value.
    #[error(transparent)]
    Value(NameError),
    /// It was resigned from elsewhere.
    #[error("the campaign was withdrawn")]
    Withdrawn,
    /// The node was closed or its thread ended.
    #[error("the node has been closed")]
    Closed,
}

/// Why a leadership is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Loss {
    /// No quorum renewed the lease in time: the network, the grantors or this process stalled.
    #[error("the lease ran out before a quorum renewed it")]
    Expired,
    /// It was resigned.
    #[error("it was resigned")]
    Resigned,
    /// It was handed over to a named candidate.
    #[error("it was handed over")]
    Transferred,
    /// The node was closed or its thread ended.
    #[error("the node has been closed")]
    Closed,
}

/// Why a hand-over did not take place. The leadership goes on unless it says otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferError {
    /// Nobody of that name waits.
    #[error("no quorum of grantors knows {to} as waiting; it must be campaigning to take over")]
    NotWaiting {
        /// The name given.
        to: NodeName,
    },
    /// Another hand-over of this leadership was asked for meanwhile.
    #[error("another hand-over was asked for before this one was done")]
    Replaced,
    /// There is nothing to hand over.
    #[error("this node does not lead any more")]
    NotLeading,
}

/// Why no edict was created (Nerio, section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no edict: the leadership is over")]
pub struct NotLeading;

/// Why a leader could not be verified.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerifyError {
    /// The one who was asked says that it does not lead.
    #[error("{by} says that it does not lead {election}")]
    DoesNotLead {
        /// The election.
        election: ElectionName,
        /// Who answered.
        by: NodeName,
    },
    /// Nobody answered.
    #[error("no answer within {waited:?}")]
    NoAnswer {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The node was closed.
    #[error("the node has been closed")]
    Closed,
}

/// Why no leader was found (Nerio, section 10.4).
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FindError {
    /// Nobody leads, and this node could not win in time.
    #[error("nobody leads {election} after {waited:?}: {}", last.as_ref().map_or_else(
        || "no grantor answered".to_owned(), ToString::to_string))]
    NoLeader {
        /// The election.
        election: ElectionName,
        /// How long it was tried.
        waited: Duration,
        /// The last that was known.
        last: Option<View>,
    },
    /// The campaign failed.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}
