//! True time, machines and a network, for any protocol.
//!
//! A [`World`] houses cores. It knows what time it is; they know what their clocks show. It
//! carries their effects out in order, unless something goes wrong: every fault is drawn from one
//! seed, and named, so that a run can be repeated with some of them left out. What the protocol
//! means by its messages, what its applications want and what must hold is the business of its
//! [`Guest`].
//!
//! There are no threads, no wall clock and no hash maps here: the same seed gives the same bytes.

pub mod clock;
pub mod conditions;
pub mod fault;
mod happen;
mod machine;
pub mod queue;

use std::collections::{BTreeSet, VecDeque};

use tenure_core::{Effect, ElectionName, Input, Protocol, Ticket, Time, contract};

use self::clock::Clock;
use self::conditions::{Conditions, DiskFate};
use self::fault::{Fate, Fault, Kind};
use self::queue::Queue;
use crate::recorder::Recorder;
use crate::rng::Rng;

/// What the core of a guest says and hears.
pub type Words<G> = <<G as Guest>::Core as Protocol>::Words;

/// A command about an election.
pub type Wish<G> = (ElectionName, <Words<G> as contract::Words>::Command);

/// A message, and who sent it.
pub type Letter<G> =
    (<Words<G> as contract::Words>::Sender, <Words<G> as contract::Words>::Message);

/// A protocol that moves into a world, with its applications and its judges.
pub trait Guest: Sized {
    /// The core that is housed.
    type Core: Protocol;
    /// What survives a process.
    type Disk: Clone;
    /// What must not be.
    type Wrong;

    /// The core of a node, before it starts.
    fn core(&self, node: usize) -> Self::Core;

    /// The state directory of a node before its first start.
    fn disk(&self, node: usize) -> Self::Disk;

    /// With what a life of a node starts, or why its state directory is refused.
    fn start(
        &self,
        node: usize,
        life: u128,
        disk: &Self::Disk,
    ) -> Result<<Words<Self> as contract::Words>::Start, String>;

    /// Writes a record.
    fn write(&self, disk: &mut Self::Disk, record: <Words<Self> as contract::Words>::Record);

    /// Something happens to a state directory while its process is down; `reboot` if its machine
    /// starts anew. Answers whether it may happen at all.
    fn harm(
        &mut self,
        disks: &mut [&mut Self::Disk],
        node: usize,
        fate: DiskFate,
        reboot: bool,
    ) -> bool;

    /// Who sends, as a receiver sees it.
    fn sender(&self, node: usize, life: u128) -> <Words<Self> as contract::Words>::Sender;

    /// Which node an address belongs to.
    fn find(&self, to: &<Words<Self> as contract::Words>::Address) -> Option<usize>;

    /// What the application of a node wants now.
    fn wish(
        &mut self,
        scene: &Scene<'_>,
        node: usize,
        core: &Self::Core,
        rng: &mut Rng,
    ) -> Option<Wish<Self>>;

    /// Sees what happens, and says what must not be. May answer with a command: what the driver
    /// of this protocol would do at once.
    fn see(
        &mut self,
        scene: &Scene<'_>,
        seen: Seen<'_, Self>,
    ) -> Result<Option<Wish<Self>>, Self::Wrong>;

    /// How often a message is followed by one from somebody who has no right to it: so many times
    /// in 65,536.
    fn forges(&self) -> u16 {
        0
    }

    /// What follows a message of `from`, and in whose name, by a draw.
    fn forge(
        &self,
        _from: &<Words<Self> as contract::Words>::Sender,
        _message: &<Words<Self> as contract::Words>::Message,
        _draw: u64,
    ) -> Option<Letter<Self>> {
        None
    }

    /// Messages arrive, and applications want something, only at multiples of this span of true
    /// time, so that much of it falls together.
    fn grain(&self) -> u64 {
        1
    }

    /// Whether nothing goes wrong with the process of a node by chance: no pause, no end, no early
    /// or late timer. What it is made of goes wrong by itself.
    fn is_spared(&self, _node: usize) -> bool {
        false
    }

    /// Until when in true time the timer of a node may be left asleep, because nothing would
    /// come of it. Asked when a timer is set and when it goes off.
    fn rest(&self, _now: u64, _node: usize) -> Option<u64> {
        None
    }
}

/// What a guest sees of its world.
#[derive(Debug)]
pub struct Scene<'a> {
    /// True time.
    pub now: u64,
    /// What cannot change.
    pub conditions: &'a Conditions,
    /// The clock of the node that it is about.
    pub clock: &'a Clock,
}

/// What a guest is shown.
#[derive(Debug)]
pub enum Seen<'a, G: Guest> {
    /// A life begins.
    Started {
        /// Which node.
        node: usize,
        /// Its life.
        life: u128,
    },
    /// A life has ended.
    Crashed {
        /// Which node.
        node: usize,
    },
    /// An input is about to be handled.
    Input {
        /// Which node.
        node: usize,
        /// The input.
        input: &'a Input<Words<G>>,
    },
    /// It has been handled, and its effects are not carried out yet.
    Handled {
        /// Which node.
        node: usize,
        /// Its core.
        core: &'a G::Core,
        /// Whether it was a timer.
        timer: bool,
    },
    /// An effect is about to be carried out.
    Effect {
        /// Which node.
        node: usize,
        /// Its life.
        life: u128,
        /// The effect.
        effect: &'a Effect<Words<G>>,
        /// What survives of that node.
        disk: &'a G::Disk,
    },
    /// An effect is not carried out, because a write failed: this one, or one before it.
    Dropped {
        /// Which node.
        node: usize,
        /// The effect.
        effect: &'a Effect<Words<G>>,
    },
    /// A moment has passed.
    Moment,
}

enum Happening<G: Guest> {
    Deliver {
        to: usize,
        from: <Words<G> as contract::Words>::Sender,
        message: Msg<G>,
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
    Wish {
        node: usize,
    },
    Incident {
        number: usize,
    },
}

type Msg<G> = <Words<G> as contract::Words>::Message;
type Rec<G> = <Words<G> as contract::Words>::Record;

struct Node<G: Guest> {
    clock: Clock,
    core: Option<G::Core>,
    life: u128,
    /// How many lives it has had.
    lives: u32,
    disk: G::Disk,
    stopped_until: u64,
    /// Whether it never starts again.
    gone: bool,
    /// Whether its process is spared by chance.
    spared: bool,
    /// What is to be carried out when it goes on.
    held: Option<Vec<Effect<Words<G>>>>,
    /// What is being flushed, in the order in which that was asked for.
    flushing: VecDeque<(Ticket, Rec<G>)>,
    /// When the last flush that was asked for will be done.
    flushed_at: u64,
    /// When its timer goes off.
    wake: Option<u64>,
    /// A deadline before which it does, if one is known.
    woken_for: Option<Time>,
    /// How many inputs, timers, writes and wishes it has had: the numbers of its chances.
    inputs: u32,
    timers: u32,
    writes: u32,
    /// Whether this life has written anything.
    wrote: bool,
    wishes: u32,
    /// Messages sent to each node.
    sent: Vec<u32>,
    /// Until when messages to each node are lost.
    cut: Vec<u64>,
}

/// A made-up world and whoever lives in it.
pub struct World<G: Guest> {
    conditions: Conditions,
    /// The protocol, its applications and its judges.
    pub guest: G,
    fate: Fate,
    now: u64,
    events: u64,
    queue: Queue<Happening<G>>,
    nodes: Vec<Node<G>>,
    recorder: Option<Recorder>,
    spare: Vec<Effect<Words<G>>>,
    forges: u16,
    grain: u64,
}

impl<G: Guest> World<G> {
    /// A world in which nothing has happened yet. With `only`, no other fault happens in it.
    pub fn new(conditions: Conditions, guest: G, only: Option<BTreeSet<Fault>>) -> Self {
        let mut queue = Queue::default();
        let count = conditions.sites.len();
        let nodes = conditions.sites.iter().enumerate().map(|(n, site)| Node {
            clock: site.clock.clone(),
            core: None,
            life: 0,
            lives: 0,
            disk: guest.disk(n),
            stopped_until: 0,
            gone: false,
            spared: guest.is_spared(n),
            held: None,
            flushing: VecDeque::new(),
            flushed_at: 0,
            wake: None,
            woken_for: None,
            inputs: 0,
            timers: 0,
            writes: 0,
            wrote: false,
            wishes: 0,
            sent: vec![0; count],
            cut: vec![0; count],
        });
        let nodes = nodes.collect();
        for (node, site) in conditions.sites.iter().enumerate() {
            queue.push(site.starts, Happening::Start { node });
            queue.push(site.starts, Happening::Wish { node });
        }
        for (number, (at, _)) in conditions.incidents.iter().enumerate() {
            queue.push(*at, Happening::Incident { number });
        }
        let fate = Fate::new(conditions.seed, conditions.rates, only);
        let (recorder, spare) = (None, Vec::new());
        let (forges, grain) = (guest.forges(), guest.grain().max(1));
        let (now, events) = (0, 0);
        Self { conditions, guest, fate, now, events, queue, nodes, recorder, spare, forges, grain }
    }

    /// Keeps what happens as lines and as shapes, for people.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        let names = self.conditions.sites.iter().map(|site| site.name.clone()).collect();
        self.recorder = Some(Recorder::new(names));
        self
    }

    /// What was recorded.
    pub fn into_recorder(self) -> Option<Recorder> {
        self.recorder
    }

    /// True time.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// How much has happened: inputs handed to cores, wishes, incidents.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// What went wrong so far.
    pub const fn fate(&self) -> &Fate {
        &self.fate
    }

    /// What cannot change.
    pub const fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The core of a node, if it runs.
    pub fn core(&self, node: usize) -> Option<&G::Core> {
        self.nodes[node].core.as_ref()
    }

    /// Runs to the end, or to what must not be.
    pub fn run(&mut self) -> Result<(), G::Wrong> {
        while self.step()? {}
        Ok(())
    }

    /// Lets one thing happen; false at the end of the world.
    pub fn step(&mut self) -> Result<bool, G::Wrong> {
        if self.queue.first().is_none_or(|at| at > self.conditions.end) {
            return Ok(false);
        }
        let Some((at, happening)) = self.queue.pop() else { return Ok(false) };
        self.now = at;
        self.events += 1;
        self.happen(happening)?;
        self.show(0, Seen::Moment)?;
        Ok(true)
    }

    /// Lets everything happen that happens up to the true time `at`, and waits for that.
    pub fn run_until(&mut self, at: u64) -> Result<(), G::Wrong> {
        while self.queue.first().is_some_and(|first| first <= at) && self.step()? {}
        self.now = self.now.max(at);
        Ok(())
    }

    /// The application of a node wants something now.
    pub fn command(
        &mut self,
        node: usize,
        election: ElectionName,
        command: <Words<G> as contract::Words>::Command,
    ) -> Result<(), G::Wrong> {
        self.input(node, Input::Command { election, command })
    }

    fn strikes(&mut self, kind: Kind, place: usize, count: u32) -> bool {
        self.now < self.conditions.storm_ends && self.fate.strikes(kind, place, count, self.now)
    }

    /// The same for a fault of the process of a node.
    fn hits(&mut self, kind: Kind, node: usize, count: u32) -> bool {
        !self.nodes[node].spared && self.strikes(kind, node, count)
    }

    fn note(&mut self, node: usize, line: impl FnOnce() -> String) {
        if let Some(recorder) = &mut self.recorder {
            recorder.line(self.now, node, line());
        }
    }

    /// Shows the guest something that borrows nothing of the world.
    // Inlined: what is shown is known at each call, and so is what the guest makes of it.
    #[inline(always)]
    fn show(&mut self, node: usize, seen: Seen<'_, G>) -> Result<Option<Wish<G>>, G::Wrong> {
        let scene = Scene::of(&self.conditions, &self.nodes[node].clock, self.now);
        self.guest.see(&scene, seen)
    }
}

impl<'a> Scene<'a> {
    const fn of(conditions: &'a Conditions, clock: &'a Clock, now: u64) -> Self {
        Self { now, conditions, clock }
    }

    /// What the clock of the node shows.
    #[must_use]
    pub fn local(&self) -> Time {
        self.clock.shows(self.now)
    }
}
