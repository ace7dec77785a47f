//! What a node asks of its driver, beside what its handles ask.

use std::net::SocketAddr;

use tenure_core::ElectionName;
use tenure_core::nerio::Service;
use tokio::sync::{mpsc, oneshot};

use super::counters::Counters;
use super::keys::{KeyId, Keys};
use super::notice::Notice;
use super::proofs::Proof;
use super::seal::Peer;

/// A request of the node itself.
pub(super) enum Ask {
    Verify { election: ElectionName, leader: SocketAddr, reply: mpsc::UnboundedSender<Proof> },
    Counters(oneshot::Sender<Counters>),
    Service(oneshot::Sender<Option<Service>>),
    Disagreement(oneshot::Sender<Option<Notice>>),
    Keyring(oneshot::Sender<Option<(Vec<KeyId>, Vec<Peer>)>>),
    Rekey { keys: Keys, done: oneshot::Sender<()> },
}
