//! A cluster whose nodes all grant and campaign in one election. The world has no checks, but a
//! full record.

use std::convert::Infallible;
use std::ops::Range;

use tenure_core::nerio::{
    Checked, Command, Effect, Event, Inc, Nerio, Recipient, Record, Sender, Start, To, Who,
};
use tenure_core::{ElectionName, End, Loss, NameError, Value};

use super::book::Book;
use super::question::{Question, address};
use crate::nerio::disk::Disk;
use crate::rng::{Rng, mix};
use crate::scenario::plan::nanos;
use crate::world::clock::Clock;
use crate::world::conditions::{Conditions, Delay, DiskFate, Site};
use crate::world::fault::Rates;
use crate::world::nodes::Nodes;
use crate::world::{Context, Occurrence, System, World};

/// The node of `config` at this address.
fn find(config: &Checked, to: &Recipient) -> Option<usize> {
    match to {
        Recipient::Member(name) => config.members.iter().position(|member| member.name == *name),
        Recipient::Address(to) => {
            let at = (0..=u8::MAX).find(|at| address(*at) == *to).map(usize::from);
            at.filter(|node| *node < config.members.len())
        }
    }
}

/// The delay of a node's messages to itself, and of a flush.
const LOOPBACK: Delay = Delay::Between(30_000, 60_000);
const FLUSH: Delay = Delay::Between(1_000_000, 5_000_000);
/// Longer than any run.
const NEVER: u64 = 1 << 62;

pub(super) struct Cluster {
    config: Checked,
    seed: u64,
    pub(super) election: ElectionName,
    value: Value,
    pub(super) book: Book,
    /// A span without plans or healing, in which waiting candidates may sleep.
    pub(super) calm: Range<u64>,
    /// The life in which each node campaigned last.
    campaigned: Vec<u128>,
    /// Nodes that are being restarted on purpose, and do not campaign before the restart.
    pub(super) leaving: Vec<bool>,
    half: u64,
    settled: u64,
}

impl Cluster {
    fn new(config: Checked, seed: u64) -> Result<Self, NameError> {
        let nodes = config.members.len();
        let lease = nanos(config.lease);
        Ok(Self {
            seed,
            election: ElectionName::new("simulated")?,
            value: Value::new("10.0.0.1:8080")?,
            book: Book::new(&config),
            calm: 0..0,
            campaigned: vec![0; nodes],
            leaving: vec![false; nodes],
            half: lease / 2,
            settled: lease * 2,
            config,
        })
    }

    pub(super) fn campaign(&self) -> Command {
        Command::Campaign { value: self.value.clone(), priority: 100 }
    }

    /// Whether a node's application campaigns after an effect.
    fn answer(&mut self, node: usize, life: u128, effect: &Effect) -> bool {
        if self.leaving[node] {
            return false;
        }
        let lost =
            matches!(effect, Effect::Emit { event: Event::Ended(End::Lost(Loss::Expired)), .. });
        if self.campaigned[node] == life && !lost {
            return false;
        }
        self.campaigned[node] = life;
        true
    }
}

/// The world of a question, with one set of draws.
pub(super) fn world(question: &Question, trip: &Delay, seed: u64) -> Option<World<Cluster>> {
    let config = question.config.clone();
    let mut rng = Rng::new(seed, 1);
    let (slow, fast) = Clock::rates(config.drift);
    let sites = config.members.iter().map(|member| {
        let rate = rng.within(slow..fast + 1);
        let clock = Clock::new(0, rng.within(0..1 << 50), rate);
        let starts = rng.within(0..50_000_000);
        Site { name: member.name.to_string(), clock, wall: 0, starts }
    });
    let sites = sites.collect();
    let unit = nanos(config.lease);
    let conditions = Conditions {
        loopback: LOOPBACK,
        flush: FLUSH,
        rates: Rates { loss: question.loss_rate(), ..Rates::default() },
        pace: Delay::Between(NEVER, NEVER + 1),
        ..Conditions::new(seed, sites, trip.clone(), unit, NEVER, NEVER)
    };
    // The names of the elections and nodes are constants, so `Cluster::new` does not fail.
    Some(World::new(conditions, Cluster::new(config, seed).ok()?, None))
}

impl System for Cluster {
    type Core = Nerio;
    type Disk = Disk;
    type Violation = Infallible;

    fn core(&self, node: usize, _: &Clock) -> Nerio {
        Nerio::new(self.config.clone(), self.config.members[node].name.clone())
    }

    fn disk(&self, node: usize) -> Disk {
        Disk::new(node, u128::from(mix(self.seed ^ node as u64)) + 1, true)
    }

    fn start(&self, _node: usize, life: u128, disk: &Disk) -> Result<Start, String> {
        let memory = disk.memory(&self.config).map_err(|error| error.to_string())?;
        Ok(Start { inc: Inc(life), seed: mix(life as u64), memory: Some(memory) })
    }

    fn write(&self, disk: &mut Disk, record: Record) {
        disk.write(record);
    }

    fn damage(
        &mut self,
        disks: &mut [&mut Disk],
        node: usize,
        _fate: DiskFate,
        reboot: bool,
    ) -> bool {
        if reboot {
            // A reboot loses unflushed writes.
            disks[node].tear();
        }
        true
    }

    fn sender(&self, node: usize, life: u128, to: &To) -> Sender {
        let member = &self.config.members[node];
        let who = Who { name: member.name.clone(), inc: Inc(life) };
        let at = u8::try_from(node).unwrap_or(u8::MAX);
        Sender { who, address: address(at), proved: true, epoch: to.epoch }
    }

    fn recipients(&self, _from: usize, to: &To) -> Nodes {
        find(&self.config, &to.recipient).map_or(Nodes::NONE, Nodes::one)
    }

    fn next_command(
        &mut self,
        _context: &Context<'_>,
        _node: usize,
        _core: &Nerio,
        _rng: &mut Rng,
    ) -> Option<(ElectionName, Command)> {
        None
    }

    fn see(
        &mut self,
        context: &Context<'_>,
        occurrence: Occurrence<'_, Self>,
    ) -> Result<Option<(ElectionName, Command)>, Infallible> {
        match occurrence {
            Occurrence::Crashed { node } => {
                self.leaving[node] = false;
                self.book.crashed(context.now, node);
                Ok(None)
            }
            Occurrence::Effect { node, life, effect, .. } => {
                let until = |end| context.clock.reaches(end);
                let find = |to: &Recipient| find(&self.config, to);
                self.book.effect(context.now, node, effect, until, find);
                let wants = self.answer(node, life, effect);
                Ok(wants.then(|| (self.election.clone(), self.campaign())))
            }
            Occurrence::Started { .. }
            | Occurrence::Input { .. }
            | Occurrence::Handled { .. }
            | Occurrence::Dropped { .. }
            | Occurrence::Incident { .. }
            | Occurrence::Moment => Ok(None),
        }
    }

    /// A waiting candidate's timers may sleep while all grants of the leader last: its requests
    /// change nothing.
    fn rest(&self, now: u64, node: usize) -> Option<u64> {
        let claim = self.book.claim.filter(|_| self.calm.contains(&now))?;
        if claim.node == node || now < claim.since + self.settled {
            return None;
        }
        let granted = self.book.granted_until()?.min(claim.until);
        let until = granted.saturating_sub(self.half).min(self.calm.end);
        (until > now).then_some(until)
    }
}
