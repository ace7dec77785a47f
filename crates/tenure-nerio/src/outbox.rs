//! Outgoing messages. Messages to one member or address share datagrams, as long as they are meant
//! for one epoch.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;

use tenure::clock;
use tenure::driver::Repeats;
use tenure_core::nerio::wire::{Envelope, Packer};
use tenure_core::nerio::{EpochId, Message, Recipient, To, ToCandidate, Who};

use crate::counters::Counters;
use crate::places::Places;
use crate::transport::Transport;

const SPARE: usize = 64;
/// If more messages than this wait, [`hurry`](Outbox::hurry) sends none: they are a burst of
/// renewals, which share datagrams with later messages.
const HURRIED_MAX: usize = 4;
/// Maximum number of epochs whose packers are kept.
const PACKERS_MAX: usize = 4;

/// Unfinished datagrams: one for each member and each address. They leave in the order in which
/// they were begun.
pub(crate) struct Outbox {
    packers: Packers,
    filling: Vec<Datagram>,
    /// Position in `filling` of each recipient's datagram.
    places: BTreeMap<To, usize>,
    spare: Vec<Vec<u8>>,
    repeats: Repeats,
    gives_way: bool,
}

struct Datagram {
    to: To,
    bytes: Vec<u8>,
    messages: usize,
    /// Whether a caller may wait for one of its messages.
    is_urgent: bool,
}

/// A packer for each epoch under which the node has sent, the oldest first.
struct Packers {
    who: Who,
    all: Vec<(EpochId, Packer)>,
}

impl Packers {
    fn of(&mut self, epoch: EpochId) -> &Packer {
        let known = self.all.iter().position(|(known, _)| *known == epoch);
        let at = known.unwrap_or_else(|| {
            if self.all.len() == PACKERS_MAX {
                self.all.remove(0);
            }
            let who = self.who.clone();
            self.all.push((epoch, Packer::new(&Envelope { epoch, who })));
            self.all.len() - 1
        });
        &self.all[at].1
    }
}

impl Outbox {
    pub(crate) fn new(who: Who) -> Self {
        Self {
            packers: Packers { who, all: Vec::new() },
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
        let Self { packers, filling, places, spare, repeats, .. } = self;
        let packer = packers.of(to.epoch);
        let place = places.get(to).copied().unwrap_or_else(|| {
            let mut bytes = begin(packer, spare);
            Packer::address(&mut bytes, to.number);
            let to = to.clone();
            places.insert(to.clone(), filling.len());
            filling.push(Datagram { to, bytes, messages: 0, is_urgent: false });
            filling.len() - 1
        });
        let Some(datagram) = filling.get_mut(place) else { return };
        let Datagram { bytes, messages, is_urgent, .. } = datagram;
        if !packer.push(bytes, message) {
            dispatch(to, bytes, transport, members, counters, repeats);
            packer.restart(bytes);
            Packer::address(bytes, to.number);
            let fits = packer.push(bytes, message);
            debug_assert!(fits, "every message fits into a datagram of its own: {message}");
        }
        *messages += 1;
        // No caller waits for the confirmation of a release: its leadership is over.
        *is_urgent |= !matches!(message, Message::Candidate(ToCandidate::Released(_)));
    }

    /// Sends urgent messages, if they are few, and lets their readers have the processor. The other
    /// messages follow with the next [`flush`](Self::flush).
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

    /// Answers a datagram of another configuration with an empty datagram of this node in `epoch`.
    pub(crate) fn introduce(
        &mut self,
        epoch: EpochId,
        to: SocketAddr,
        transport: &mut impl Transport,
        members: &mut Places,
        counters: &mut Counters,
    ) {
        let datagram = self.packers.of(epoch).start();
        let to = To::at(epoch, to);
        dispatch(&to, &datagram, transport, members, counters, &mut self.repeats);
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
    let address = match &to.recipient {
        Recipient::Member(member) => members.address(now, member),
        Recipient::Address(address) => Some(*address),
    };
    let Some(address) = address else {
        counters.unsent += 1;
        return;
    };
    match transport.send(address, datagram) {
        Ok(()) => counters.sent += 1,
        Err(error) => {
            counters.unsent += 1;
            // A buffer that is full for a moment gets no log line: the counters show it, and the
            // sender repeats the datagram.
            if error.kind() == io::ErrorKind::WouldBlock {
                return;
            }
            if let Recipient::Member(member) = &to.recipient {
                members.refused(now, member);
            }
            if repeats.is_new(now, "unsent", &address.to_string(), &error.to_string()) {
                tracing::warn!(to = %address, %error, "datagrams cannot be sent");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Time;
    use tenure_core::nerio::wire::open;
    use tenure_core::nerio::{Config, Inc, List, members};

    use super::*;
    use crate::transport::tests::Silent;

    /// A node sends messages to one address, under one epoch more than the packers that are kept.
    #[test]
    fn epochs_share_no_datagram() {
        let list = members("a=127.0.0.1:7101").unwrap();
        let config = Config::new("x".parse().unwrap(), list).check().unwrap();
        let mut transport = Silent::default();
        let mut places = Places::new(&config, transport.local_address());
        let mut counters = Counters::default();
        let mut outbox = Outbox::new(Who { name: "a".parse().unwrap(), inc: Inc(1) });
        let all = PACKERS_MAX as u64 + 1;
        let epoch = |number| EpochId { number, digest: 7 };
        let to = |number| To::at(epoch(number), ([127, 0, 0, 1], 7102).into());
        let list = Message::from(List { start: Time::ZERO, after: None });
        for number in (0..all).chain(0..all) {
            outbox.push(&to(number), &list, &mut transport, &mut places, &mut counters);
        }
        outbox.flush(&mut transport, &mut places, &mut counters);
        assert_eq!(outbox.packers.all.len(), PACKERS_MAX);
        for (number, datagram) in (0..all).zip(&transport.sent) {
            let (envelope, messages) = open(datagram).unwrap();
            assert_eq!(envelope.epoch, epoch(number));
            assert_eq!(messages.flatten().count(), 2);
        }
        assert_eq!(transport.sent.len() as u64, all);
    }
}
