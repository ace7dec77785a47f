//! Messages on their way out: those to one address share datagrams.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use tenure_core::nerio::Message;
use tenure_core::nerio::wire::Packer;

use super::counters::Counters;
use crate::clock;
use crate::driver::Told;
use crate::transport::Transport;

/// Datagrams that are being filled, by address.
pub(super) struct Outbox {
    packer: Packer,
    filling: BTreeMap<SocketAddr, Vec<u8>>,
    /// Empty buffers for reuse.
    spare: Vec<Vec<u8>>,
    told: Told,
}

impl Outbox {
    pub(super) fn new(packer: Packer) -> Self {
        Self { packer, filling: BTreeMap::new(), spare: Vec::new(), told: Told::default() }
    }

    /// Adds a message; sends the datagram before it if there is no room.
    pub(super) fn push(
        &mut self,
        to: SocketAddr,
        message: &Message,
        transport: &mut impl Transport,
        counters: &mut Counters,
    ) {
        let (packer, spare, told) = (&self.packer, &mut self.spare, &mut self.told);
        let datagram = self.filling.entry(to).or_insert_with(|| begin(packer, spare));
        if !packer.push(datagram, message) {
            dispatch((to, datagram), transport, counters, told);
            packer.restart(datagram);
            let fits = packer.push(datagram, message);
            debug_assert!(fits, "every message fits into a datagram of its own: {message}");
        }
    }

    /// Sends everything.
    pub(super) fn flush(&mut self, transport: &mut impl Transport, counters: &mut Counters) {
        while let Some((to, datagram)) = self.filling.pop_first() {
            dispatch((to, &datagram), transport, counters, &mut self.told);
            if self.spare.len() < 64 {
                self.spare.push(datagram);
            }
        }
    }

    /// Tells the sender of a datagram of another configuration which one this node has.
    pub(super) fn introduce(
        &mut self,
        to: SocketAddr,
        transport: &mut impl Transport,
        counters: &mut Counters,
    ) {
        dispatch((to, &self.packer.start()), transport, counters, &mut self.told);
    }
}

fn begin(packer: &Packer, spare: &mut Vec<Vec<u8>>) -> Vec<u8> {
    match spare.pop() {
        Some(mut datagram) => {
            packer.restart(&mut datagram);
            datagram
        }
        None => packer.start(),
    }
}

fn dispatch(
    (to, datagram): (SocketAddr, &[u8]),
    transport: &mut impl Transport,
    counters: &mut Counters,
    told: &mut Told,
) {
    match transport.send(to, datagram) {
        Ok(()) => counters.sent += 1,
        Err(error) => {
            counters.unsent += 1;
            // A buffer that is full for a moment is in the counters; it is sent again.
            let lasts = error.kind() != io::ErrorKind::WouldBlock;
            if lasts && told.is_news(clock::now(), "unsent", &to.to_string(), &error.to_string()) {
                tracing::warn!(%to, %error, "datagrams cannot be sent");
            }
        }
    }
}
