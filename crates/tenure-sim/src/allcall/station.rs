//! A server of the bus. The server delivers each packet to all of its clients in one order, the
//! publisher included. The server also forwards the packet to the other servers, for their clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::allcall::{ANSWERS_MAX, Ask, Body, Packet, Part, Round};
use tenure_core::{Deadline, Effect, Input, Time};

use super::frame::{Frame, Out, Place, Words};
use crate::world::node::Service;

/// A server of the bus, with its clients' connections. A restarted server knows no connections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Station {
    clients: BTreeMap<Place, u64>,
    others: Vec<Place>,
    asker: bool,
}

impl Station {
    /// Makes a server in a cluster with these others. With an `asker`, a process with the right to
    /// ask sends questions before each call that is published at this server.
    #[must_use]
    pub const fn new(others: Vec<Place>, asker: bool) -> Self {
        Self { clients: BTreeMap::new(), others, asker }
    }

    /// The asker's questions before a call. Some questions have the caller's name, with a later
    /// round than any call, or with other times. Others have more names than a reply answers.
    fn asks(&self, packet: &Packet) -> Vec<Arc<Packet>> {
        let Body::Call(call) = &packet.body else { return Vec::new() };
        if !self.asker || call.part.number > 0 {
            return Vec::new();
        }
        let elections: Vec<_> = call.entries.iter().map(|entry| entry.election.clone()).collect();
        let ask = |round, header| {
            let part = Part { number: 0, of: 1 };
            let body = Body::Ask(Ask { round: Round(round), part, elections: elections.clone() });
            Arc::new(Packet { header, body })
        };
        let mut other = packet.header.clone();
        other.times.heartbeat /= 2;
        other.established = true;
        let stranger = |number: u128| {
            let mut header = packet.header.clone();
            header.sender.incarnation = number;
            header
        };
        let strangers = (1..=ANSWERS_MAX as u128).map(|number| ask(call.round.0, stranger(number)));
        let named = [ask(u64::MAX - 1, packet.header.clone()), ask(1, other)];
        named.into_iter().chain(strangers).collect()
    }
}

impl Service<Words> for Station {
    fn handle(&mut self, _: Time, input: Input<Words>, out: &mut Out) {
        let Input::Message { from, message } = input else { return };
        let mut send = |to, message| out.push(Effect::Send { to, message });
        let packet = match message {
            Frame::Hello(number) => {
                self.clients.insert(from, number);
                return send(from, Frame::Welcome(number));
            }
            Frame::Ping(number) if self.clients.get(&from) == Some(&number) => {
                return send(from, Frame::Welcome(number));
            }
            Frame::Publish(number, packet) if self.clients.get(&from) == Some(&number) => {
                self.others.iter().for_each(|other| send(*other, Frame::Route(packet.clone())));
                packet
            }
            Frame::Ping(number) | Frame::Publish(number, _) => {
                return send(from, Frame::Gone(number));
            }
            Frame::Route(packet) => packet,
            Frame::Welcome(_) | Frame::Gone(_) | Frame::Bring(..) => return,
        };
        for packet in self.asks(&packet).into_iter().chain([packet]) {
            for (client, number) in &self.clients {
                send(*client, Frame::Bring(*number, packet.clone()));
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
