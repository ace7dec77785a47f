//! Why something did not happen, or is over.

use std::io;

use tenure_core::{ElectionName, Loss, NameError, NodeName};

/// The system refused something that every node needs.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a node: {doing}")]
pub struct SystemError {
    /// The step that failed.
    pub doing: &'static str,
    /// The error of the system.
    pub source: io::Error,
}

/// Why a campaign ended without being won.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum CampaignError {
    /// A participant has at most one campaign for each election.
    #[error(
        "this node campaigns in {election} or leads it already; wait for that to end, or use \
         another node"
    )]
    AlreadyCampaigning { election: ElectionName },
    /// The value cannot be published.
    #[error(transparent)]
    Value(NameError),
    /// This candidate can never win, so waiting is of no use: the store does not permit it, or
    /// is not the one it was, or the election's name is in conflict with another one.
    #[error("{why}")]
    Refused { why: String },
    /// The candidacy lost its lease, session or connection before it was won. Another campaign may
    /// win.
    #[error("the candidacy was lost: {0}")]
    Lost(Loss),
    #[error("the campaign was withdrawn")]
    Withdrawn,
    /// The node was closed or its thread ended.
    #[error("the node has been closed")]
    Closed,
}

/// Why a hand-over did not take place. The leadership goes on unless it says otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum TransferError {
    #[error(
        "no quorum of grantors knows {to} as a waiting candidate; {to} must campaign before it \
             can take over"
    )]
    NotWaiting { to: NodeName },
    /// A later hand-over of this leadership was asked for.
    #[error("a later hand-over of this leadership has replaced this one")]
    Replaced,
    #[error("this node does not lead any more")]
    NotLeading,
    /// The protocol has no hand-over to a named candidate.
    #[error(
        "{protocol} cannot hand over to a named candidate; resign, and the next in order leads"
    )]
    Unsupported { protocol: &'static str },
}
