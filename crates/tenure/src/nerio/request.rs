//! What a node asks of its driver, beside what its handles ask.

use std::net::SocketAddr;

use tenure_core::nerio::Service;
use tenure_core::{ElectionName, NodeName};
use tokio::sync::{mpsc, oneshot};

use super::counters::Counters;
use super::keys::Keys;
use super::notice::Notice;
use super::proofs::Proof;
use super::seal::Keyring;

/// A request of the node itself.
pub(super) enum Ask {
    Verify { election: ElectionName, leader: SocketAddr, reply: mpsc::UnboundedSender<Proof> },
    Place { member: NodeName, reply: oneshot::Sender<Option<SocketAddr>> },
    Counters(oneshot::Sender<Counters>),
    Service(oneshot::Sender<Option<Service>>),
    Troubles(oneshot::Sender<Vec<Notice>>),
    Disagreement(oneshot::Sender<Option<Notice>>),
    Keyring(oneshot::Sender<Option<Keyring>>),
    Rekey { keys: Keys, done: oneshot::Sender<()> },
}
