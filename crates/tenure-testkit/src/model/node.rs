//! A node: the real core, its clock and its disk, and the effect of an input on them.

use std::collections::VecDeque;

use tenure_core::{Command, Effect, Event, Fence, Input, Protocol, Time};

use super::known::Known;
use super::{Clock, Cluster, Life, Setting};
use crate::players::{AddressOf, MessageOf, SenderOf, WordsOf};

/// Reading of a clock when its machine starts.
const ORIGIN: u64 = 10_000_000_000;

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<C: Cluster> {
    /// Its place among the nodes.
    pub number: usize,
    /// How many lives it had before this one.
    pub life: u8,
    pub clock: Clock,
    /// Whether its application wants it to lead.
    pub campaigning: bool,
    pub note: C::Note,
    pub core: C::Core,
    /// State that outlives the process.
    pub disk: Option<C::Disk>,
}

/// Something on its way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Letter<C: Cluster> {
    pub(crate) to: usize,
    pub(crate) by: usize,
    pub(crate) from: SenderOf<C>,
    pub(crate) message: MessageOf<C>,
}

impl<C: Cluster> Letter<C> {
    /// Channel of a letter; letters of one channel keep their order.
    pub(crate) fn channel(&self) -> (usize, usize) {
        (self.to, self.by)
    }
}

/// Stimulus of a node.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Stimulus<C: Cluster> {
    Letter(Known<Letter<C>>),
    Timeout,
    Campaign,
    Resign,
    /// The process ends and begins again.
    Restart(C::Lost),
}

/// Effect of a node on others.
pub(crate) enum Outward<C: Cluster> {
    /// The node leads until this true time.
    Raised {
        note: C::Note,
        fence: Option<Fence>,
        until: u64,
    },
    Lowered,
    Stamped(C::Stamp),
    Sent(Letter<C>),
}

impl<C: Cluster> Node<C> {
    /// Started at the true time zero.
    pub(crate) fn new(setting: &Setting<C>, number: usize) -> Self {
        let clock = Clock { origin: ORIGIN, since: 0, rate: setting.rates[number] };
        let core = C::core(setting, number);
        let disk = C::disk(setting, number);
        let note = C::Note::default();
        let mut node = Self { number, life: 0, clock, campaigning: false, note, core, disk };
        node.feed(setting, 0, node.start()).expect("starting violates nothing");
        node
    }

    /// The life of it that goes on.
    pub fn life(&self) -> Life {
        Life { node: self.number, number: self.life }
    }

    fn start(&self) -> Input<WordsOf<C>> {
        Input::Start(C::start(self.life(), self.disk.as_ref()))
    }

    /// Whether its timer is due at the true time `at`.
    pub(crate) fn is_due(&self, at: u64) -> bool {
        self.core.deadline().is_some_and(|deadline| deadline.at <= self.clock.shows(at))
    }

    /// Whether it leads at the true time `at`.
    pub fn leads(&self, at: u64) -> bool {
        self.core.standing(&C::election(), self.clock.shows(at)).is_leading()
    }

    /// State of the node after a stimulus at the true time `at`; an error is a violated property.
    pub(crate) fn hit(
        &self,
        setting: &Setting<C>,
        at: u64,
        stimulus: &Stimulus<C>,
    ) -> Result<(Self, Vec<Outward<C>>), String> {
        let mut node = self.clone();
        let command = |command| Input::Command { election: C::election(), command };
        let input = match stimulus {
            Stimulus::Letter(letter) => {
                Input::Message { from: letter.from.clone(), message: letter.message.clone() }
            }
            Stimulus::Timeout => Input::Timeout,
            Stimulus::Campaign => {
                node.campaigning = true;
                command(C::campaign(self.number))
            }
            Stimulus::Resign => command(Command::Resign),
            Stimulus::Restart(lost) => {
                node.life += 1;
                node.campaigning = false;
                node.core = C::core(setting, self.number);
                C::lose(*lost, node.life(), at, &mut node.clock, &mut node.disk);
                node.start()
            }
        };
        let outward = node.feed(setting, at, input)?;
        Ok((node, outward))
    }

    /// Hands over one input, carries out its effects in their order, and answers the flushes:
    /// the disk of the model is fast.
    fn feed(
        &mut self,
        setting: &Setting<C>,
        at: u64,
        input: Input<WordsOf<C>>,
    ) -> Result<Vec<Outward<C>>, String> {
        let mut inputs = VecDeque::from([input]);
        let mut outward = Vec::new();
        let now = C::now(setting, self.number, self.clock.shows(at), at);
        while let Some(input) = inputs.pop_front() {
            let mut effects = Vec::new();
            self.core.handle(now, input, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Raise { until, fence, .. } => outward.push(self.raised(until, fence)),
                    Effect::Lower { .. } => outward.push(Outward::Lowered),
                    Effect::Persist(record) => self.disk.iter_mut().for_each(|disk| {
                        C::write(disk, record.clone());
                    }),
                    Effect::Flush(ticket, record) => {
                        self.disk.iter_mut().for_each(|disk| C::write(disk, record.clone()));
                        inputs.push_back(Input::Flushed(ticket));
                    }
                    Effect::Send { to, message } => self.send(&to, &message, &mut outward)?,
                    Effect::Emit { event: Event::Own(own), .. } => {
                        outward.extend(C::stamp(&own).map(Outward::Stamped));
                    }
                    Effect::Emit { event: Event::Ended(_), .. } => self.campaigning = false,
                    Effect::Emit { .. } => {}
                }
            }
        }
        Ok(outward)
    }

    fn raised(&self, until: Time, fence: Option<Fence>) -> Outward<C> {
        Outward::Raised { note: self.note.clone(), fence, until: self.clock.reaches(until) }
    }

    fn send(
        &mut self,
        to: &AddressOf<C>,
        message: &MessageOf<C>,
        outward: &mut Vec<Outward<C>>,
    ) -> Result<(), String> {
        C::sends(self, message)?;
        if C::leaves_out(self, message) {
            return Ok(());
        }
        let by = self.number;
        let from = C::sender_of(self);
        let letter = |to| Letter { to, by, from: from.clone(), message: message.clone() };
        outward.extend(C::recipients(by, to).into_iter().map(letter).map(Outward::Sent));
        Ok(())
    }
}
