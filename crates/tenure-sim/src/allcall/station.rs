//! A server of the bus: it brings each packet to all of its clients, the publisher included, in
//! one order, and to the other servers, which bring it to theirs.

use std::collections::BTreeMap;

use tenure_core::{Deadline, Effect, Input, Time};

use super::frame::{Frame, Out, Place, Words};
use crate::world::node::Service;

/// A server, and the connections of its clients. One that starts anew knows none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Station {
    clients: BTreeMap<Place, u64>,
    others: Vec<Place>,
}

impl Station {
    /// A server of a cluster with these others.
    #[must_use]
    pub const fn new(others: Vec<Place>) -> Self {
        Self { clients: BTreeMap::new(), others }
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
            Frame::Publish(number, packet) if self.clients.get(&from) == Some(&number) => {
                self.others.iter().for_each(|other| send(*other, Frame::Route(packet.clone())));
                packet
            }
            Frame::Publish(number, _) => return send(from, Frame::Gone(number)),
            Frame::Route(packet) => packet,
            Frame::Welcome(_) | Frame::Gone(_) | Frame::Bring(..) => return,
        };
        for (client, number) in &self.clients {
            send(*client, Frame::Bring(*number, packet.clone()));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
