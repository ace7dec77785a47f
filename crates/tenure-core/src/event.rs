//! Events of every election.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt::{self, Display};

use crate::fence::Fence;
use crate::name::NodeName;
use crate::view::View;
use crate::waiting::Waiting;

/// An event of an election. `Own` has the events of one protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event<Own> {
    /// This process leads the election. The claim was raised just before.
    Elected {
        /// Name of this leader for others: [`LeaderView::id`](crate::LeaderView::id).
        id: Arc<str>,
        /// Fence of the leadership, where the protocol orders leaders.
        fence: Option<Fence>,
    },
    /// The leadership holds a lease of full length: long work may begin.
    Settled,
    /// The reason why the campaign waits, or why a leader's lease is not renewed in time.
    Waiting(Waiting),
    /// The leadership or the campaign is over. [`Released`](Self::Released) follows.
    Ended(End),
    /// Other nodes know of the end, or the lease has run out.
    Released,
    /// A transfer to this waiting candidate can begin.
    SuccessorWaits {
        to: NodeName,
    },
    /// A transfer did not take place; the leadership goes on.
    TransferFailed {
        to: NodeName,
        why: TransferFailure,
    },
    /// A new view. Emitted also when only the leader's lease has changed, or only the time at which
    /// the leader was last heard. Boxed, because the other events are small, and events are moved
    /// at every step.
    View(Box<View>),
    /// The observer may have missed states between the last view and the next one.
    Gap,
    NotObserved {
        /// The reason, and a remedy.
        why: Arc<str>,
    },
    Own(Own),
}

/// The reason why a leadership or a campaign is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum End {
    Lost(Loss),
    /// The campaign was withdrawn before it won.
    Withdrawn,
    /// The campaign can never be won.
    Refused {
        /// The reason, and a remedy.
        why: Arc<str>,
    },
}

/// The reason why a leadership is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// The lease was not renewed in time: the network, its grantors or this process stalled.
    #[error("the lease ran out before it was renewed")]
    Expired,
    #[error("the leader resigned")]
    Resigned,
    #[error("the leader handed over")]
    Transferred,
    #[error(
        "another program deleted the key or the lease in the store, or revoked permission to them"
    )]
    Revoked,
    /// Fences from before and after the change may be out of order.
    #[error("the store was restored from a backup, replaced or changed")]
    Reset,
    /// The lease may have lasted longer here than at the nodes that granted it.
    #[error("this node's clock runs faster or slower than those of too many members")]
    Clock,
    #[error("another leader takes precedence over this one")]
    Superseded,
    #[error("the partition was assigned to another process")]
    Reassigned,
    #[error("the node has been closed")]
    Closed,
}

/// The reason why a transfer did not take place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransferFailure {
    /// The candidate is not known to wait.
    NotWaiting,
    NotLeading,
    /// A later transfer took its place.
    Replaced,
}

impl<Own> From<Own> for Event<Own> {
    fn from(own: Own) -> Self {
        Self::Own(own)
    }
}

impl<Own: Display> Display for Event<Own> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elected { id, fence: Some(fence) } => write!(f, "elected {id} fence {fence}"),
            Self::Elected { id, fence: None } => write!(f, "elected {id}"),
            Self::Settled => f.write_str("settled"),
            Self::Waiting(waiting) => write!(f, "waiting: {waiting}"),
            Self::Ended(end) => write!(f, "ended: {end}"),
            Self::Released => f.write_str("released"),
            Self::SuccessorWaits { to } => write!(f, "{to} waits"),
            Self::TransferFailed { to, why } => write!(f, "no transfer to {to}: {why}"),
            Self::View(view) => view.fmt(f),
            Self::Gap => f.write_str("gap"),
            Self::NotObserved { why } => write!(f, "not observed: {why}"),
            Self::Own(own) => own.fmt(f),
        }
    }
}

impl Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(loss) => loss.fmt(f),
            Self::Withdrawn => f.write_str("the campaign was withdrawn"),
            Self::Refused { why } => f.write_str(why),
        }
    }
}

impl Display for TransferFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWaiting => "that candidate is not known to wait",
            Self::NotLeading => "this node does not lead",
            Self::Replaced => "a later transfer took its place",
        })
    }
}
