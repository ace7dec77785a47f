//! Packets of the bus: each kind is passed to its part of the algorithm.

use alloc::collections::BTreeMap;

use super::state::{Allcall, ignore};
use crate::allcall::election::Election;
use crate::allcall::event::Ignored;
use crate::allcall::message::{Answered, Body, Packet, Resign, bytes};
use crate::allcall::round::OwnPacket;
use crate::allcall::words::Out;
use crate::allcall::{admission, batch};

impl Allcall {
    pub(super) fn hear(&mut self, packet: Packet, out: &mut Out) {
        if let Err(reason) = admission::check(&packet, &self.config.cluster) {
            return ignore(reason, out);
        }
        let Packet { header, body } = packet;
        if self.me.is(&header.sender) {
            return self.hear_own(&body, out);
        }
        if header.times != self.config.times() {
            return self.hear_other_times(&header, &body, out);
        }
        self.hear_our_times(&header, &body);
        if self.refused.is_some() {
            return;
        }
        match body {
            Body::Ask(ask) => {
                // Do not record the round: rounds of questions must not make calls late (A6).
                let answer = Answered { caller: header.sender, round: ask.round };
                let asked = ask.elections.into_iter().map(|name| (name, None)).collect();
                self.owe(answer, asked, false, out);
            }
            Body::Call(call) => self.hear_call(&header, &call, out),
            Body::Reply(reply) => self.hear_reply(&header, &reply, out),
            Body::Resign(resign) => {
                for (name, dead) in resign.ended {
                    self.with_election(&name, out, |election, context| {
                        election.bury(&dead, context);
                    });
                }
            }
        }
    }

    /// Handles a packet of this process: the bus delivers each packet to its sender, too.
    fn hear_own(&mut self, body: &Body, out: &mut Out) {
        let own = match body {
            Body::Ask(ask) => OwnPacket { asks: true, round: ask.round, part: ask.part },
            Body::Call(call) => OwnPacket { asks: false, round: call.round, part: call.part },
            Body::Resign(resign) => {
                for (name, dead) in &resign.ended {
                    self.with_election(name, out, |election, context| {
                        election.on_own_resignation(dead.term, context);
                    });
                }
                return;
            }
            Body::Reply(_) => return,
        };
        let half = self.config.heartbeat / 2;
        match self.pings.rounds.back(own, self.now.boot, half) {
            Some(names) => {
                for name in names {
                    self.with_election(&name, out, Election::confirm);
                }
            }
            None => ignore(Ignored::NotOurs, out),
        }
    }

    /// Publishes the tombstones of this input, in one packet for all elections if they fit.
    pub(super) fn resign(&mut self, out: &mut Out) {
        let ended = core::mem::take(&mut self.resigned);
        let one = |_: &_| bytes::NAME + bytes::TOMBSTONE;
        // The later tombstone replaces an earlier one of the same election.
        let ended: BTreeMap<_, _> = ended.into_iter().collect();
        for ended in batch::split(ended.into_iter().collect(), self.room(), one) {
            self.send(Body::Resign(Resign { ended }), out);
        }
    }
}
