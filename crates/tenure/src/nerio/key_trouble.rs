//! Peers whose keys do not fit, told by name and not too often.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Checked, Sender};
use tenure_core::{NodeName, Time};

use super::keys::{Elections, KeyId};
use super::notice::Notice;
use super::seal::{Authority, Dropped, is_sealed};

/// Between two that are worth a look at the log; of what others may forge only one in that time
/// costs more than its check.
const BETWEEN: Duration = Duration::from_millis(100);

/// What is the matter with the key of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyTrouble {
    /// It uses a key that this node does not accept.
    Other(KeyId),
    /// It has no key, and this node has one.
    Unsealed,
    /// It has a key, and this node has none.
    Sealed,
    /// It asked for what its key does not allow.
    Rights {
        /// Whose key it is.
        application: NodeName,
        /// For which elections.
        elections: Elections,
    },
}

impl fmt::Display for KeyTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(key) => write!(
                f,
                "uses the key {key}, which this node does not accept: give both keys of one \
                 cluster key, and of one application where no member takes part"
            ),
            Self::Unsealed => {
                f.write_str("sends without a key, and this node demands one: give it a key")
            }
            Self::Sealed => {
                f.write_str("uses a key, and this node has none: give this node one, too")
            }
            Self::Rights { application, elections } => write!(
                f,
                "asked for what its key does not allow, which is that of the application \
                 {application} for {elections}"
            ),
        }
    }
}

/// When something was told last: of members, and of others.
#[derive(Debug, Default)]
pub(super) struct KeyTroubles {
    told: [Option<Time>; 2],
}

impl KeyTroubles {
    /// About a datagram that could not be opened.
    pub(super) fn unopened(
        &mut self,
        now: Time,
        address: SocketAddr,
        dropped: Dropped,
        config: &Checked,
    ) -> Option<Notice> {
        let why = match dropped {
            Dropped::OtherKey(key) => KeyTrouble::Other(key),
            Dropped::Unsealed => KeyTrouble::Unsealed,
            _ => return None,
        };
        self.tell(now, address, config, || (None, why))
    }

    /// About a datagram of another version, at a node without a key.
    pub(super) fn version(
        &mut self,
        now: Time,
        address: SocketAddr,
        version: u8,
        config: &Checked,
    ) -> Option<Notice> {
        let sealed = is_sealed(version);
        sealed.then(|| self.tell(now, address, config, || (None, KeyTrouble::Sealed)))?
    }

    /// About a message that its sender may not send.
    pub(super) fn rights(
        &mut self,
        now: Time,
        from: &Sender,
        by: Option<&Authority>,
        config: &Checked,
    ) -> Option<Notice> {
        let Some(Authority::Application(grant)) = by else { return None };
        self.tell(now, from.address, config, || {
            let (application, elections) = (grant.application.clone(), grant.elections.clone());
            (Some(from.who.name.clone()), KeyTrouble::Rights { application, elections })
        })
    }

    fn tell(
        &mut self,
        now: Time,
        address: SocketAddr,
        config: &Checked,
        what: impl FnOnce() -> (Option<NodeName>, KeyTrouble),
    ) -> Option<Notice> {
        let member = config.position_at(address);
        let told = &mut self.told[usize::from(member.is_some())];
        if told.is_some_and(|at| now.since(at) < BETWEEN) {
            return None;
        }
        *told = Some(now);
        let (name, why) = what();
        let peer = member.map(|nth| config.members[nth].name.clone()).or(name);
        Some(Notice::Key { peer, address, why })
    }
}
