//! What handles ask of the driver, and what it tells them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::nerio::{QuorumTimestamp, View, Who};
use tenure_core::{ElectionName, Fence, NodeName, Time, Value};
use tokio::sync::{oneshot, watch};

use super::counters::Counters;
use crate::cell::ClaimCell;
use crate::error::{Loss, TransferError};

/// Names one campaign and what becomes of it, among all of a node.
pub(crate) type SeatId = u64;

/// A request of a handle.
pub(crate) enum Order {
    Campaign {
        election: ElectionName,
        seat: SeatId,
        value: Value,
        priority: u8,
        reply: oneshot::Sender<Result<Won, Taken>>,
    },
    Resign {
        election: ElectionName,
        seat: SeatId,
    },
    Transfer {
        election: ElectionName,
        seat: SeatId,
        to: NodeName,
        probe: bool,
        reply: oneshot::Sender<Result<(), TransferError>>,
    },
    Observe {
        election: ElectionName,
        every: Duration,
        reply: oneshot::Sender<watch::Receiver<Sight>>,
    },
    Verify {
        election: ElectionName,
        leader: SocketAddr,
        reply: oneshot::Sender<Proof>,
    },
    Counters(oneshot::Sender<Counters>),
    Close(oneshot::Sender<()>),
}

/// This node campaigns in this election already.
pub(crate) struct Taken;

/// A won election.
pub(crate) struct Won {
    pub(crate) who: Who,
    pub(crate) cell: Arc<ClaimCell>,
    pub(crate) fence: Fence,
    pub(crate) timestamp: QuorumTimestamp,
    pub(crate) progress: watch::Receiver<Progress>,
}

/// How far a leadership has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// A lease of full length was obtained.
    pub(crate) settled: bool,
    /// Until when the claim holds, as last raised.
    pub(crate) until: Time,
    /// It is over.
    pub(crate) ended: Option<Loss>,
    /// A quorum of grantors knows that it is over, or the lease has run out.
    pub(crate) released: bool,
}

/// What an observer sees, with a number that grows with each change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    pub(crate) change: u64,
    pub(crate) view: Option<View>,
}

/// The answer to a verification.
pub(crate) enum Proof {
    Leads { who: Who, until: Time, fence: Option<Fence> },
    DoesNotLead { by: Who },
}
