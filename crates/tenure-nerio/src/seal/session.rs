//! Sessions with processes that have shown their key, one for each sender.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use tenure_core::{NodeName, Time};

use super::authority::Authority;
use super::bytes::Aead;
use super::window::Window;
use crate::keys::KeyId;

/// Maximum number of sessions. Beyond that the process forgets all sessions at once, and the
/// challenge changes.
pub(super) const SESSIONS_MAX: usize = 16_384;
/// Maximum number of sessions that are not established: a stranger may have repeated their hellos.
pub(super) const PENDING_MAX: usize = 1_024;

pub(super) struct Session {
    /// Public half of the process, which begins with its id and incarnation.
    pub(super) public: [u8; 32],
    pub(super) authority: Authority,
    pub(super) key: KeyId,
    pub(super) opens: Aead,
    pub(super) seals: Aead,
    /// Challenge of the process. This node seals datagrams to the process for that challenge.
    pub(super) challenge: u64,
    pub(super) window: Window,
    pub(super) address: SocketAddr,
    /// Time of the last datagram from the process.
    pub(super) heard: Time,
    pub(super) name: Option<NodeName>,
    /// Whether a datagram sealed for this node's challenge has come. Such a datagram proves that
    /// the hello was not an old one.
    pub(super) established: bool,
}

pub(super) fn id(public: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *public;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[derive(Default)]
pub(super) struct Sessions {
    all: BTreeMap<u64, Session>,
    addresses: BTreeMap<SocketAddr, u64>,
    /// Sessions in the order of their hellos. Some may be established or gone by now.
    pending: VecDeque<u64>,
    established: usize,
}

impl Sessions {
    pub(super) fn get(&self, id: u64) -> Option<&Session> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Session> {
        self.all.get_mut(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Session> {
        self.all.values()
    }

    pub(super) fn at(&mut self, address: SocketAddr) -> Option<&mut Session> {
        let id = *self.addresses.get(&address)?;
        self.all.get_mut(&id)
    }

    /// Stores a new session in place of an earlier session of the same process. If the earlier
    /// session was established, the new session is established, too, and keeps the earlier address.
    pub(super) fn keep(&mut self, session: Session) {
        let id = id(&session.public);
        let was = self.all.insert(id, session).map(|before| (before.established, before.address));
        match was {
            Some((true, address)) => {
                if let Some(session) = self.all.get_mut(&id) {
                    // The hello may be an old one. So the address of the process stays until a
                    // datagram comes that is sealed for this node's challenge.
                    session.established = true;
                    session.address = address;
                }
            }
            Some((false, _)) => {}
            None => self.pending.push_back(id),
        }
        while self.pending.len() > PENDING_MAX {
            let oldest = self.pending.pop_front();
            let oldest = oldest.filter(|id| self.all.get(id).is_some_and(|s| !s.established));
            if let Some(oldest) = oldest {
                self.remove(oldest);
            }
        }
    }

    /// Establishes the session of a process that is now at `address`; false if there are too many
    /// established sessions.
    #[must_use]
    pub(super) fn establish(&mut self, id: u64, address: SocketAddr, reachable: bool) -> bool {
        let Some(session) = self.all.get_mut(&id) else { return true };
        if !session.established {
            if self.established >= SESSIONS_MAX {
                return false;
            }
            session.established = true;
            self.established += 1;
        }
        let before = std::mem::replace(&mut session.address, address);
        if before != address && self.addresses.get(&before) == Some(&id) {
            self.addresses.remove(&before);
        }
        if reachable && self.addresses.get(&address) != Some(&id) {
            self.addresses.insert(address, id);
        }
        true
    }

    /// Forgets the process at `address`, which is then greeted again.
    pub(super) fn forget(&mut self, address: SocketAddr) {
        self.addresses.remove(&address);
    }

    pub(super) fn has(&self, like: impl Fn(&Session) -> bool) -> bool {
        self.all.values().any(like)
    }

    fn remove(&mut self, id: u64) {
        let Some(session) = self.all.remove(&id) else { return };
        self.established -= usize::from(session.established);
        if self.addresses.get(&session.address) == Some(&id) {
            self.addresses.remove(&session.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Secret;

    fn session(port: u16) -> Session {
        Session {
            public: [7; 32],
            authority: Authority::Cluster,
            key: KeyId([0; 4]),
            opens: Aead::new(&Secret([1; 32])),
            seals: Aead::new(&Secret([2; 32])),
            challenge: 1,
            window: Window::default(),
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            heard: Time::ZERO,
            name: None,
            established: false,
        }
    }

    #[test]
    fn moving_process_takes_one_session() {
        let mut sessions = Sessions::default();
        for port in 1..1_000 {
            let one = session(port);
            let id = id(&one.public);
            let address = one.address;
            sessions.keep(one);
            assert!(sessions.establish(id, address, true));
            assert!(sessions.at(address).is_some());
            assert_eq!((sessions.all.len(), sessions.addresses.len()), (1, 1));
        }
        // The hello may be an old one, so the address of the session stays.
        let hello = session(2_000);
        let address = hello.address;
        sessions.keep(hello);
        assert!(sessions.at(address).is_none());
        assert!(sessions.at(session(999).address).is_some());
    }
}
