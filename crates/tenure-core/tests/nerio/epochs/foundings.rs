//! Foundings in made-up worlds of whole nodes: messages are lost, repeated and late, processes end
//! and begin again, directories are lost, and the processes with lost directories may live on.
//!
//! The property: while a directory survives that has accepted or entered one document, no member
//! enters another document.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Config, Document, Effect, EpochId, Event, Inc, Instance, Member, Memory, Message,
    Nerio, Origin, OwnEvent, Recipient, Record, Remembered, Sender, Start, Who,
};
use tenure_core::{Input, Protocol, Ticket, Time};

use crate::story::{ms, name};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Clock of all machines at the beginning, in milliseconds since 1970.
const WALL: u64 = 1_800_000_000_000;

struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn once_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }
}

struct Process {
    member: usize,
    core: Nerio,
    disk: Remembered,
    flushes: Vec<(Ticket, Record)>,
    /// Whether the directory counts as lost: another directory has taken its place.
    is_lost: bool,
    has_ended: bool,
    serves: bool,
}

struct Letter {
    from: Sender,
    to: Recipient,
    message: Message,
}

struct World {
    draw: Draw,
    config: Checked,
    members: usize,
    now: Duration,
    processes: Vec<Process>,
    letters: Vec<Letter>,
    lives: u128,
    directories: u64,
    /// Documents that were entered, by epoch.
    entered: BTreeMap<EpochId, Document>,
    lost: usize,
}

fn address(process: usize) -> SocketAddr {
    ([127, 0, 0, 1], 8_000 + process as u16).into()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let members = [3, 3, 4, 5][draw.below(4)];
        let member = |nth: usize| Member::at(name(NAMES[nth]), address(nth));
        let list = (0..members).map(member).collect();
        let mut config = Config::new("story".parse().unwrap(), list).with_lease(ms(500));
        config.drift = "0.1".parse().unwrap();
        config.refresh = ms(50);
        config.round_trip = ms(5);
        config.grace = ms(50);
        config.kill_margin = ms(5);
        let config = config.check().unwrap();
        let (processes, letters, entered) = (Vec::new(), Vec::new(), BTreeMap::new());
        let now = Duration::from_secs(10);
        let (lives, directories, lost) = (0, 0, 0);
        let mut world = Self {
            draw,
            config,
            members,
            now,
            processes,
            letters,
            lives,
            directories,
            entered,
            lost,
        };
        for member in 0..members {
            let disk = world.directory();
            world.begin(member, disk);
        }
        world
    }

    fn directory(&mut self) -> Remembered {
        self.directories += 1;
        let born = WALL + self.now.as_millis() as u64 + self.directories;
        Remembered::new(Instance::new(born, self.directories.into()), false)
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.now.as_nanos() as u64)
    }

    fn begin(&mut self, member: usize, disk: Remembered) {
        let core = Nerio::new(self.config.clone(), name(NAMES[member]));
        let (is_lost, has_ended, serves) = (false, false, false);
        let flushes = Vec::new();
        self.processes.push(Process { member, core, disk, flushes, is_lost, has_ended, serves });
        self.start(self.processes.len() - 1);
    }

    /// Begins an incarnation on the process' directory.
    fn start(&mut self, nth: usize) {
        self.lives += 1;
        let wall = Some(WALL + self.now.as_millis() as u64);
        let process = &mut self.processes[nth];
        process.core = Nerio::new(self.config.clone(), name(NAMES[process.member]));
        process.flushes.clear();
        process.serves = false;
        let memory = Memory { wall, ..process.disk.memory(&self.config).unwrap() };
        let start = Start { inc: Inc(self.lives), seed: self.lives as u64, memory: Some(memory) };
        self.step(nth, Input::Start(start));
    }

    fn step(&mut self, nth: usize, input: Input<tenure_core::nerio::Words>) {
        let now = self.time();
        let process = &mut self.processes[nth];
        let mut effects = Vec::new();
        process.core.handle(now.into(), input, &mut effects);
        let who: Who = process.core.who().clone();
        for effect in effects {
            match effect {
                Effect::Persist(record) => process.disk.write(record),
                Effect::Flush(ticket, record) => process.flushes.push((ticket, record)),
                Effect::Send { to, message } => {
                    let (who, epoch) = (who.clone(), to.epoch);
                    let from = Sender { who, address: address(nth), proved: true, epoch };
                    self.letters.push(Letter { from, to: to.recipient, message });
                }
                Effect::Emit { event: Event::Own(OwnEvent::Serving), .. } => process.serves = true,
                Effect::Raise { .. }
                | Effect::Lower { .. }
                | Effect::Bound { .. }
                | Effect::Emit { .. } => {}
            }
        }
    }

    /// Makes the oldest record of a process durable.
    fn flush(&mut self, nth: usize) {
        let process = &mut self.processes[nth];
        if process.flushes.is_empty() {
            return;
        }
        let (ticket, record) = process.flushes.remove(0);
        process.disk.write(record);
        self.judge(nth);
        self.step(nth, Input::Flushed(ticket));
    }

    /// Checks the document that a directory has entered.
    fn judge(&mut self, nth: usize) {
        let standing = &self.processes[nth].disk.durable().standing;
        let Some(document) = standing.document().filter(|one| one.origin == Origin::Founded) else {
            assert!(standing.document().is_none(), "entered without a document");
            return;
        };
        let own = document.id();
        let knows = |process: &&Process, other: EpochId| {
            let standing = &process.disk.durable().standing;
            let accepted = standing.vote().accepted.as_ref().map(|(_, next)| next.id());
            let entered = standing.document().map(|document| document.id());
            !process.is_lost && (accepted == Some(other) || entered == Some(other))
        };
        for other in self.entered.keys().filter(|other| **other != own) {
            let survivor = self.processes.iter().find(|process| knows(process, *other));
            assert!(
                survivor.is_none(),
                "{} enters {own:?}, and the directory of {} knows {other:?}",
                NAMES[self.processes[nth].member],
                survivor.map_or("none", |one| NAMES[one.member]),
            );
        }
        let floor = document.floor;
        let latest = self.entered.values().filter(|one| one.id() != own).map(|one| one.floor).max();
        assert!(latest.is_none_or(|latest| latest < floor), "a floor goes back");
        self.entered.insert(own, Document::clone(document));
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.processes.len()).filter(|nth| !self.processes[*nth].has_ended).collect()
    }

    fn deliver(&mut self, letter: &Letter) {
        let is_to = |nth: &usize| match &letter.to {
            Recipient::Member(to) => *to == name(NAMES[self.processes[*nth].member]),
            Recipient::Address(to) => *to == address(*nth),
        };
        let there: Vec<usize> = self.alive().into_iter().filter(is_to).collect();
        if there.is_empty() {
            return;
        }
        let to = there[self.draw.below(there.len())];
        let (from, message) = (letter.from.clone(), letter.message.clone());
        self.step(to, Input::Message { from, message });
    }

    /// Delivers a letter, maybe an old one, maybe twice, or loses it.
    fn deliver_any(&mut self, is_calm: bool) {
        if self.letters.is_empty() {
            return;
        }
        let bound = if is_calm { 1 } else { self.letters.len() };
        let letter = self.letters.remove(self.draw.below(bound));
        if !is_calm && self.draw.once_in(16) {
            return;
        }
        self.deliver(&letter);
        if !is_calm && self.draw.once_in(8) {
            self.letters.push(letter);
        }
    }

    /// Lets time pass until the next deadline.
    fn pass(&mut self) {
        let now = self.time();
        let due = |nth: &usize| self.processes[*nth].core.deadline().map(|deadline| deadline.at);
        let next = self.alive().iter().filter_map(due).min().unwrap_or(now.after(ms(10)));
        self.now += next.since(now).min(ms(100));
        let now = self.time();
        for nth in self.alive() {
            if self.processes[nth].core.deadline().is_some_and(|deadline| deadline.at <= now) {
                self.step(nth, Input::Timeout);
            }
        }
    }

    /// Loses the directory of a member. Its process ends, or lives on.
    fn lose(&mut self) {
        let member = self.draw.below(self.members);
        let lives_on = self.draw.once_in(2);
        for process in self.processes.iter_mut().filter(|process| process.member == member) {
            process.is_lost = true;
            process.has_ended |= !lives_on;
        }
        self.lost += 1;
        let disk = self.directory();
        self.begin(member, disk);
    }

    fn act(&mut self, losses: usize) {
        let alive = self.alive();
        let nth = alive[self.draw.below(alive.len())];
        match self.draw.below(400) {
            0..240 => self.deliver_any(false),
            240..300 => {
                self.flush(nth);
            }
            300..396 => self.pass(),
            396..398 if self.lost < losses => self.lose(),
            _ => self.start(nth),
        }
    }

    /// The number of members that serve.
    fn serving(&self) -> usize {
        let serves = |member: &usize| {
            let mut own = self.processes.iter().filter(|process| process.member == *member);
            own.any(|process| !process.has_ended && process.serves)
        };
        (0..self.members).filter(serves).count()
    }

    /// Lets everything go well for a while, without processes of lost directories.
    fn settle(&mut self) {
        for process in &mut self.processes {
            process.has_ended |= process.is_lost;
        }
        let until = self.now + Duration::from_secs(150);
        for _ in 0..200_000 {
            if self.serving() == self.members {
                return;
            }
            if self.now > until {
                return;
            }
            for nth in self.alive() {
                while !self.processes[nth].flushes.is_empty() {
                    self.flush(nth);
                }
            }
            match self.letters.is_empty() {
                true => self.pass(),
                false => self.deliver_any(true),
            }
        }
    }
}

/// Plays the world of a seed, in which at most `losses` directories are lost.
fn play(seed: u64, losses: usize) -> World {
    let mut world = World::new(seed);
    let steps = 300 + world.draw.below(1_200);
    for _ in 0..steps {
        world.act(losses);
    }
    world.settle();
    world
}

#[test]
fn one_document_while_one_directory_survives() {
    let mut founded = 0;
    for seed in 1..=40 {
        founded += usize::from(!play(seed, 12).entered.is_empty());
    }
    assert!(founded > 8, "{founded} clusters founded");
}

/// With one loss, enough memories of each document are left.
#[test]
fn founding_completes_after_a_loss() {
    for seed in 1..=40 {
        let world = play(seed, 1);
        let serving = world.serving();
        assert!(serving >= world.members - 1, "seed {seed}: {serving} of {} serve", world.members);
        assert_eq!(world.entered.len(), 1, "seed {seed}");
    }
}
