//! True time, machines and a network, for any protocol.
//!
//! A [`World`] runs nodes: the processes of a protocol, and services such as a store or a bus. The
//! world knows true time; nodes know what their clocks show. The world carries the effects of nodes
//! out in order, unless a fault strikes. Each fault is drawn from one seed and has a name, so that
//! a run can be repeated without some of them. The [`System`] that runs in a world gives meaning to
//! messages, commands and violations; whole worlds run a [`Run`](crate::scenario::Run) of a
//! scenario.
//!
//! All clocks are drawn, and there are no threads and no hash maps here: the same seed gives the
//! same bytes.

pub mod clock;
pub mod conditions;
pub mod fault;
mod happen;
mod machine;
pub mod node;
pub mod nodes;
pub mod queue;

use std::collections::{BTreeSet, VecDeque};

use tenure_core::{
    Clocks, Effect, ElectionName, Input, Protocol, Ticket, Time, WallTime, contract,
};

use self::clock::Clock;
use self::conditions::{Conditions, DiskFate};
use self::fault::{Fate, Fault, Kind};
use self::nodes::Nodes;
use self::queue::Queue;
use crate::recorder::Recorder;
use crate::rng::Rng;

/// Types of a system's messages, commands and events.
pub type Words<G> = <<G as System>::Core as Protocol>::Words;

pub type Command<G> = (ElectionName, <Words<G> as contract::Words>::Command);

/// A message with its sender.
pub type Letter<G> =
    (<Words<G> as contract::Words>::Sender, <Words<G> as contract::Words>::Message);

/// A system: nodes, their state directories and addresses, applications, and an observer of all
/// events.
pub trait System: Sized {
    type Core: Protocol;
    /// State that survives a process.
    type Disk: Clone;
    type Violation;

    /// Makes the core of a node before its start. `clock` is the clock of the machine since it was
    /// switched on.
    fn core(&self, node: usize, clock: &Clock) -> Self::Core;

    /// The state directory of a node before its first start.
    fn disk(&self, node: usize) -> Self::Disk;

    /// The start of a node's life, or the reason why its state directory is refused.
    fn start(
        &self,
        node: usize,
        life: u128,
        disk: &Self::Disk,
    ) -> Result<<Words<Self> as contract::Words>::Start, String>;

    fn write(&self, disk: &mut Self::Disk, record: <Words<Self> as contract::Words>::Record);

    /// Damages a state directory while its process is down; with `reboot` its machine restarts.
    /// Returns whether the system allows the damage.
    fn damage(
        &mut self,
        disks: &mut [&mut Self::Disk],
        node: usize,
        fate: DiskFate,
        reboot: bool,
    ) -> bool;

    /// The sender of a message to this address, as a receiver sees the sender.
    fn sender(
        &self,
        node: usize,
        life: u128,
        to: &<Words<Self> as contract::Words>::Address,
    ) -> <Words<Self> as contract::Words>::Sender;

    /// The nodes that get messages from `from` to this address: several nodes behind a bus or a
    /// group, or none.
    fn recipients(&self, from: usize, to: &<Words<Self> as contract::Words>::Address) -> Nodes;

    /// The next command of a node's application.
    fn next_command(
        &mut self,
        context: &Context<'_>,
        node: usize,
        core: &Self::Core,
        rng: &mut Rng,
    ) -> Option<Command<Self>>;

    /// Handles an event; a violation ends the world. May answer an effect with commands of the
    /// driver, which the core gets after all effects of that input.
    fn see(
        &mut self,
        context: &Context<'_>,
        occurrence: Occurrence<'_, Self>,
    ) -> Result<Option<Command<Self>>, Self::Violation>;

    /// A forged message that follows `message` of `from`, with its pretended sender.
    fn forge(
        &self,
        _from: &<Words<Self> as contract::Words>::Sender,
        _message: &<Words<Self> as contract::Words>::Message,
        _draw: u64,
    ) -> Option<Letter<Self>> {
        None
    }

    /// Whether random faults spare a node: no pause, no end, no early or late timer. Services have
    /// planned faults of their own.
    fn is_spared(&self, _node: usize) -> bool {
        false
    }

    /// True time until which a node's timer may stay asleep, because the timer would change
    /// nothing. Called when a timer is set and when it expires.
    fn rest(&self, _now: u64, _node: usize) -> Option<u64> {
        None
    }
}

/// The world around a node at one instant.
#[derive(Debug)]
pub struct Context<'a> {
    pub now: u64,
    pub conditions: &'a Conditions,
    pub clock: &'a Clock,
    /// Lead of the node's wall clock over true time.
    pub wall: i64,
    /// Time of the clock reading for the node's last input: earlier than `now` if the process was
    /// stopped in the meantime.
    pub sampled: u64,
}

/// An event that a system sees.
#[derive(Debug)]
pub enum Occurrence<'a, G: System> {
    /// A life begins.
    Started { node: usize, life: u128 },
    /// A life has ended.
    Crashed { node: usize },
    /// An input is about to be handled.
    Input { node: usize, input: &'a Input<Words<G>> },
    /// The input has been handled; its effects are not carried out yet.
    Handled {
        node: usize,
        core: &'a G::Core,
        /// Whether the input was a timer.
        timer: bool,
    },
    /// An effect is about to be carried out.
    Effect { node: usize, life: u128, effect: &'a Effect<Words<G>>, disk: &'a G::Disk },
    /// An effect is dropped, because its write or an earlier write failed.
    Dropped { node: usize, effect: &'a Effect<Words<G>> },
    /// An incident happens.
    Incident {
        /// Index in the incidents of the conditions.
        number: usize,
    },
    /// A moment has passed.
    Moment,
}

enum Happening<G: System> {
    Deliver {
        to: usize,
        /// The message as an input, so that the world moves it only once.
        input: Input<Words<G>>,
        arrow: usize,
    },
    Resume {
        node: usize,
        life: u128,
    },
    Flushed {
        node: usize,
        life: u128,
    },
    Wake {
        node: usize,
        life: u128,
    },
    Start {
        node: usize,
    },
    Command {
        node: usize,
    },
    Incident {
        number: usize,
    },
}

type Msg<G> = <Words<G> as contract::Words>::Message;
type Rec<G> = <Words<G> as contract::Words>::Record;

struct Machine<G: System> {
    clock: Clock,
    /// Lead of the machine's wall clock over true time.
    wall: i64,
    /// Time of the last clock reading.
    sampled: u64,
    core: Option<G::Core>,
    life: u128,
    lives: u32,
    disk: G::Disk,
    stopped_until: u64,
    /// Whether the node never starts again.
    gone: bool,
    /// Whether random faults spare the node's process.
    spared: bool,
    /// Effects to carry out when the process goes on.
    held: Option<Vec<Effect<Words<G>>>>,
    /// Commands of the driver to its core after the present effects, the last first.
    owed: Vec<Command<G>>,
    /// Flushes under way, in the order in which they began.
    flushing: VecDeque<(Ticket, Rec<G>)>,
    /// Time at which the last flush ends.
    flushed_at: u64,
    /// Time of the node's timer.
    wake: Option<u64>,
    /// A deadline at or before which the timer expires, if known.
    woken_for: Option<Time>,
    /// Numbers of the node's inputs, timers, writes and commands, by which the node's chances are
    /// drawn.
    inputs: u32,
    timers: u32,
    writes: u32,
    /// Whether this life has written a record.
    wrote: bool,
    commands: u32,
    /// Number of messages to each node.
    sent: Vec<u32>,
    /// Arrival of the latest message to each node, in worlds that keep the order of messages.
    arrives: Vec<u64>,
    /// End of the cut to each node.
    cut: Vec<u64>,
}

impl<G: System> Machine<G> {
    const fn context<'a>(&'a self, conditions: &'a Conditions, now: u64) -> Context<'a> {
        Context { now, conditions, clock: &self.clock, wall: self.wall, sampled: self.sampled }
    }
}

/// A made-up world, with the system that runs in it.
pub struct World<G: System> {
    conditions: Conditions,
    /// Nodes, applications and checks.
    pub system: G,
    fate: Fate,
    now: u64,
    events: u64,
    queue: Queue<Happening<G>>,
    nodes: Vec<Machine<G>>,
    recorder: Option<Recorder>,
    spare: Vec<Effect<Words<G>>>,
}

impl<G: System> World<G> {
    /// A world without any event yet. With `only`, all other faults are excluded.
    pub fn new(conditions: Conditions, system: G, only: Option<BTreeSet<Fault>>) -> Self {
        let mut queue = Queue::default();
        let count = conditions.sites.len();
        let nodes = conditions.sites.iter().enumerate().map(|(n, site)| Machine {
            clock: site.clock.clone(),
            wall: site.wall,
            sampled: 0,
            core: None,
            life: 0,
            lives: 0,
            disk: system.disk(n),
            stopped_until: 0,
            gone: false,
            spared: system.is_spared(n),
            held: None,
            owed: Vec::new(),
            flushing: VecDeque::new(),
            flushed_at: 0,
            wake: None,
            woken_for: None,
            inputs: 0,
            timers: 0,
            writes: 0,
            wrote: false,
            commands: 0,
            sent: vec![0; count],
            arrives: vec![0; count],
            cut: vec![0; count],
        });
        let nodes = nodes.collect();
        for (node, site) in conditions.sites.iter().enumerate() {
            queue.push(site.starts, Happening::Start { node });
            queue.push(site.starts, Happening::Command { node });
        }
        for (number, (at, _)) in conditions.incidents.iter().enumerate() {
            queue.push(*at, Happening::Incident { number });
        }
        let fate = Fate::new(conditions.seed, conditions.rates, only);
        let recorder = None;
        let spare = Vec::new();
        let now = 0;
        let events = 0;
        Self { conditions, system, fate, now, events, queue, nodes, recorder, spare }
    }

    /// Records events as lines and as shapes, for people.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        let names = self.conditions.sites.iter().map(|site| site.name.clone()).collect();
        self.recorder = Some(Recorder::new(names));
        self
    }

    pub fn into_recorder(self) -> Option<Recorder> {
        self.recorder
    }

    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The number of events: inputs to cores, commands, incidents.
    pub const fn events(&self) -> u64 {
        self.events
    }

    pub const fn fate(&self) -> &Fate {
        &self.fate
    }

    /// The core of a node, if it runs.
    pub fn core(&self, node: usize) -> Option<&G::Core> {
        self.nodes[node].core.as_ref()
    }

    /// Runs to the end, or to a violation.
    pub fn run(&mut self) -> Result<(), G::Violation> {
        while self.step()? {}
        Ok(())
    }

    /// Runs one event; returns false at the end of the world.
    pub fn step(&mut self) -> Result<bool, G::Violation> {
        if self.queue.first().is_none_or(|at| at > self.conditions.end) {
            return Ok(false);
        }
        let Some((at, happening)) = self.queue.pop() else { return Ok(false) };
        self.now = at;
        self.events += 1;
        self.happen(happening)?;
        self.show(0, Occurrence::Moment)?;
        Ok(true)
    }

    /// Runs all events up to the true time `at`, and ends at that time.
    pub fn run_until(&mut self, at: u64) -> Result<(), G::Violation> {
        while self.queue.first().is_some_and(|first| first <= at) && self.step()? {}
        self.now = self.now.max(at);
        Ok(())
    }

    /// Gives a command to the application of a node.
    pub fn command(
        &mut self,
        node: usize,
        election: ElectionName,
        command: <Words<G> as contract::Words>::Command,
    ) -> Result<(), G::Violation> {
        self.input(node, Input::Command { election, command })
    }

    fn strikes(&mut self, kind: Kind, place: usize, count: u32) -> bool {
        self.now < self.conditions.storm_ends && self.fate.strikes(kind, place, count, self.now)
    }

    /// Whether a fault of a node's process strikes.
    fn hits(&mut self, kind: Kind, node: usize, count: u32) -> bool {
        !self.nodes[node].spared && self.strikes(kind, node, count)
    }

    fn note(&mut self, node: usize, line: impl FnOnce() -> String) {
        if let Some(recorder) = &mut self.recorder {
            recorder.line(self.now, node, line());
        }
    }

    /// Shows an occurrence to the system. The occurrence borrows nothing from the world.
    // Inlined: the kind of occurrence is known at each call, and so is the system's reaction.
    #[inline(always)]
    fn show(
        &mut self,
        node: usize,
        occurrence: Occurrence<'_, G>,
    ) -> Result<Option<Command<G>>, G::Violation> {
        let context = self.nodes[node].context(&self.conditions, self.now);
        self.system.see(&context, occurrence)
    }
}

/// Wall time at the beginning of every world.
pub const EPOCH: u64 = 1_800_000_000_000_000_000;

/// Clock readings of a machine at one instant.
struct Reading {
    local: Time,
    wall: WallTime,
    compares: bool,
}

impl Clocks for Reading {
    #[inline]
    fn since_boot(&self) -> Time {
        self.local
    }

    #[inline]
    fn wall(&self) -> WallTime {
        self.wall
    }

    #[inline]
    fn compares_wall(&self) -> bool {
        self.compares
    }
}

impl Context<'_> {
    fn reading(&self, local: Time) -> Reading {
        Reading { local, wall: self.wall(), compares: self.conditions.reads_wall }
    }

    /// Reading of the wall clock for the last input.
    #[must_use]
    pub const fn wall(&self) -> WallTime {
        WallTime::from_nanos((EPOCH + self.sampled).saturating_add_signed(self.wall))
    }

    /// Present reading of the wall clock.
    #[must_use]
    pub const fn wall_now(&self) -> WallTime {
        WallTime::from_nanos((EPOCH + self.now).saturating_add_signed(self.wall))
    }

    /// Present reading of the clock of the node.
    #[must_use]
    pub fn local(&self) -> Time {
        self.clock.shows(self.now)
    }

    /// Reading of the clock for the node's last input.
    #[must_use]
    pub fn sample(&self) -> Time {
        self.clock.shows(self.sampled)
    }
}
