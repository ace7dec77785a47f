//! A stage for tests that read like stories: nodes whose clocks a test moves by hand, and a network
//! that delivers on demand.
//!
//! ```text
//! let mut s = Story::new();           // grantors a, b, c; candidates p, q, r; election "x"
//! s.campaign("p");                    // a command; p's messages wait in the network
//! s.deliver_all();                    // everything arrives, and everything that follows
//! let late = s.take("p", "a");        // p's messages to a, taken out of the network
//! s.pass(ms(500));                    // all clocks move, timers fire, nothing is delivered
//! s.put(&late);                       // an old letter arrives after all
//! ```

#![allow(unreachable_pub, reason = "a stage is written as a library is")]

mod by_hand;
mod letters;
pub(crate) mod members;
mod ring;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Config, Effect, Extra, FenceSeen, Inc, Instance, Member, Message, Nerio,
    Query, Remembered, Request, Roster, Sender, Start, State, ToAsker, ToGrantor, Who,
};
use tenure_core::{ElectionName, Fence, Input, NodeName, Time};

pub use by_hand::*;
pub use letters::*;
pub use ring::*;
pub use tenure_testkit::stage::ms;

pub const GRANTORS: [&str; 3] = ["a", "b", "c"];
pub const CANDIDATES: [&str; 3] = ["p", "q", "r"];

/// The instant `millis` milliseconds after the origin of a clock.
pub fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub fn x() -> ElectionName {
    "x".parse().unwrap()
}

pub fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

/// The address of a name: each name has its own port.
pub fn address(name: &str) -> SocketAddr {
    let port = 7_000 + name.bytes().fold(0, |sum, byte| sum * 27 + u16::from(byte - b'`'));
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Pause before a candidate asks again.
pub const REFRESH: Duration = Duration::from_millis(100);

/// Lease 1 s (the first one too), R 100 ms, ρ 10 %: figures for mental arithmetic.
pub fn config(grantors: &[&str]) -> Config {
    let member = |text: &&str| Member::at(name(text), address(text));
    let members = grantors.iter().map(member).collect();
    let mut config = Config::new("story".parse().unwrap(), members).with_lease(ms(1_000));
    config.drift = "0.1".parse().unwrap();
    config.refresh = REFRESH;
    config.round_trip = ms(10);
    config.grace = ms(100);
    config.kill_margin = ms(10);
    config
}

/// Grantors and candidates with these settings, their clocks, and the network between them.
pub struct Story {
    pub config: Checked,
    pub actors: BTreeMap<&'static str, Actor>,
    pub letters: Vec<Letter>,
    /// Whether tests answer flushes by hand.
    pub slow_disks: bool,
    /// Node whose next persist fails.
    pub failing: Option<&'static str>,
    /// Clock of the machines at each start, in milliseconds since 1970. `None` if the members found
    /// their cluster without a document.
    pub wall: Option<u64>,
    /// Number of directories so far.
    directories: u64,
}

impl Story {
    /// Three grantors that serve, three candidates that do nothing yet.
    pub fn new() -> Self {
        Self::with(config(&GRANTORS))
    }

    /// Three grantors and three candidates with other settings.
    pub fn with(config: Config) -> Self {
        let mut story = Self::empty(config);
        for grantor in GRANTORS {
            let disk = story.directory(true);
            story.start(grantor, Some(disk));
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
            wall: None,
            directories: 0,
        }
    }

    /// Begins an incarnation of a node; its clock starts at ten seconds, or where it was.
    pub fn start(&mut self, who: &'static str, disk: Option<Remembered>) -> Vec<Effect> {
        let old = self.actors.remove(who);
        let (clock, lives) = old.map_or((at(10_000), 0), |old| (old.clock, old.lives + 1));
        let core = Nerio::new(self.config.clone(), name(who));
        let wall = self.wall;
        let memory = disk.as_ref().map(|disk| {
            let memory = disk.memory(&self.config).unwrap();
            tenure_core::nerio::Memory { wall, ..memory }
        });
        self.actors.insert(who, Actor::new(core, clock, disk, lives));
        let inc = Inc(inc_of(who, lives.into()));
        self.step(who, Input::Start(Start { inc, seed: 1, memory }))
    }

    /// Notes that `who` has granted something in this boot of the machine: without that, the next
    /// process waits out all leases.
    pub fn has_granted(&mut self, who: &'static str) {
        self.actor(who).disk.as_mut().unwrap().begin_grants();
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
            disk.forget_grants();
        }
        self.restart(who)
    }

    pub fn lose_disk(&mut self, who: &'static str) -> Vec<Effect> {
        let disk = self.directory(false);
        self.actor(who).disk = Some(disk);
        self.restart(who)
    }

    pub fn start_empty(&mut self, who: &'static str) -> Vec<Effect> {
        let disk = self.directory(false);
        self.start(who, Some(disk))
    }

    /// An empty state directory, of a memory later than all before: `first` if an operator declares
    /// the very first start of the cluster.
    pub fn directory(&mut self, first: bool) -> Remembered {
        self.directories += 1;
        let (born, random) = (self.directories * 1_000, u128::from(self.directories));
        Remembered::new(Instance::new(born, random), first)
    }

    pub fn instance(&mut self, who: &'static str) -> Instance {
        self.actor(who).disk.as_ref().unwrap().durable().instance
    }

    /// Changes the settings of the nodes that send the letters from now on.
    pub fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = Config::clone(&self.config);
        change(&mut config);
        self.config = config.check().unwrap();
    }

    pub fn who(&self, who: &str) -> Who {
        self.actors[who].core.who().clone()
    }

    pub fn sender(&self, who: &str) -> Sender {
        members::sender(&self.config, self.who(who), address(who))
    }

    /// `who` starts again from its reserve, in quarantine, on a disk whose flushes a test answers
    /// by hand.
    pub fn lose_disk_but_keep_reserve(&mut self, who: &'static str) {
        self.reboot(who);
        self.flush_one(who);
    }

    /// `asker` asks the node at the address of `leader` whether it leads.
    pub fn verify(&mut self, asker: &'static str, leader: &str) -> Vec<Effect> {
        self.command(asker, Command::Extra(Extra::Verify { leader: address(leader) }))
    }

    /// Hands over a made-up message from one node to another.
    pub fn tell(&mut self, from: &str, to: &'static str, message: Message) -> Vec<Effect> {
        let from = self.sender(from);
        self.tell_as(&from, to, message)
    }

    /// Hands over a made-up request from one node to another.
    pub fn ask(&mut self, from: &str, to: &'static str, request: Request) -> Vec<Effect> {
        self.tell(from, to, Message::from(request))
    }

    /// Members b and c answer a, which only asks at first and then has its memory written down:
    /// they remember everything, have granted for `delta_max` at most, and know `roster`.
    pub fn others_answer(&mut self, delta_max: Duration, roster: &Roster) {
        for record in [false, true] {
            let asked = self.letters.iter().rev().find_map(|letter| match &letter.message {
                Message::Grantor(ToGrantor::FenceRead(read)) if read.record == record => {
                    Some(read.start)
                }
                _ => None,
            });
            let (asker, start) = (self.who("a").inc, asked.unwrap());
            for member in ["b", "c"] {
                let (seen, whole, leader) = (Fence::NONE, true, ms(0));
                let roster = roster.clone();
                let answer = FenceSeen { asker, start, seen, delta_max, whole, leader, roster };
                self.tell(member, "a", Message::from(answer));
            }
        }
    }

    /// The state of the election at a grantor.
    pub fn state(&mut self, grantor: &'static str) -> State {
        let query = Message::from(Query { election: x(), start: at(1) });
        let answers = self.tell("r", grantor, query);
        self.letters.retain(|letter| !matches!(letter.message, Message::Asker(ToAsker::State(_))));
        sent(&answers)
            .find_map(|message| match message {
                Message::Asker(ToAsker::State(state)) => Some(state.clone()),
                _ => None,
            })
            .unwrap()
    }

    /// The holder of a grantor's grant.
    pub fn holder(&mut self, grantor: &'static str) -> Option<String> {
        self.state(grantor).holder.map(|holder| holder.who.name.to_string())
    }
}

/// A number for each incarnation of each node.
fn inc_of(who: &str, incarnation: u128) -> u128 {
    let byte = u128::from(who.as_bytes()[0]);
    (byte << 120) | (incarnation << 96) | byte
}

/// The effects as people read them, one line each.
pub fn lines(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(ToString::to_string).collect()
}
