//! A process of ALLCALL: the core, and its bus client, which connects, may notice lost connections,
//! and drops or keeps messages while it is disconnected.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::allcall;
use tenure_core::allcall::{Allcall, Bus, Checked, Link, Message, Packet};
use tenure_core::contract::Effects;
use tenure_core::{BothClocks, Deadline, Effect, ElectionName, Input, Protocol, Standing, Time};

use super::frame::{Frame, Out, Place, Words};

/// The largest payload of a packet, as of NATS: a mebibyte.
const PAYLOAD: usize = 1 << 20;
/// The number of packets that a disconnected client keeps.
const KEPT: usize = 64;

/// The behaviour of a client's connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Manner {
    /// Known servers, the preferred one first.
    pub stations: Vec<Place>,
    /// Span without traffic after which the client pings; after the same span of silence the
    /// connection is lost.
    pub patience: Duration,
    /// Whether the core learns of lost and new connections.
    pub tells: bool,
    /// Whether the client keeps packets for its next connection. Ruling 8 forbids this, but clients
    /// may do so.
    pub keeps: bool,
}

/// A core with its client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    core: Allcall,
    manner: Manner,
    retry: Duration,
    /// Number of the present or attempted connection. A client draws its first number, because
    /// servers may still know a connection of its earlier life.
    number: u64,
    up: bool,
    /// Whether the core believes that it is connected.
    told: bool,
    /// Time of the next connection attempt.
    dials: Time,
    /// Time of the first ping or packet since the last received message.
    asked: Option<Time>,
    /// Time of the last received message.
    heard: Time,
    kept: Vec<Arc<Packet>>,
    /// Whether the last input was about a connection.
    linked: bool,
}

impl Client {
    #[must_use]
    pub fn new(config: Checked, manner: Manner) -> Self {
        Self {
            retry: config.heartbeat / 2,
            core: Allcall::new(config),
            manner,
            number: 0,
            up: false,
            told: false,
            dials: Time::MAX,
            asked: None,
            heard: Time::ZERO,
            kept: Vec::new(),
            linked: false,
        }
    }

    /// Whether the last input of the core was about a connection.
    #[must_use]
    pub const fn linked(&self) -> bool {
        self.linked
    }

    #[must_use]
    pub const fn core(&self) -> &Allcall {
        &self.core
    }

    fn server(&self) -> Place {
        let stations = &self.manner.stations;
        stations[self.number as usize % stations.len()]
    }

    /// Connects to the next server.
    fn dial(&mut self, now: Time, out: &mut Out) {
        self.number += 1;
        self.up = false;
        self.asked = None;
        self.dials = now.after(self.retry);
        out.push(Effect::Send { to: self.server(), message: Frame::Hello(self.number) });
    }

    fn hear(&mut self, now: BothClocks, from: Place, frame: Frame, out: &mut Out) {
        let ours = from == self.server();
        let alive = match frame {
            Frame::Welcome(number) | Frame::Bring(number, _) => ours && number == self.number,
            _ => false,
        };
        if alive {
            self.asked = None;
            self.heard = now.boot;
        }
        match frame {
            Frame::Welcome(_) if alive && !self.up => {
                self.up = true;
                self.dials = Time::MAX;
                if !self.told || self.manner.tells {
                    self.told = true;
                    self.link(now, Link::Up { max_payload: PAYLOAD }, out);
                }
                for packet in std::mem::take(&mut self.kept) {
                    self.publish(now.boot, packet, out);
                }
            }
            Frame::Gone(number) if ours && number == self.number && self.up => self.lose(now, out),
            Frame::Bring(_, packet) if alive && self.up => {
                let message = Message::Packet(Arc::unwrap_or_clone(packet));
                self.hand(now, Input::Message { from: Bus, message }, out);
            }
            _ => {}
        }
    }

    fn lose(&mut self, now: BothClocks, out: &mut Out) {
        if self.manner.tells {
            self.link(now, Link::Down, out);
        }
        self.dial(now.boot, out);
    }

    fn link(&mut self, now: BothClocks, link: Link, out: &mut Out) {
        self.linked = true;
        self.hand(now, Input::Message { from: Bus, message: Message::Link(link) }, out);
    }

    fn publish(&mut self, now: Time, packet: Arc<Packet>, out: &mut Out) {
        if self.up {
            self.asked.get_or_insert(now);
            let message = Frame::Publish(self.number, packet);
            out.push(Effect::Send { to: self.server(), message });
        } else if self.manner.keeps && self.kept.len() < KEPT {
            self.kept.push(packet);
        }
    }

    /// Passes an input to the core, and carries out its effects on the bus.
    fn hand(&mut self, now: BothClocks, input: Input<allcall::Words>, out: &mut Out) {
        let mut effects: Effects<allcall::Words> = Vec::new();
        self.core.handle(now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { message: Message::Packet(packet), .. } => {
                    self.publish(now.boot, Arc::new(packet), out);
                }
                Effect::Send { message: Message::Link(_), .. } => {}
                Effect::Raise { election, until, fence } => {
                    out.push(Effect::Raise { election, until, fence });
                }
                Effect::Bound { election, wall } => out.push(Effect::Bound { election, wall }),
                Effect::Lower { election } => out.push(Effect::Lower { election }),
                Effect::Emit { election, event } => out.push(Effect::Emit { election, event }),
                Effect::Persist(record) | Effect::Flush(_, record) => match record {},
            }
        }
    }

    /// End of the longest allowed silence.
    fn silent(&self) -> Time {
        self.asked.map_or(Time::MAX, |asked| asked.after(self.manner.patience))
    }

    /// Time of the next ping.
    fn doubts(&self) -> Time {
        let calm = self.up && self.asked.is_none();
        if calm { self.heard.after(self.manner.patience) } else { Time::MAX }
    }
}

impl Protocol for Client {
    type Words = Words;
    type Now = BothClocks;

    fn handle(&mut self, now: BothClocks, input: Input<Words>, out: &mut Out) {
        self.linked = false;
        match input {
            Input::Start(start) => {
                self.number = (start.incarnation as u64) << 16 >> 16;
                self.hand(now, Input::Start(start), out);
                self.dial(now.boot, out);
            }
            Input::Message { from, message } => self.hear(now, from, message, out),
            Input::Command { election, command } => {
                self.hand(now, Input::Command { election, command }, out);
            }
            Input::Timeout => {
                self.hand(now, Input::Timeout, out);
                if self.silent() <= now.boot {
                    self.lose(now, out);
                }
                if self.doubts() <= now.boot {
                    self.asked = Some(now.boot);
                    out.push(Effect::Send { to: self.server(), message: Frame::Ping(self.number) });
                }
                if self.dials <= now.boot {
                    self.dial(now.boot, out);
                }
            }
            Input::Flushed(_) | Input::Failed(_) => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let own = [
            (self.dials, "a connection is tried again"),
            (self.silent(), "a silent server"),
            (self.doubts(), "whether the server is there"),
        ];
        let own = own.into_iter().map(|(at, why)| Deadline { at, why });
        let due = self.core.deadline().into_iter().chain(own.filter(|due| due.at < Time::MAX));
        due.min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        self.core.standing(election, now)
    }
}
