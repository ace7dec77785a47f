//! Questions of a node to its driver, in addition to requests of its handles.

use std::net::SocketAddr;
use std::sync::Arc;

use tenure_core::nerio::{Membership, Service, WeakLeader, Who};
use tenure_core::{ElectionName, NodeName};
use tokio::sync::{mpsc, oneshot, watch};

use crate::counters::Counters;
use crate::keys::Keys;
use crate::notice::Notice;
use crate::seal::Keyring;
use crate::verifications::Proof;

/// A request of the node itself.
pub(crate) enum Ask {
    Verify {
        election: ElectionName,
        leader: SocketAddr,
        reply: mpsc::UnboundedSender<Proof>,
    },
    Place {
        member: NodeName,
        reply: oneshot::Sender<Option<SocketAddr>>,
    },
    Counters(oneshot::Sender<Counters>),
    Service(oneshot::Sender<Option<Service>>),
    Membership(oneshot::Sender<Arc<Membership>>),
    Troubles(oneshot::Sender<Vec<Notice>>),
    Disagreement(oneshot::Sender<Option<Notice>>),
    Keyring(oneshot::Sender<Option<Keyring>>),
    WeakLeaders(oneshot::Sender<watch::Receiver<Option<WeakLeader>>>),
    /// The process of this incarnation has ended, as this node has seen.
    Gone(Who),
    Rekey {
        keys: Keys,
        done: oneshot::Sender<()>,
    },
}
