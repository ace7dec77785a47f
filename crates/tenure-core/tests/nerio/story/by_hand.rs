//! Nodes whose clocks a test moves by hand, and a network that delivers letters on demand.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Command, Effect, Event, Message, Nerio, Record, Remembered, Sender, Words,
};
use tenure_core::{BothClocks, Fence, Input, Protocol, Reading, Standing, Ticket, Time, WallTime};

use super::{Story, address, members, x};

#[derive(Clone, Debug)]
pub struct Letter {
    pub by: &'static str,
    pub from: Sender,
    /// The receiver's address.
    pub to: SocketAddr,
    pub message: Message,
}

pub struct Actor {
    pub core: Nerio,
    pub clock: Time,
    /// `None` for a node without a directory.
    pub disk: Option<Remembered>,
    pub events: Vec<Event>,
    /// Claims with their ends on the node's clock; a lowered claim has no fence.
    pub claims: Vec<(Time, Option<Fence>)>,
    /// Ends of claims on the node's wall clock.
    pub bounds: Vec<WallTime>,
    /// Lead of the node's wall clock over [`EPOCH`] and its other clock, in milliseconds; `None`
    /// for a node that reads no wall clock.
    pub lead: Option<i64>,
    /// Flushes not answered yet, while disks are slow.
    pub flushes: VecDeque<(Ticket, Record)>,
    /// Number of earlier processes.
    pub lives: u32,
}

/// Wall time at the origin of all other clocks, if no wall clock is ahead.
const EPOCH: u64 = 1_800_000_000_000_000_000;

/// The wall time at `clock` with a lead in milliseconds.
pub fn wall_at(clock: Time, lead: i64) -> WallTime {
    let true_time = EPOCH + clock.as_nanos();
    WallTime::from_nanos(true_time.saturating_add_signed(lead * 1_000_000))
}

impl Actor {
    /// A node that has not started.
    pub fn new(core: Nerio, clock: Time, disk: Option<Remembered>, lives: u32) -> Self {
        let (events, claims, bounds, flushes) =
            (Vec::new(), Vec::new(), Vec::new(), VecDeque::new());
        let lead = core.config().clock_skew_max.map(|_| 0);
        Self { core, clock, disk, events, claims, bounds, lead, flushes, lives }
    }

    /// Present reading of the clocks, at one instant.
    pub fn reading(&self) -> Reading {
        let (boot, apart) = (self.clock, Duration::ZERO);
        let both = self.wall().map(|wall| BothClocks { boot, wall, apart });
        Reading { boot, both }
    }

    pub fn wall(&self) -> Option<WallTime> {
        Some(wall_at(self.clock, self.lead?))
    }
}

impl Story {
    pub fn actor(&mut self, who: &str) -> &mut Actor {
        self.actors.get_mut(who).unwrap_or_else(|| panic!("no actor {who}"))
    }

    pub fn now(&self, who: &str) -> Time {
        self.actors[who].clock
    }

    fn has_settled(&self, who: &str) -> bool {
        self.events(who).iter().any(|event| matches!(event, Event::Settled))
    }

    /// Hands one input to one node and carries out its effects, which are returned as well.
    pub fn step(&mut self, who: &'static str, input: Input<Words>) -> Vec<Effect> {
        let slow = self.slow_disks;
        let failing = self.failing == Some(who);
        let actor = self.actor(who);
        let mut effects = Vec::new();
        actor.core.handle(actor.reading(), input, &mut effects);
        let core = &actor.core;
        let from = members::sender(core.config(), core.who().clone(), address(who));
        let (mut flushed, mut sent) = (Vec::new(), Vec::new());
        let mut failed = false;
        for effect in &effects {
            match effect.clone() {
                Effect::Bound { wall, .. } => actor.bounds.push(wall),
                Effect::Raise { until, fence, .. } => actor.claims.push((until, fence)),
                Effect::Lower { .. } => actor.claims.push((actor.clock, None)),
                Effect::Persist(_) if failing => {
                    failed = true;
                    break;
                }
                Effect::Persist(record) => {
                    if let Some(disk) = &mut actor.disk {
                        disk.write(record);
                    }
                }
                Effect::Flush(ticket, record) => flushed.push((ticket, record)),
                Effect::Send { to, message } => {
                    let from = Sender { epoch: to.epoch, ..from.clone() };
                    let to = members::place(core, to.recipient);
                    sent.push(Letter { by: who, from, to, message });
                }
                Effect::Emit { event, .. } => actor.events.push(event),
            }
        }
        self.letters.append(&mut sent);
        if failed {
            // A failed write drops every effect after it.
            self.failing = None;
            effects.extend(self.step(who, Input::Failed(None)));
        }
        if slow {
            self.actor(who).flushes.extend(flushed);
        } else {
            for (ticket, record) in flushed {
                effects.extend(self.flushed(who, ticket, record));
            }
        }
        effects
    }

    /// The record of a flush is durable.
    pub fn flushed(&mut self, who: &'static str, ticket: Ticket, record: Record) -> Vec<Effect> {
        if let Some(disk) = &mut self.actor(who).disk {
            disk.write(record);
        }
        self.step(who, Input::Flushed(ticket))
    }

    /// The oldest unanswered flush of `who` is durable.
    pub fn flush_one(&mut self, who: &'static str) -> Vec<Effect> {
        let (ticket, record) = self.actor(who).flushes.pop_front().expect("a flush to answer");
        self.flushed(who, ticket, record)
    }

    pub fn command(&mut self, who: &'static str, command: Command) -> Vec<Effect> {
        self.step(who, Input::Command { election: x(), command })
    }

    pub fn campaign(&mut self, who: &'static str) -> Vec<Effect> {
        let value = who.parse().unwrap();
        self.command(who, Command::Campaign { value, priority: 0 })
    }

    pub fn resign(&mut self, who: &'static str) -> Vec<Effect> {
        self.command(who, Command::Resign)
    }

    /// `who` contends for the election and wins it, with a lease of full length everywhere.
    pub fn elect(&mut self, who: &'static str) {
        self.campaign(who);
        self.deliver_all();
        for _ in 0..50 {
            if self.leads(who) && self.has_settled(who) {
                return;
            }
            self.run(Duration::from_millis(1));
        }
        panic!("{who} was not elected");
    }

    /// All clocks move on; timers that fall due fire in time; the network stands still.
    pub fn pass(&mut self, span: Duration) {
        self.time(span, false);
    }

    /// All clocks move on; timers fire in time; everything sent arrives at once.
    pub fn run(&mut self, span: Duration) {
        self.time(span, true);
    }

    fn time(&mut self, span: Duration, network: bool) {
        let mut left = span;
        if network {
            self.deliver_all();
        }
        loop {
            let until_due = |actor: &Actor| {
                actor.core.deadline().map(|deadline| deadline.at.since(actor.clock))
            };
            let nearest = self.actors.values().filter_map(until_due).min().unwrap_or(left);
            let slice = nearest.min(left);
            left -= slice;
            self.slip(slice);
            self.timers();
            if network {
                self.deliver_all();
            }
            if left.is_zero() {
                return;
            }
        }
    }

    /// All clocks move on and no timer fires.
    pub fn slip(&mut self, span: Duration) {
        for actor in self.actors.values_mut() {
            actor.clock = actor.clock.after(span);
        }
    }

    /// Fires every timer that is due, once.
    pub fn timers(&mut self) {
        let due = |actor: &Actor| actor.core.deadline().is_some_and(|d| d.at <= actor.clock);
        let names: Vec<&'static str> =
            self.actors.iter().filter(|(_, actor)| due(actor)).map(|(name, _)| *name).collect();
        for name in names {
            self.step(name, Input::Timeout);
        }
    }

    /// Delivers everything, and everything that follows from that.
    pub fn deliver_all(&mut self) {
        for _ in 0..10_000 {
            if self.letters.is_empty() {
                return;
            }
            let letter = self.letters.remove(0);
            self.put(&letter);
        }
        panic!("the network never falls silent");
    }

    /// Delivers the letters now under way from one node to another, and no later ones.
    pub fn deliver(&mut self, from: &str, to: &str) -> Vec<Effect> {
        let letters = self.take(from, to);
        letters.iter().flat_map(|letter| self.put(letter)).collect()
    }

    /// Takes the letters under way from one node to another out of the network.
    pub fn take(&mut self, from: &str, to: &str) -> Vec<Letter> {
        let at = address(to);
        let matches = |l: &Letter| l.by == from && l.to == at;
        let taken = self.letters.iter().filter(|l| matches(l)).cloned().collect();
        self.letters.retain(|l| !matches(l));
        taken
    }

    /// Delivers the letters from one node to another, and takes the answers out of the network.
    pub fn deliver_and_take_answers(&mut self, from: &str, to: &str) -> Vec<Letter> {
        self.deliver(from, to);
        self.take(to, from)
    }

    pub fn drop_all(&mut self) {
        self.letters.clear();
    }

    /// Drops every letter except the letters from one node to another.
    pub fn drop_all_but(&mut self, from: &str, to: &str) {
        self.letters = self.take(from, to);
    }

    /// Delivers one letter, possibly an old one.
    pub fn put(&mut self, letter: &Letter) -> Vec<Effect> {
        let to = self.actors.keys().find(|name| letter.to == address(name)).copied();
        let Some(to) = to else { return Vec::new() };
        let (from, message) = (letter.from.clone(), letter.message.clone());
        self.step(to, Input::Message { from, message })
    }

    /// Hands over a message whose sender may have ended, or may be forged.
    pub fn tell_as(&mut self, from: &Sender, to: &'static str, message: Message) -> Vec<Effect> {
        self.step(to, Input::Message { from: from.clone(), message })
    }

    pub fn standing(&self, who: &str) -> Standing {
        let actor = &self.actors[who];
        actor.core.standing(&x(), actor.clock)
    }

    /// Whether `who` leads, by its own clock.
    pub fn leads(&self, who: &str) -> bool {
        self.standing(who).is_leading()
    }

    /// The leader, by its own clock; panics with two.
    pub fn leader(&self) -> Option<&'static str> {
        let mut leaders = self.actors.keys().copied().filter(|who| self.leads(who));
        let leader = leaders.next();
        assert_eq!(leaders.next(), None, "Leader Uniqueness: {leader:?} leads too");
        leader
    }

    pub fn fence(&self, who: &str) -> u64 {
        match self.standing(who) {
            Standing::Leading { fence: Some(fence), .. } => fence.number(),
            other => panic!("{who} does not lead: {other:?}"),
        }
    }

    pub fn until(&self, who: &str) -> Time {
        match self.standing(who) {
            Standing::Leading { until, .. } => until,
            Standing::NotLeading => panic!("{who} does not lead"),
        }
    }

    pub fn events(&self, who: &str) -> &[Event] {
        &self.actors[who].events
    }
}
