//! One node: the real core, its clock and its disk, and what one input makes of them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tenure_core::nerio::{
    Checked, Command, Effect, Event, Inc, Kept, Message, Nerio, OwnEvent, Query, QuorumTimestamp,
    Sender, Service, Start, Who, Words,
};
use tenure_core::{ElectionName, Fence, Input, Protocol, Time};

use crate::clock::{Clock, Rate};
use crate::disk::{Disk, Lost};
use crate::judge::Life;
use crate::known::Known;

/// Three grantors, two candidates.
pub const NAMES: [&str; 5] = ["a", "b", "c", "p", "q"];
pub const GRANTORS: std::ops::Range<usize> = 0..3;
pub const CANDIDATES: std::ops::Range<usize> = 3..5;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    pub number: usize,
    /// How many lives it had before this one.
    pub life: u8,
    pub clock: Clock,
    pub campaigning: bool,
    /// The first Start of its latest attempt to lead.
    first: Time,
    core: Nerio,
    disk: Option<Disk>,
}

/// Something on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Letter {
    pub to: usize,
    pub from: Sender,
    pub message: Message,
}

/// What is done to a node.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Stimulus {
    Letter(Known<Letter>),
    Timeout,
    Campaign,
    Resign,
    /// The process ends and begins again.
    Restart(Lost),
}

/// What others notice of it.
pub enum Outward {
    /// It leads until this true time.
    Raised {
        first: Time,
        fence: Fence,
        until: u64,
    },
    Lowered,
    Elected(QuorumTimestamp),
    Sent(Letter),
}

impl Letter {
    pub fn channel(&self) -> (usize, SocketAddr) {
        (self.to, self.from.address)
    }
}

pub fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_001 + u16::try_from(node).unwrap()))
}

/// A life of a node, as the protocol names it.
pub fn who(life: Life) -> Who {
    let inc = Inc((life.node as u128 + 1) << 112 | u128::from(life.number) << 96);
    Who { name: NAMES[life.node].parse().unwrap(), inc }
}

pub fn election() -> ElectionName {
    "x".parse().unwrap()
}

impl Node {
    /// Started at the true time zero; grantors serve.
    pub fn new(config: &Checked, number: usize, rate: Rate) -> Self {
        let clock = Clock { origin: 10 * SECOND, since: 0, rate };
        let core = Nerio::new(config.clone(), NAMES[number].parse().unwrap());
        let instance = (number as u128 + 1) << 96;
        let disk = GRANTORS.contains(&number).then(|| Disk::new(instance, Kept::New));
        let first = Time::ZERO;
        let mut node = Self { number, life: 0, clock, campaigning: false, first, core, disk };
        node.feed(0, node.start()).expect("starting violates nothing");
        node
    }

    fn start(&self) -> Input<Words> {
        let inc = who(Life { node: self.number, number: self.life }).inc;
        let memory = self.disk.as_ref().map(Disk::memory);
        Input::Start(Start { inc, seed: 1, memory })
    }

    /// Whether its timer is due at the true time `at`.
    pub fn is_due(&self, at: u64) -> bool {
        self.core.deadline().is_some_and(|deadline| deadline.at <= self.clock.shows(at))
    }

    /// Whether it leads at the true time `at`.
    pub fn leads(&self, at: u64) -> bool {
        self.core.standing(&election(), self.clock.shows(at)).is_leading()
    }

    /// What becomes of it at the true time `at`; an error is a property violated.
    pub fn hit(
        &self,
        config: &Checked,
        at: u64,
        stimulus: &Stimulus,
    ) -> Result<(Self, Vec<Outward>), String> {
        let mut node = self.clone();
        let command = |command| Input::Command { election: election(), command };
        let input = match stimulus {
            Stimulus::Letter(letter) => {
                Input::Message { from: letter.from.clone(), message: letter.message.clone() }
            }
            Stimulus::Timeout => Input::Timeout,
            Stimulus::Campaign => {
                node.campaigning = true;
                command(Command::Campaign { value: "".parse().unwrap(), priority: 0 })
            }
            Stimulus::Resign => command(Command::Resign),
            Stimulus::Restart(lost) => {
                node.restart(config, at, *lost);
                node.start()
            }
        };
        let outward = node.feed(at, input)?;
        Ok((node, outward))
    }

    fn restart(&mut self, config: &Checked, at: u64, lost: Lost) {
        self.life += 1;
        self.campaigning = false;
        self.core = Nerio::new(config.clone(), NAMES[self.number].parse().unwrap());
        if lost != Lost::Nothing {
            self.clock = Clock { origin: SECOND, since: at, ..self.clock };
        }
        let instance = (self.number as u128 + 1) << 96 | u128::from(self.life);
        self.disk = self.disk.as_ref().map(|disk| disk.after(lost, instance));
    }

    /// Hands over one input, carries out its effects in their order, and answers the flushes:
    /// the disk of the model is fast.
    fn feed(&mut self, at: u64, input: Input<Words>) -> Result<Vec<Outward>, String> {
        let (mut inputs, mut outward) = (VecDeque::from([input]), Vec::new());
        let now = self.clock.shows(at);
        while let Some(input) = inputs.pop_front() {
            let mut effects = Vec::new();
            self.core.handle(now, input, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Raise { until, fence: Some(fence), .. } => {
                        let (first, until) = (self.first, self.clock.reaches(until));
                        outward.push(Outward::Raised { first, fence, until });
                    }
                    Effect::Lower { .. } => outward.push(Outward::Lowered),
                    Effect::Persist(record) => self.write(&record),
                    Effect::Flush(ticket, record) => {
                        self.write(&record);
                        inputs.push_back(Input::Flushed(ticket));
                    }
                    Effect::Send { to, message } => outward.extend(self.send(to, message)?),
                    Effect::Emit {
                        event: Event::Own(OwnEvent::Stamped { timestamp, .. }), ..
                    } => {
                        outward.push(Outward::Elected(timestamp));
                    }
                    Effect::Emit { event: Event::Ended(_), .. } => self.campaigning = false,
                    Effect::Raise { fence: None, .. } | Effect::Emit { .. } => {}
                }
            }
        }
        Ok(outward)
    }

    fn write(&mut self, record: &tenure_core::nerio::Record) {
        if let Some(disk) = &mut self.disk {
            disk.write(record);
        }
    }

    fn send(&mut self, to: SocketAddr, message: Message) -> Result<Option<Outward>, String> {
        if let Message::Granted(granted) = &message
            && !self.disk.as_ref().is_some_and(|disk| disk.has(granted))
        {
            let name = NAMES[self.number];
            return Err(format!("I11: an ok of {name} left before its grant was written"));
        }
        if let Message::Request(request) = &message {
            self.first = request.first;
        }
        let from = Sender { who: self.core.who().clone(), address: address(self.number) };
        let to = (0..NAMES.len()).find(|node| address(*node) == to);
        Ok(to.map(|to| Outward::Sent(Letter { to, from, message })))
    }

    /// What this grantor answers at the true time `at` when it is asked who holds the election:
    /// whether it serves, and its holder. Asked of a copy, so that asking changes nothing.
    pub fn grant(&self, at: u64) -> (bool, Option<Who>) {
        let who = Who { name: "z".parse().unwrap(), inc: Inc(0) };
        let from = Sender { who, address: address(NAMES.len()) };
        let now = self.clock.shows(at);
        let message = Message::Query(Query { election: election(), start: now });
        let mut effects = Vec::new();
        self.core.clone().handle(now, Input::Message { from, message }, &mut effects);
        match effects.pop() {
            Some(Effect::Send { message: Message::State(state), .. }) => {
                (state.service == Service::Serving, state.holder.map(|holder| holder.who))
            }
            other => panic!("no answer to a query: {other:?}"),
        }
    }
}
