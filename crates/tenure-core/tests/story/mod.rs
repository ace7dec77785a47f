//! A stage for tests that read like stories: nodes with clocks that are moved by hand, and a
//! network that delivers what it is told to.
//!
//! ```text
//! let mut s = Story::new();           // grantors a, b, c; candidates p, q, r; election "x"
//! s.campaign("p");                    // a command; what p sends waits in the network
//! s.deliver_all();                    // everything arrives, and what it causes
//! let late = s.take("p", "a");        // what p sent to a, taken out of the network
//! s.pass(ms(500));                    // all clocks move, timers fire, nothing is delivered
//! s.put(&late);                       // an old letter arrives after all
//! ```

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part of the stage")]

mod disk;
mod letters;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Config, Effect, Event, Extra, Inc, Member, Message, Nerio, Query, Record,
    Request, Sender, Start, State, Who,
};
use tenure_core::{ElectionName, Fence, Input, NodeName, Protocol, Standing, Ticket, Time};

pub use disk::Disk;
pub use letters::*;

pub const GRANTORS: [&str; 3] = ["a", "b", "c"];
pub const CANDIDATES: [&str; 3] = ["p", "q", "r"];

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The instant `millis` milliseconds after the origin of a clock.
pub fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The election of all stories.
pub fn x() -> ElectionName {
    "x".parse().unwrap()
}

pub fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

/// One node of each name is reached at its own port.
pub fn address(name: &str) -> SocketAddr {
    let port = 7_000 + name.bytes().fold(0, |sum, byte| sum * 27 + u16::from(byte - b'`'));
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Lease 1 s (the first one too), R 100 ms, ρ 10 %: figures that can be
/// worked out in the head.
pub fn config(grantors: &[&str]) -> Config {
    let member = |text: &&str| Member { name: name(text), address: address(text) };
    let members = grantors.iter().map(member).collect();
    let mut config = Config::new("story".parse().unwrap(), members).with_lease(ms(1_000));
    config.drift = "0.1".parse().unwrap();
    config.refresh = ms(100);
    config.round_trip = ms(10);
    config.grace = ms(100);
    config.kill_margin = ms(10);
    config
}

/// Something on its way.
#[derive(Clone, Debug)]
pub struct Letter {
    pub from: Sender,
    pub to: SocketAddr,
    pub message: Message,
}

pub struct Actor {
    pub core: Nerio,
    pub clock: Time,
    pub disk: Option<Disk>,
    pub events: Vec<Event>,
    pub claims: Vec<(Time, Option<Fence>)>,
    /// Flushes that have not been answered; only kept when the disk is slow.
    pub flushes: VecDeque<(Ticket, Record)>,
    lives: u128,
}

/// Nodes, their clocks, and the network between them.
pub struct Story {
    pub config: Checked,
    pub actors: BTreeMap<&'static str, Actor>,
    pub letters: Vec<Letter>,
    /// Flushes are answered by hand.
    pub slow_disks: bool,
    /// The next persist of this node fails.
    pub failing: Option<&'static str>,
}

impl Story {
    /// Three grantors that serve, three candidates that do nothing yet.
    pub fn new() -> Self {
        Self::with(config(&GRANTORS))
    }

    /// The same with other settings.
    pub fn with(config: Config) -> Self {
        let mut story = Self::empty(config);
        for grantor in GRANTORS {
            story.start(grantor, Some(Disk::new(u128::from(grantor.as_bytes()[0]) << 96, true)));
        }
        for candidate in CANDIDATES {
            story.start(candidate, None);
        }
        story.letters.clear();
        story
    }

    /// A stage without nodes.
    pub fn empty(config: Config) -> Self {
        Self {
            config: config.check().unwrap(),
            actors: BTreeMap::new(),
            letters: Vec::new(),
            slow_disks: false,
            failing: None,
        }
    }

    /// Begins a life of a node; its clock starts at ten seconds, or where it was.
    pub fn start(&mut self, who: &'static str, disk: Option<Disk>) -> Vec<Effect> {
        let old = self.actors.remove(who);
        let (clock, lives) = old.map_or((at(10_000), 0), |old| (old.clock, old.lives + 1));
        let core = Nerio::new(self.config.clone(), name(who));
        let memory = disk.as_ref().map(Disk::memory);
        let (events, claims, flushes) = (Vec::new(), Vec::new(), VecDeque::new());
        let actor = Actor { core, clock, disk, events, claims, flushes, lives };
        self.actors.insert(who, actor);
        let inc = Inc(inc_of(who, lives));
        self.step(who, Input::Start(Start { inc, seed: 1, memory }))
    }

    /// The process of `who` ends and begins again, with its state directory if it has one.
    pub fn restart(&mut self, who: &'static str) -> Vec<Effect> {
        let disk = self.actor(who).disk.take();
        self.letters.retain(|letter| letter.to != address(who));
        self.start(who, disk)
    }

    /// The machine of `who` is started anew: its clock begins again.
    pub fn reboot(&mut self, who: &'static str) -> Vec<Effect> {
        let actor = self.actor(who);
        actor.clock = at(1_000);
        if let Some(disk) = &mut actor.disk {
            disk.reboot();
        }
        self.restart(who)
    }

    /// The state directory of `who` is lost.
    pub fn lose_disk(&mut self, who: &'static str) -> Vec<Effect> {
        self.actor(who).disk = Some(Disk::new(u128::from(who.as_bytes()[0]) << 64, false));
        self.restart(who)
    }

    /// `who` starts again, and is told that this is the first start of the cluster, on a
    /// directory that may have been lost.
    pub fn found(&mut self, who: &'static str) -> Vec<Effect> {
        self.actor(who).disk.as_mut().unwrap().founding = true;
        self.restart(who)
    }

    /// What is sent from now on is for nodes with these settings.
    pub fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = Config::clone(&self.config);
        change(&mut config);
        self.config = config.check().unwrap();
    }

    pub fn actor(&mut self, who: &str) -> &mut Actor {
        self.actors.get_mut(who).unwrap_or_else(|| panic!("no actor {who}"))
    }

    pub fn who(&self, who: &str) -> Who {
        self.actors[who].core.who().clone()
    }

    pub fn sender(&self, who: &str) -> Sender {
        Sender { who: self.who(who), address: address(who) }
    }

    pub fn now(&self, who: &str) -> Time {
        self.actors[who].clock
    }

    /// Hands one input to one node and carries out what it answers. The effects are returned
    /// as well, for those who want to see all of them.
    pub fn step(
        &mut self,
        who: &'static str,
        input: Input<tenure_core::nerio::Words>,
    ) -> Vec<Effect> {
        let slow = self.slow_disks;
        let failing = self.failing == Some(who);
        let actor = self.actor(who);
        let mut effects = Vec::new();
        actor.core.handle(actor.clock, input, &mut effects);
        let from = Sender { who: actor.core.who().clone(), address: address(who) };
        let (mut flushed, mut sent) = (Vec::new(), Vec::new());
        let mut failed = false;
        for effect in &effects {
            match effect.clone() {
                Effect::Raise { until, fence, .. } => actor.claims.push((until, fence)),
                Effect::Lower { .. } => actor.claims.push((actor.clock, None)),
                Effect::Persist(_) if failing => {
                    failed = true;
                    break;
                }
                Effect::Persist(record) => {
                    if let Some(disk) = &mut actor.disk {
                        disk.write(&record);
                    }
                }
                Effect::Flush(ticket, record) => flushed.push((ticket, record)),
                Effect::Send { to, message } => {
                    sent.push(Letter { from: from.clone(), to, message });
                }
                Effect::Emit { event, .. } => actor.events.push(event),
            }
        }
        self.letters.append(&mut sent);
        if failed {
            // Everything after the write that failed is dropped.
            self.failing = None;
            effects.extend(self.step(who, Input::Failed(None)));
        }
        if slow {
            self.actor(who).flushes.extend(flushed);
        } else {
            for (ticket, record) in flushed {
                effects.extend(self.flushed(who, ticket, &record));
            }
        }
        effects
    }

    /// The record of a flush is durable.
    pub fn flushed(&mut self, who: &'static str, ticket: Ticket, record: &Record) -> Vec<Effect> {
        if let Some(disk) = &mut self.actor(who).disk {
            disk.write(record);
        }
        self.step(who, Input::Flushed(ticket))
    }

    /// The oldest flush of `who` that was not answered is durable.
    pub fn flush_one(&mut self, who: &'static str) -> Vec<Effect> {
        let (ticket, record) = self.actor(who).flushes.pop_front().expect("a flush to answer");
        self.flushed(who, ticket, &record)
    }

    /// `who` starts again from its reserve, in quarantine, on a disk that answers by hand.
    pub fn lose_disk_but_keep_reserve(&mut self, who: &'static str) {
        self.reboot(who);
        self.flush_one(who);
    }

    pub fn command(&mut self, who: &'static str, command: Command) -> Vec<Effect> {
        self.step(who, Input::Command { election: x(), command })
    }

    pub fn campaign(&mut self, who: &'static str) -> Vec<Effect> {
        let value = who.parse().unwrap();
        self.command(who, Command::Campaign { value, priority: 0 })
    }

    /// `asker` asks the node at the address of `leader` whether it leads.
    pub fn verify(&mut self, asker: &'static str, leader: &str) -> Vec<Effect> {
        self.command(asker, Command::Extra(Extra::Verify { leader: address(leader) }))
    }

    pub fn resign(&mut self, who: &'static str) -> Vec<Effect> {
        self.command(who, Command::Resign)
    }

    /// `who` contends for the election and wins it, with a lease of full length everywhere.
    pub fn elect(&mut self, who: &'static str) {
        self.campaign(who);
        self.deliver_all();
        for _ in 0..50 {
            if self.leads(who) && self.events(who).contains(&Event::Settled) {
                return;
            }
            self.run(ms(1));
        }
        panic!("{who} was not elected: {:?}", self.actor(who).events);
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

    /// Delivers everything, and everything that this causes.
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

    /// Delivers what is on its way from one node to another now, and nothing that it causes.
    pub fn deliver(&mut self, from: &str, to: &str) -> Vec<Effect> {
        let letters = self.take(from, to);
        letters.iter().flat_map(|letter| self.put(letter)).collect()
    }

    /// Takes what is on its way from one node to another out of the network.
    pub fn take(&mut self, from: &str, to: &str) -> Vec<Letter> {
        let matches = |l: &Letter| l.from.address == address(from) && l.to == address(to);
        let taken = self.letters.iter().filter(|l| matches(l)).cloned().collect();
        self.letters.retain(|l| !matches(l));
        taken
    }

    /// Delivers from one to another, and takes the answers out of the network.
    pub fn deliver_and_take_answers(&mut self, from: &str, to: &str) -> Vec<Letter> {
        self.deliver(from, to);
        self.take(to, from)
    }

    /// Drops everything that is on its way.
    pub fn drop_all(&mut self) {
        self.letters.clear();
    }

    /// Drops everything but what is on its way from one node to another.
    pub fn drop_all_but(&mut self, from: &str, to: &str) {
        self.letters = self.take(from, to);
    }

    /// Delivers one letter, which may be an old one.
    pub fn put(&mut self, letter: &Letter) -> Vec<Effect> {
        let to = self.actors.keys().find(|name| address(name) == letter.to).copied();
        let Some(to) = to else { return Vec::new() };
        let (from, message) = (letter.from.clone(), letter.message.clone());
        self.step(to, Input::Message { from, message })
    }

    /// A message from one to another, made up.
    pub fn tell(&mut self, from: &str, to: &'static str, message: Message) -> Vec<Effect> {
        let from = self.sender(from);
        self.tell_as(&from, to, message)
    }

    /// A message of a life that may be over, or from an address that may be forged.
    pub fn tell_as(&mut self, from: &Sender, to: &'static str, message: Message) -> Vec<Effect> {
        self.step(to, Input::Message { from: from.clone(), message })
    }

    /// A request from one to another, made up.
    pub fn ask(&mut self, from: &str, to: &'static str, request: Request) -> Vec<Effect> {
        self.tell(from, to, Message::Request(request))
    }

    /// What a grantor says about the election.
    pub fn state(&mut self, grantor: &'static str) -> State {
        let query = Message::Query(Query { election: x(), start: at(1) });
        let answers = self.tell("r", grantor, query);
        self.letters.retain(|letter| !matches!(letter.message, Message::State(_)));
        sent(&answers)
            .find_map(|message| match message {
                Message::State(state) => Some(state.clone()),
                _ => None,
            })
            .unwrap()
    }

    /// Who holds the grant of a grantor.
    pub fn holder(&mut self, grantor: &'static str) -> Option<String> {
        self.state(grantor).holder.map(|holder| holder.who.name.to_string())
    }

    pub fn standing(&self, who: &str) -> Standing {
        let actor = &self.actors[who];
        actor.core.standing(&x(), actor.clock)
    }

    pub fn leads(&self, who: &str) -> bool {
        self.standing(who).is_leading()
    }

    /// Who leads by its own clock. Section 1, Leader Uniqueness: never two.
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

/// A number for each life of each node.
fn inc_of(who: &str, life: u128) -> u128 {
    let byte = u128::from(who.as_bytes()[0]);
    (byte << 120) | (life << 96) | byte
}

/// The effects as people read them, one line each.
pub fn lines(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(ToString::to_string).collect()
}
