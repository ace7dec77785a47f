//! Questions of a node to its driver, in addition to requests of its handles.

use std::net::SocketAddr;
use std::sync::Arc;

use tenure_core::nerio::{MemberClock, Membership, Service, WeakLeader, Who};
use tenure_core::{ElectionName, NodeName};
use tokio::sync::{mpsc, oneshot, watch};

use crate::counters::Counters;
use crate::keys::Keys;
use crate::notice::Notice;
use crate::seal::Keyring;
use crate::verifications::Proof;

/// The clocks of members, compared with the clock of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clocks {
    /// Members whose leases this node has asked for, since the start or the last
    /// [`clear_breach`](crate::Node::clear_breach).
    pub members: Vec<MemberClock>,
    /// Whether the node takes its own clock to be wrong, and neither leads nor grants.
    pub is_wrong: bool,
}

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
    OfClocks(ClockAsk),
    Keyring(oneshot::Sender<Option<Keyring>>),
    WeakLeaders(oneshot::Sender<watch::Receiver<Option<WeakLeader>>>),
    /// The process of this incarnation has ended, as this node has seen.
    Gone(Who),
    Rekey {
        keys: Keys,
        done: oneshot::Sender<()>,
    },
}

/// A question about clocks, or an order to compare them.
pub(crate) enum ClockAsk {
    Show(oneshot::Sender<Clocks>),
    /// Compare all clocks anew; answers whether the node had taken its own clock to be wrong.
    Clear(oneshot::Sender<bool>),
}
