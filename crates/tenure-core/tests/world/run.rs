//! The world itself: time, network, machines, applications.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Effect, End, Event, Inc, Message, Nerio, Sender, Start, View, Who,
};
use tenure_core::{ElectionName, Input, NodeName, Protocol, Ticket, Time, Value};

use crate::clock::Clock;
use crate::disk::Disk;
use crate::judge::{Counts, Judge};
use crate::rng::Rng;
use crate::setting::{Faults, RHO, config, through_the_wire};

const MS: u64 = 1_000_000;
const GRANTORS: usize = 3;
const NODES: usize = 5;
/// Faults end here.
const STORM: u64 = 20_000 * MS;
/// And from here on everybody is content: one leader, and it stays.
const SETTLED: u64 = STORM + 12_000 * MS;
const END: u64 = SETTLED + 4_000 * MS;

enum Happening {
    Deliver { to: usize, from: Sender, message: Message },
    Apply { node: usize, life: Inc, effects: Vec<Effect> },
    Flushed { node: usize, life: Inc, ticket: Ticket, record: tenure_core::nerio::Record },
    Wake { node: usize, life: Inc },
    Restart { node: usize },
    Act { node: usize, again: bool },
    Incident,
}

struct Node {
    name: NodeName,
    address: SocketAddr,
    clock: Clock,
    core: Option<Nerio>,
    life: Inc,
    busy_until: u64,
    wake: Option<u64>,
    disk: Option<Disk>,
    campaigning: BTreeMap<ElectionName, bool>,
    /// The claim of each election: its fence, and until when it holds in true time.
    claimed: BTreeMap<ElectionName, (tenure_core::Fence, u64)>,
    /// The first Start of the latest attempt.
    first: BTreeMap<ElectionName, Time>,
    /// How many timeouts in a row left a deadline in the past.
    stuck: u32,
}

pub struct World {
    rng: Rng,
    faults: Faults,
    now: u64,
    sequence: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    nodes: Vec<Node>,
    config: Checked,
    elections: Vec<ElectionName>,
    cut: BTreeMap<(usize, usize), u64>,
    lost_disk: bool,
    judge: Judge,
    views: BTreeMap<(usize, ElectionName), View>,
    /// The longest ordinary way of a message.
    trip: u64,
    trace: Option<Vec<String>>,
    print: bool,
}

impl World {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let config = config();
        let adversary = rng.once_in(2);
        let nodes = (0..NODES).map(|n| Node::new(n, adversary, &mut rng)).collect();
        let mut world = Self {
            elections: ["cron", "db"].map(|name| name.parse().unwrap()).to_vec(),
            rng,
            faults,
            now: 0,
            sequence: 0,
            queue: BTreeMap::new(),
            nodes,
            config,
            cut: BTreeMap::new(),
            lost_disk: false,
            judge: Judge::default(),
            views: BTreeMap::new(),
            trip: 0,
            trace: None,
            print: std::env::var_os("TENURE_TRACE").is_some(),
        };
        world.trip = if world.rng.once_in(2) { 8 * MS } else { MS / 8 };
        for node in 0..NODES {
            let at = world.rng.within(0..50 * MS);
            world.at(at, Happening::Restart { node });
            world.at(60 * MS, Happening::Act { node, again: true });
        }
        world.at(500 * MS, Happening::Incident);
        world
    }

    pub fn keep_trace(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    pub fn into_trace(self) -> Vec<String> {
        self.trace.unwrap_or_default()
    }

    pub fn counts(&self) -> Counts {
        self.judge.counts.clone()
    }

    pub fn run(&mut self) -> Result<(), String> {
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            if at > END {
                break;
            }
            self.now = at;
            self.judge.counts.events += 1;
            self.happen(happening)?;
            self.check_progress()?;
        }
        Ok(())
    }

    /// Eventual Election and Leader Stability, once the storm is over.
    fn check_progress(&mut self) -> Result<(), String> {
        if self.now < SETTLED {
            return Ok(());
        }
        for election in &self.elections {
            if self.judge.leader(election, self.now).is_none() {
                return Err(format!("Eventual Election: nobody leads {election} at {}", self.now));
            }
        }
        Ok(())
    }

    fn storm(&self) -> bool {
        self.now < STORM
    }

    fn chance(&mut self, once_in: u64) -> bool {
        self.storm() && self.rng.once_in(once_in)
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), happening);
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.trace.is_none() && !self.print {
            return;
        }
        let line = format!("{:>12.6} {}", self.now as f64 / 1e9, line());
        if self.print {
            println!("{line}");
        }
        if let Some(trace) = &mut self.trace {
            trace.push(line);
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        match happening {
            Happening::Deliver { to, from, message } => {
                if self.nodes[to].busy_until > self.now {
                    let at = self.nodes[to].busy_until;
                    self.at(at, Happening::Deliver { to, from, message });
                    return Ok(());
                }
                self.step(to, Input::Message { from, message })
            }
            Happening::Apply { node, life, effects } => {
                if self.nodes[node].life == life {
                    self.apply(node, effects)
                } else {
                    Ok(())
                }
            }
            Happening::Flushed { node, life, ticket, record } => {
                if self.nodes[node].life != life || self.nodes[node].core.is_none() {
                    return Ok(());
                }
                if self.chance(self.faults.write_error) {
                    return self.step(node, Input::Failed(Some(ticket)));
                }
                if let Some(disk) = &mut self.nodes[node].disk {
                    disk.write(&record);
                }
                self.step(node, Input::Flushed(ticket))
            }
            Happening::Wake { node, life } => {
                if self.nodes[node].life != life || self.nodes[node].wake != Some(self.now) {
                    return Ok(());
                }
                if self.nodes[node].busy_until > self.now {
                    let at = self.nodes[node].busy_until;
                    self.nodes[node].wake = Some(at);
                    self.at(at, Happening::Wake { node, life });
                    return Ok(());
                }
                self.nodes[node].wake = None;
                self.step(node, Input::Timeout)
            }
            Happening::Restart { node } => self.restart(node),
            Happening::Act { node, again } => self.act(node, again),
            Happening::Incident => {
                self.incident();
                Ok(())
            }
        }
    }

    fn restart(&mut self, node: usize) -> Result<(), String> {
        let life = Inc(u128::from(self.rng.next()) << 64 | u128::from(self.rng.next()));
        let seed = self.rng.next();
        let this = &mut self.nodes[node];
        if this.core.is_some() {
            return Ok(());
        }
        this.life = life;
        this.busy_until = self.now;
        this.wake = None;
        this.campaigning.clear();
        this.claimed.clear();
        this.core = Some(Nerio::new(self.config.clone(), this.name.clone()));
        let memory = this.disk.as_ref().map(Disk::memory);
        self.step(node, Input::Start(Start { inc: life, seed, memory }))
    }

    /// Hands one input to one core, with one sample of its clock.
    fn step(&mut self, node: usize, input: Input<Nerio>) -> Result<(), String> {
        let name = self.nodes[node].name.clone();
        let now = self.nodes[node].clock.shows(self.now);
        if self.nodes[node].core.is_none() {
            return Ok(());
        }
        self.note(|| format!("{name} [{now}] {input}"));
        let timeout = matches!(input, Input::Timeout);
        let mut effects = Vec::new();
        let this = &mut self.nodes[node];
        let Some(core) = &mut this.core else { return Ok(()) };
        core.handle(now, input, &mut effects);
        let deadline = core.deadline();
        let overdue = deadline.filter(|deadline| timeout && deadline.at <= now);
        this.stuck = if overdue.is_some() { this.stuck + 1 } else { 0 };
        if this.stuck > 3 {
            return Err(format!("{name}: {overdue:?} stays in the past at {now:?}"));
        }
        let life = this.life;
        self.check_lapses(node, &effects)?;
        if self.chance(self.faults.pause) {
            // A pause right after the clock was read.
            let longest = if self.rng.once_in(4) { 3_000 } else { 200 };
            let pause = self.rng.within(1..longest) * MS;
            self.nodes[node].busy_until = self.now + pause;
            self.at(self.now + pause, Happening::Apply { node, life, effects });
        } else {
            self.apply(node, effects)?;
        }
        self.schedule_wake(node, life);
        Ok(())
    }

    /// The scalar fence, rule 2: a claim that has lapsed does not grow again under its fence.
    fn check_lapses(&self, node: usize, effects: &[Effect]) -> Result<(), String> {
        for effect in effects {
            if let Effect::Claim { election, fence: Some(fence), .. } = effect
                && let Some((claimed, until)) = self.nodes[node].claimed.get(election)
                && claimed == fence
                && *until <= self.now
            {
                let name = &self.nodes[node].name;
                return Err(format!("fence {fence} of {name} outlived a lapse at {until}"));
            }
        }
        Ok(())
    }

    fn schedule_wake(&mut self, node: usize, life: Inc) {
        let this = &self.nodes[node];
        let Some(deadline) = this.core.as_ref().and_then(Protocol::deadline) else { return };
        let mut at = this.clock.reaches(deadline.at).max(self.now + 1);
        if this.wake.is_some_and(|wake| wake <= at) {
            return;
        }
        if at > self.now + MS && self.rng.once_in(16) {
            // Early: must do no harm.
            at = self.rng.within(self.now + 1..at + 1);
        } else if self.chance(16) {
            at += self.rng.within(0..20 * MS);
        }
        self.nodes[node].wake = Some(at);
        self.at(at, Happening::Wake { node, life });
    }

    fn apply(&mut self, node: usize, effects: Vec<Effect>) -> Result<(), String> {
        let name = self.nodes[node].name.clone();
        for effect in effects {
            if self.nodes[node].core.is_none() {
                return Ok(());
            }
            if self.chance(self.faults.crash_between) {
                self.crash(node);
                return Ok(());
            }
            self.note(|| format!("{name}   {effect}"));
            match effect {
                Effect::Claim { election, until, fence } => {
                    self.claim(node, &election, until, fence)?;
                }
                Effect::Persist(record) => {
                    if self.chance(self.faults.write_error) {
                        return self.step(node, Input::Failed(None));
                    }
                    if let Some(disk) = &mut self.nodes[node].disk {
                        disk.write(&record);
                    }
                }
                Effect::Flush(ticket, record) => {
                    let life = self.nodes[node].life;
                    let at = self.now + self.rng.within(MS / 10..15 * MS);
                    self.at(at, Happening::Flushed { node, life, ticket, record });
                }
                Effect::Send { to, message } => self.send(node, to, message)?,
                Effect::Emit { election, event } => self.event(node, election, event)?,
            }
        }
        Ok(())
    }

    fn claim(
        &mut self,
        node: usize,
        election: &ElectionName,
        until: Time,
        fence: Option<tenure_core::Fence>,
    ) -> Result<(), String> {
        let this = &self.nodes[node];
        let who = Who { name: this.name.clone(), inc: this.life };
        let until = this.clock.reaches(until);
        match fence {
            Some(fence) => {
                let claimed = this.claimed.get(election).copied().filter(|(old, _)| *old == fence);
                if claimed.is_some_and(|(_, until)| until <= self.now) {
                    // The driver's duty: a claim that has lapsed never grows again.
                    let command = Command::Resign;
                    let election = election.clone();
                    return self.step(node, Input::Command { election, command });
                }
                let first = this.first.get(election).copied().unwrap_or_default();
                self.nodes[node].claimed.insert(election.clone(), (fence, until));
                self.judge.claim(election, &who, (first, fence), self.now, until)
            }
            None => self.judge.lower(election, &who, self.now),
        }
    }

    fn event(
        &mut self,
        node: usize,
        election: Option<ElectionName>,
        event: Event,
    ) -> Result<(), String> {
        let Some(election) = election else { return Ok(()) };
        match event {
            Event::Elected { timestamp, .. } => {
                let (now, lost) = (self.now, self.lost_disk);
                let who = Who { name: self.nodes[node].name.clone(), inc: self.nodes[node].life };
                self.judge.elected(&election, &who, &timestamp, now, lost)
            }
            Event::Ended(end) => {
                self.nodes[node].campaigning.insert(election, false);
                match end {
                    End::Expired => self.judge.counts.expired += 1,
                    End::Transferred => self.judge.counts.transfers += 1,
                    End::Resigned | End::Withdrawn => {}
                }
                let at = self.now + self.rng.within(MS..300 * MS);
                self.at(at, Happening::Act { node, again: false });
                Ok(())
            }
            Event::Verified { leader, until, .. } => {
                let until = self.nodes[node].clock.reaches(until);
                self.judge.verified(&election, &leader, self.now, until)
            }
            Event::View(view) => {
                self.views.insert((node, election), view);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn send(&mut self, node: usize, to: SocketAddr, message: Message) -> Result<(), String> {
        let this = &self.nodes[node];
        let who = Who { name: this.name.clone(), inc: this.life };
        let from = Sender { who: who.clone(), address: this.address };
        match &message {
            // Nothing is visible before it is durable.
            Message::Granted(ok) => {
                let written = this.disk.as_ref().and_then(|disk| disk.grants.get(&ok.election));
                if written.is_none_or(|grant| grant.stamp != ok.stamp) {
                    return Err(format!("an ok left {} before its grant was written", this.name));
                }
            }
            Message::Request(request) => {
                let first = request.first;
                self.nodes[node].first.insert(request.election.clone(), first);
            }
            Message::Release(release) => {
                self.judge.released(&release.election, &who, release.start, self.now)?;
            }
            _ => {}
        }
        let Some(to) = self.nodes.iter().position(|n| n.address == to) else { return Ok(()) };
        let message = through_the_wire(&self.config, &from.who, &message)?;
        let copies = if self.chance(self.faults.repeat) { 2 } else { 1 };
        for _ in 0..copies {
            let cut = self.cut.get(&(node, to)).is_some_and(|until| self.now < *until);
            if cut || self.chance(self.faults.loss) {
                continue;
            }
            let mut delay = self.rng.within(self.trip / 8..self.trip);
            if self.chance(self.faults.very_late) {
                delay = self.rng.within(500 * MS..3_500 * MS);
            } else if self.chance(self.faults.late) {
                delay = self.rng.within(10 * MS..500 * MS);
            }
            let (from, message) = (from.clone(), message.clone());
            self.at(self.now + delay, Happening::Deliver { to, from, message });
        }
        Ok(())
    }

    /// An application wants something.
    fn act(&mut self, node: usize, again: bool) -> Result<(), String> {
        let settled = !self.storm();
        if again {
            let at = self.now + self.rng.within(20 * MS..400 * MS);
            self.at(at, Happening::Act { node, again });
        }
        let which = self.rng.within(0..2) as usize;
        let election = self.elections[which].clone();
        let this = &mut self.nodes[node];
        if this.core.is_none() || this.busy_until > self.now {
            return Ok(());
        }
        let campaigning = this.campaigning.get(&election).copied().unwrap_or(false);
        if !campaigning && node >= 2 {
            this.campaigning.insert(election.clone(), true);
            let value = Value::new(this.name.as_str()).unwrap();
            let priority = (node % 2) as u8;
            let command = Command::Campaign { value, priority };
            return self.step(node, Input::Command { election, command });
        }
        if settled {
            return Ok(());
        }
        let other = self.rng.within(2..NODES as u64) as usize;
        let command = match self.rng.within(0..8) {
            0 => Command::Resign,
            1 => Command::Transfer { to: self.nodes[other].name.clone(), probe: other == 2 },
            2..=5 => Command::Verify { leader: self.nodes[other].address },
            6 => Command::Observe { every: Duration::from_millis(100) },
            _ => Command::Unobserve,
        };
        self.step(node, Input::Command { election, command })
    }

    fn crash(&mut self, node: usize) {
        self.judge.counts.crashes += 1;
        self.note(|| format!("node {node} crashes"));
        let down = self.rng.within(1..1_500) * MS;
        let reboot = self.rng.once_in(2);
        let lose = self.rng.once_in(10) && !self.lost_disk;
        let origin = self.rng.within(0..1 << 40);
        let instance = u128::from(self.rng.next()) << 64;
        let now = self.now;
        let this = &mut self.nodes[node];
        this.core = None;
        this.life = Inc(0);
        if reboot {
            // What the old clock promised is already known to the judge in true time.
            this.clock = Clock { origin, since: now, ..this.clock };
        }
        if let Some(disk) = &mut this.disk {
            if lose {
                self.lost_disk = true;
                *disk = Disk::new(instance, false);
            } else if reboot {
                disk.reboot();
            }
        }
        self.at(now + down, Happening::Restart { node });
    }

    fn incident(&mut self) {
        if !self.storm() {
            self.cut.clear();
            return;
        }
        let next = self.now + self.rng.within(100 * MS..1_500 * MS);
        self.at(next, Happening::Incident);
        if !self.faults.incidents {
            return;
        }
        let node = self.rng.within(0..NODES as u64) as usize;
        let other = self.rng.within(0..NODES as u64) as usize;
        let until = self.now + self.rng.within(100 * MS..3_000 * MS);
        match self.rng.within(0..4) {
            0 if self.nodes[node].core.is_some() => self.crash(node),
            1 => {
                self.cut.insert((node, other), until);
            }
            2 => {
                for other in 0..NODES {
                    self.cut.insert((node, other), until);
                    self.cut.insert((other, node), until);
                }
            }
            _ => {
                let this = &mut self.nodes[node];
                this.busy_until = this.busy_until.max(until);
            }
        }
    }
}

impl Node {
    fn new(n: usize, adversary: bool, rng: &mut Rng) -> Self {
        let (slow, fast) = (1_000_000_000 - RHO, 1_000_000_000 + RHO);
        let rate = match (adversary, n < GRANTORS) {
            (true, true) => fast,
            (true, false) => slow,
            (false, _) => rng.within(slow..fast + 1),
        };
        let names = ["a", "b", "c", "d", "e"];
        Self {
            name: names[n].parse().unwrap(),
            address: SocketAddr::from(([127, 0, 0, 1], 7_001 + n as u16)),
            clock: Clock { origin: rng.within(0..1 << 40), since: 0, rate },
            core: None,
            life: Inc(0),
            busy_until: 0,
            wake: None,
            disk: (n < GRANTORS).then(|| Disk::new(u128::from(rng.next()) << 64, true)),
            campaigning: BTreeMap::new(),
            claimed: BTreeMap::new(),
            first: BTreeMap::new(),
            stuck: 0,
        }
    }
}
