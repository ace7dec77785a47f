//! Notices about peers whose keys do not fit, by name and not too often.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::nerio::Sender;
use tenure_core::{NodeName, Time};

use crate::keys::{Grant, KeyId};
use crate::notice::Notice;
use crate::places::Places;
use crate::seal::{Authority, DropReason, is_sealed};

/// Shortest time between two notices that may reach the log. Any process can forge datagrams that
/// cause such notices. So within this time only one of these datagrams costs more than its check.
const BETWEEN: Duration = Duration::from_millis(100);

/// Troubles with the key of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyTrouble {
    /// The peer uses a key that this node does not accept.
    Other(KeyId),
    /// The peer has no key, and this node has one.
    Unsealed,
    /// The peer has a key, and this node has none.
    Sealed,
    /// The peer sent a message that its key does not allow.
    Rights { grant: Arc<Grant> },
}

impl fmt::Display for KeyTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(key) => write!(
                f,
                "uses the key {key}, which this node does not accept: if that key is of this \
                 cluster, put it into the key file of this node, too, below the node's own key; \
                 else give that process another key"
            ),
            Self::Unsealed => f.write_str(
                "sends without a key, and this node demands one: give that process a key; if it \
                 has a key, accept-unsealed must be in the key files of both, or of neither",
            ),
            Self::Sealed => {
                f.write_str("uses a key, and this node has none: give this node one, too")
            }
            Self::Rights { grant } => {
                write!(f, "asked for more than its key, of the application {grant}, allows")
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct KeyTroubles {
    told: [Option<Time>; 2],
}

impl KeyTroubles {
    /// The notice about a datagram that could not be opened, of a sender with this name.
    pub(crate) fn unopened(
        &mut self,
        now: Time,
        address: SocketAddr,
        dropped: DropReason,
        name: impl FnOnce() -> Option<NodeName>,
        places: &Places,
    ) -> Option<Notice> {
        let why = match dropped {
            DropReason::OtherKey(key) => KeyTrouble::Other(key),
            DropReason::Unsealed => KeyTrouble::Unsealed,
            _ => return None,
        };
        self.tell(now, address, places, || (name(), why))
    }

    /// The notice about a datagram of another version, at a node without a key.
    pub(crate) fn version(
        &mut self,
        now: Time,
        address: SocketAddr,
        version: u8,
        places: &Places,
    ) -> Option<Notice> {
        let sealed = is_sealed(version);
        sealed.then(|| self.tell(now, address, places, || (None, KeyTrouble::Sealed)))?
    }

    pub(crate) fn rights(
        &mut self,
        now: Time,
        from: &Sender,
        by: Option<&Authority>,
        places: &Places,
    ) -> Option<Notice> {
        let Some(Authority::Application(grant)) = by else { return None };
        self.tell(now, from.address, places, || {
            (Some(from.who.name.clone()), KeyTrouble::Rights { grant: Arc::clone(grant) })
        })
    }

    fn tell(
        &mut self,
        now: Time,
        address: SocketAddr,
        places: &Places,
        what: impl FnOnce() -> (Option<NodeName>, KeyTrouble),
    ) -> Option<Notice> {
        let member = places.at(address);
        let told = &mut self.told[usize::from(member.is_some())];
        if told.is_some_and(|at| now.since(at) < BETWEEN) {
            return None;
        }
        *told = Some(now);
        let (name, why) = what();
        let peer = member.cloned().or(name);
        Some(Notice::Key { peer, address, is_member: member.is_some(), why })
    }
}
