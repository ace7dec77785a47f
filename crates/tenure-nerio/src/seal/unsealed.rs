//! Senders without a key, whether their datagrams are accepted or not.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tenure_core::{NodeName, Time};

/// Maximum number of senders; the sender with the oldest datagram makes room for a new one.
const KEPT_MAX: usize = 1_024;

/// A node that sends without a key. Nothing proves its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsealed {
    pub name: NodeName,
    pub address: SocketAddr,
    /// Time of its last datagram, on `CLOCK_BOOTTIME`.
    pub heard: Time,
}

#[derive(Default)]
pub(super) struct UnsealedSenders(BTreeMap<SocketAddr, (NodeName, Time)>);

impl UnsealedSenders {
    pub(super) fn note(&mut self, now: Time, address: SocketAddr, name: &NodeName) {
        if let Some((known, heard)) = self.0.get_mut(&address)
            && known == name
        {
            *heard = now;
            return;
        }
        if self.0.len() >= KEPT_MAX && !self.0.contains_key(&address) {
            let oldest = self.0.iter().min_by_key(|(_, (_, heard))| *heard);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(address, (name.clone(), now));
    }

    pub(super) fn heard(&self, address: SocketAddr) -> Option<Time> {
        self.0.get(&address).map(|(_, heard)| *heard)
    }

    pub(super) fn again(&mut self, now: Time, address: SocketAddr) {
        if let Some((_, heard)) = self.0.get_mut(&address) {
            *heard = now;
        }
    }

    /// Forgets the sender at `address`, which has shown a key since.
    pub(super) fn forget(&mut self, address: SocketAddr) {
        self.0.remove(&address);
    }

    pub(super) fn all(&self) -> Vec<Unsealed> {
        let all = self.0.iter();
        all.map(|(&address, (name, heard))| Unsealed { name: name.clone(), address, heard: *heard })
            .collect()
    }
}
