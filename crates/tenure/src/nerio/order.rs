//! What reaches the driver from its handles.

use std::net::SocketAddr;

use tenure_core::ElectionName;
use tenure_core::nerio::Service;
use tokio::sync::{mpsc, oneshot};

use super::counters::Counters;
use super::notice::Notice;
use super::proofs::Proof;
use crate::driver;
use crate::kind::AtMostOne;

/// A request of a handle or of the node itself.
pub(super) enum Order {
    Handle(driver::Order<AtMostOne>),
    Verify { election: ElectionName, leader: SocketAddr, reply: mpsc::UnboundedSender<Proof> },
    Counters(oneshot::Sender<Counters>),
    Service(oneshot::Sender<Option<Service>>),
    Disagreement(oneshot::Sender<Option<Notice>>),
    Close(oneshot::Sender<()>),
}
