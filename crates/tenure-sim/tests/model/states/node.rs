//! A node: the real core, its clock and its disk, and the effect of an input on them.

use std::collections::VecDeque;

use tenure_core::nerio::{
    Effect, Event, Message, Nerio, OwnEvent, QuorumTimestamp, Record, Remembered, Sender, To, Words,
};
use tenure_core::{Command, Fence, Input, Protocol, Time};
use tenure_sim::world::clock::Clock;

use super::grantors;
use super::judge::Life;
use super::known::SharedValue;
use super::setting::Setting;

/// Reading of a clock when its machine starts.
const ORIGIN: u64 = 10_000_000_000;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// Place among the nodes.
    pub(crate) number: usize,
    /// Number of earlier lives.
    pub(crate) life: u8,
    pub(crate) clock: Clock,
    /// Whether the node's application wants the node to lead.
    pub(crate) campaigning: bool,
    /// First Start of the node's latest attempt to lead, on its clock.
    pub(crate) first: Time,
    pub(crate) core: Nerio,
    /// State of a grantor that outlives the process.
    pub(crate) disk: Option<Remembered>,
}

/// A message on its way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Letter {
    pub(crate) to: usize,
    pub(crate) by: usize,
    pub(crate) from: Sender,
    pub(crate) message: Message,
}

impl Letter {
    /// Channel of a letter; letters of one channel keep their order.
    pub(crate) fn channel(&self) -> (usize, usize) {
        (self.to, self.by)
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Stimulus {
    Letter(SharedValue<Letter>),
    Timeout,
    Campaign,
    Resign,
    /// The process ends and begins again.
    Restart(grantors::LostState),
}

/// Effect of a node on others.
pub(crate) enum Outward {
    /// The node leads until this true time.
    Raised {
        first: Time,
        fence: Option<Fence>,
        until: u64,
    },
    Lowered,
    Stamped(QuorumTimestamp),
    Sent(Box<Letter>),
}

impl Node {
    /// A node that started at the true time zero.
    pub(crate) fn new(setting: &Setting, number: usize) -> Self {
        let clock = Clock::new(0, ORIGIN, setting.rates[number]);
        let core = grantors::core(setting, number);
        let disk = grantors::disk(number);
        let first = Time::ZERO;
        let mut node = Self { number, life: 0, clock, campaigning: false, first, core, disk };
        node.feed(node.clock.shows(0), node.start()).expect("starting violates nothing");
        node
    }

    /// The node's present life.
    pub(crate) fn life(&self) -> Life {
        Life { node: self.number, number: self.life }
    }

    fn start(&self) -> Input<Words> {
        Input::Start(grantors::start(self.life(), &self.core, self.disk.as_ref()))
    }

    /// Whether the node's timer is due at the true time `at`.
    pub(crate) fn is_due(&self, at: u64) -> bool {
        self.core.deadline().is_some_and(|deadline| deadline.at <= self.clock.shows(at))
    }

    /// Whether the node leads at the true time `at`.
    pub(crate) fn leads(&self, at: u64) -> bool {
        self.core.standing(&grantors::election(), self.clock.shows(at)).is_leading()
    }

    /// Returns the state of the node after a stimulus at the true time `at`. An error is a violated
    /// property.
    pub(crate) fn hit(
        &self,
        setting: &Setting,
        at: u64,
        stimulus: &Stimulus,
    ) -> Result<(Self, Vec<Outward>), String> {
        let mut node = self.clone();
        let command = |command| Input::Command { election: grantors::election(), command };
        let input = match stimulus {
            Stimulus::Letter(letter) => {
                Input::Message { from: letter.from.clone(), message: letter.message.clone() }
            }
            Stimulus::Timeout => Input::Timeout,
            Stimulus::Campaign => {
                node.campaigning = true;
                command(grantors::campaign())
            }
            Stimulus::Resign => command(Command::Resign),
            Stimulus::Restart(lost) => {
                node.life += 1;
                node.campaigning = false;
                node.core = grantors::core(setting, self.number);
                grantors::lose(*lost, at, &mut node);
                node.start()
            }
        };
        let outward = node.feed(node.clock.shows(at), input)?;
        Ok((node, outward))
    }

    /// Passes one input to the core, carries out its effects in their order, and answers the
    /// flushes: the disk of the model is fast.
    fn feed(&mut self, now: Time, input: Input<Words>) -> Result<Vec<Outward>, String> {
        let mut inputs = VecDeque::from([input]);
        let mut outward = Vec::new();
        while let Some(input) = inputs.pop_front() {
            let mut effects = Vec::new();
            self.core.handle(now.into(), input, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Raise { until, fence, .. } => outward.push(self.raised(until, fence)),
                    Effect::Bound { .. } => {}
                    Effect::Lower { .. } => outward.push(Outward::Lowered),
                    Effect::Persist(record) => self.write(record),
                    Effect::Flush(ticket, record) => {
                        self.write(record);
                        inputs.push_back(Input::Flushed(ticket));
                    }
                    Effect::Send { to, message } => self.send(&to, &message, &mut outward)?,
                    Effect::Emit {
                        event: Event::Own(OwnEvent::Stamped { timestamp, .. }), ..
                    } => outward.push(Outward::Stamped(timestamp)),
                    Effect::Emit { event: Event::Ended(_), .. } => self.campaigning = false,
                    Effect::Emit { .. } => {}
                }
            }
        }
        Ok(outward)
    }

    fn write(&mut self, record: Record) {
        if let Some(disk) = &mut self.disk {
            disk.write(record);
        }
    }

    fn raised(&self, until: Time, fence: Option<Fence>) -> Outward {
        Outward::Raised { first: self.first, fence, until: self.clock.reaches(until) }
    }

    fn send(
        &mut self,
        to: &To,
        message: &Message,
        outward: &mut Vec<Outward>,
    ) -> Result<(), String> {
        grantors::sends(self, message)?;
        if grantors::leaves_out(self, message) {
            return Ok(());
        }
        let by = self.number;
        let from = grantors::sender(self);
        outward.extend(grantors::recipients(to).into_iter().map(|to| {
            let letter = Letter { to, by, from: from.clone(), message: message.clone() };
            Outward::Sent(Box::new(letter))
        }));
        Ok(())
    }
}
