//! Outgoing messages: those to one member or address share datagrams.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;

use tenure::clock;
use tenure::driver::Repeats;
use tenure_core::NodeName;
use tenure_core::nerio::wire::Packer;
use tenure_core::nerio::{Membership, Message, To, ToCandidate};

use crate::counters::Counters;
use crate::places::Places;
use crate::transport::Transport;

const SPARE: usize = 64;
/// Most messages for which a caller may wait; more are renewals, and share datagrams with the next
/// ones.
const HURRIED_MAX: usize = 4;

/// Unfinished datagrams: one for each member and each address, in the order in which they were
/// begun and leave.
pub(crate) struct Outbox {
    packer: Packer,
    /// Number of each member in datagrams.
    numbers: BTreeMap<NodeName, u8>,
    filling: Vec<Datagram>,
    /// Position in `filling` of each recipient's datagram.
    places: BTreeMap<To, usize>,
    spare: Vec<Vec<u8>>,
    repeats: Repeats,
    gives_way: bool,
}

struct Datagram {
    to: To,
    /// Number of the recipient; 0 is any node.
    number: u8,
    bytes: Vec<u8>,
    messages: usize,
    /// Whether a caller may wait for one of its messages.
    is_urgent: bool,
}

impl Outbox {
    pub(crate) fn new(packer: Packer, membership: &Membership) -> Self {
        let members = membership.names().iter().enumerate();
        Self {
            packer,
            numbers: members.map(|(nth, name)| (name.clone(), membership.number(nth))).collect(),
            filling: Vec::new(),
            places: BTreeMap::new(),
            spare: Vec::new(),
            gives_way: false,
            repeats: Repeats::default(),
        }
    }

    /// Adds a message; sends the previous datagram if there is no room.
    pub(crate) fn push(
        &mut self,
        to: &To,
        message: &Message,
        transport: &mut impl Transport,
        members: &mut Places,
        counters: &mut Counters,
    ) {
        let Self { packer, numbers, filling, places, spare, repeats, .. } = self;
        let place = places.get(to).copied().unwrap_or_else(|| {
            let number = match to {
                To::Member(member) => numbers.get(member).copied().unwrap_or(0),
                To::Address(_) => 0,
            };
            let mut bytes = begin(packer, spare);
            Packer::address(&mut bytes, number);
            let to = to.clone();
            places.insert(to.clone(), filling.len());
            filling.push(Datagram { to, number, bytes, messages: 0, is_urgent: false });
            filling.len() - 1
        });
        let Some(datagram) = filling.get_mut(place) else { return };
        let Datagram { number, bytes, messages, is_urgent, .. } = datagram;
        if !packer.push(bytes, message) {
            dispatch(to, bytes, transport, members, counters, repeats);
            packer.restart(bytes);
            Packer::address(bytes, *number);
            let fits = packer.push(bytes, message);
            debug_assert!(fits, "every message fits into a datagram of its own: {message}");
        }
        *messages += 1;
        // A confirmation ends a leadership that is over: the next one begins with the other
        // messages.
        *is_urgent |= !matches!(message, Message::Candidate(ToCandidate::Released(_)));
    }

    /// Sends a few messages for which a caller may wait, and lets their readers have the processor
    /// before the other messages follow with the next [`flush`](Self::flush).
    pub(crate) fn hurry(
        &mut self,
        transport: &mut impl Transport,
        members: &mut Places,
        counters: &mut Counters,
    ) {
        if self.filling.iter().map(|datagram| datagram.messages).sum::<usize>() > HURRIED_MAX {
            return;
        }
        if self.filling.iter().any(|datagram| !datagram.is_urgent) {
            let later = self.filling.extract_if(.., |datagram| !datagram.is_urgent).collect();
            let hurried = !self.filling.is_empty();
            self.flush(transport, members, counters);
            self.filling = later;
            let places = self.filling.iter().enumerate();
            self.places = places.map(|(place, datagram)| (datagram.to.clone(), place)).collect();
            self.gives_way |= hurried;
        } else {
            self.flush(transport, members, counters);
        }
    }

    /// Lets woken threads have the processor before the next datagram leaves.
    pub(crate) fn give_way(&mut self) {
        self.gives_way = true;
    }

    pub(crate) fn flush(
        &mut self,
        transport: &mut impl Transport,
        members: &mut Places,
        counters: &mut Counters,
    ) {
        if self.filling.is_empty() {
            return;
        }
        if std::mem::take(&mut self.gives_way) {
            thread::yield_now();
        }
        self.places.clear();
        for Datagram { to, bytes, .. } in self.filling.drain(..) {
            dispatch(&to, &bytes, transport, members, counters, &mut self.repeats);
            if self.spare.len() < SPARE {
                self.spare.push(bytes);
            }
        }
    }

    /// Answers a datagram of another configuration with this node's.
    pub(crate) fn introduce(
        &mut self,
        to: SocketAddr,
        transport: &mut impl Transport,
        members: &mut Places,
        counters: &mut Counters,
    ) {
        let datagram = self.packer.start();
        dispatch(&to.into(), &datagram, transport, members, counters, &mut self.repeats);
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

/// Sends a datagram to the present address of its recipient. A datagram for a member without an
/// address is lost, as on any network: its sender repeats it.
fn dispatch(
    to: &To,
    datagram: &[u8],
    transport: &mut impl Transport,
    members: &mut Places,
    counters: &mut Counters,
    repeats: &mut Repeats,
) {
    let now = clock::now();
    let address = match to {
        To::Member(member) => members.address(now, member),
        To::Address(address) => Some(*address),
    };
    let Some(address) = address else {
        counters.unsent += 1;
        return;
    };
    match transport.send(address, datagram) {
        Ok(()) => counters.sent += 1,
        Err(error) => {
            counters.unsent += 1;
            // The counters show a buffer that is full for a moment; the sender repeats the
            // datagram.
            if error.kind() == io::ErrorKind::WouldBlock {
                return;
            }
            if let To::Member(member) = to {
                members.refused(now, member);
            }
            if repeats.is_new(now, "unsent", &address.to_string(), &error.to_string()) {
                tracing::warn!(to = %address, %error, "datagrams cannot be sent");
            }
        }
    }
}
