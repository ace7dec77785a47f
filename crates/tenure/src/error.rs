//! The reasons why requests fail, or leaderships end.

use std::io;

use tenure_core::{ElectionName, Loss, NameError, NodeName};

/// The system refused a resource that every node needs.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a node: {doing}")]
pub struct SystemError {
    pub doing: &'static str,
    pub source: io::Error,
}

/// The reason why a campaign ended without being won.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    #[error(
        "this node campaigns in {election} or leads it already; wait for that to end, or use \
         another node"
    )]
    AlreadyCampaigning { election: ElectionName },
    #[error(transparent)]
    Value(NameError),
    /// The candidate can never win, so waiting is useless. The store refuses the candidate or was
    /// replaced, or the election's name conflicts with another name.
    #[error("{why}")]
    Refused { why: String },
    /// The candidacy lost its lease, session or connection before it was won. Another campaign may
    /// win.
    #[error("the candidacy was lost: {0}")]
    Lost(Loss),
    #[error("the campaign was withdrawn")]
    Withdrawn,
    #[error("the node has been closed")]
    Closed,
}

/// The reason why a hand-over did not take place. The leadership goes on unless the error says
/// otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    #[error(
        "no quorum of grantors knows {to:?} as a waiting candidate; a candidate must campaign \
         before it can take over"
    )]
    NotWaiting { to: NodeName },
    #[error("a later hand-over of this leadership has replaced this one")]
    Replaced,
    #[error("this node does not lead any more")]
    NotLeading,
    #[error(
        "{protocol} cannot hand over to a named candidate; resign, and the next in order leads"
    )]
    Unsupported { protocol: &'static str },
}
