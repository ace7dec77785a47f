//! A stretch of calendar time: random events of one cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cluster::{Cluster, world};
use super::figures::Figures;
use super::question::{Question, Unanswerable};
use crate::rng::{Rng, mix};
use crate::scenario::plan::nanos;
use crate::world::World;
use crate::world::conditions::{Delay, DiskFate};

use tenure_core::nerio::Command;

/// The longest time at the beginning in which datagrams are counted, with all nodes awake.
const COUNTED: Duration = Duration::from_secs(60);
/// A process that is restarted on purpose runs on for this time after its resignation.
pub(super) const FAREWELL: u64 = 500_000_000;

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Crash,
    Reboot,
    Restart,
    /// The end of a process that has resigned.
    Leave,
    Pause(u64),
}

/// Planned events. The key is the true time in nanoseconds, and a number that orders events at one
/// time; the value is the node and its event.
type Plan = BTreeMap<(u64, usize), (usize, Act)>;

/// Runs a stretch of `length` from its own seed.
pub(super) fn run(
    question: &Question,
    trip: &Delay,
    seed: u64,
    length: Duration,
) -> Result<Figures, Unanswerable> {
    let mut world = elected(question, trip, seed)?;
    let from = world.now();
    let to = from + nanos(length);
    let mut plan = plan(question, seed, from, to);
    world.system.book.open(from);
    world.system.book.count(from, &question.config);
    let counted = from + nanos(COUNTED.min(length / 20));
    world.system.calm.start = if question.awake { u64::MAX } else { counted };
    go(&mut world, question, &mut plan, counted);
    world.system.book.stop_counting(counted);
    go(&mut world, question, &mut plan, to);
    world.system.book.close(to);
    let patience = nanos(question.down) + nanos(question.config.quarantine()) * 4;
    for _ in 0..100 {
        if world.system.book.leader(world.now()).is_some() {
            break;
        }
        let at = world.now() + patience / 20;
        until(&mut world, at);
    }
    let events = world.events();
    Ok(Figures::of(&mut world.system.book, from, to, events))
}

/// A fresh cluster with a settled leader.
pub(super) fn elected(
    question: &Question,
    trip: &Delay,
    seed: u64,
) -> Result<World<Cluster>, Unanswerable> {
    let config = &question.config;
    let longest = question.trips.quantile(1.0);
    let patience = (config.lease * 50).max(Duration::from_secs(60));
    let nobody = || Unanswerable::NobodyElected {
        waited: patience,
        longest,
        loss: question.loss,
        lease: config.lease,
    };
    let mut world = world(question, trip, seed).ok_or_else(nobody)?;
    let lease = nanos(config.lease);
    while world.now() < nanos(patience) {
        let now = world.now();
        until(&mut world, now + lease);
        let settled = |since: u64| world.now() > since + 2 * lease;
        let claim = world.system.book.claim.filter(|claim| world.now() < claim.until);
        if claim.is_some_and(|claim| settled(claim.since)) {
            return Ok(world);
        }
    }
    Err(nobody())
}

/// Runs the world until `at`; this world has no violations.
pub(super) fn until(world: &mut World<Cluster>, at: u64) {
    let Ok(()) = world.run_until(at);
}

/// Carries out the plan up to `to`.
fn go(world: &mut World<Cluster>, question: &Question, plan: &mut Plan, to: u64) {
    let ahead = nanos(question.config.lease) + 4 * nanos(question.config.refresh);
    loop {
        let disturbs = |act: Act| !matches!(act, Act::Pause(_));
        let next = plan.iter().find(|(_, (_, act))| disturbs(*act)).map(|((at, _), _)| *at);
        world.system.calm.end = next.unwrap_or(u64::MAX).saturating_sub(ahead);
        let due = plan.first_entry().filter(|entry| entry.key().0 < to);
        let Some(((at, number), (node, act))) = due.map(|entry| entry.remove_entry()) else {
            return until(world, to);
        };
        until(world, at);
        let heals = act_on(world, question, node, act);
        if act == Act::Restart {
            plan.insert((at + FAREWELL, number), (node, Act::Leave));
        }
        world.system.calm.start = world.system.calm.start.max(at + heals);
    }
}

/// Carries out an event, and returns the span until the cluster has healed.
fn act_on(world: &mut World<Cluster>, question: &Question, node: usize, act: Act) -> u64 {
    let now = world.now();
    let config = &question.config;
    if world.core(node).is_none() {
        return 0;
    }
    let settle = 2 * nanos(config.lease);
    let Ok(()) = match act {
        Act::Pause(span) => {
            world.stop(node, now + span);
            world.system.book.stopped[node] = (now, now + span);
            return 0;
        }
        Act::Restart => resign(world, node),
        Act::Crash | Act::Leave => {
            let down = nanos(question.down);
            world.crash(node, down, None, DiskFate::Kept)
        }
        Act::Reboot => {
            let origin = mix(now) >> 14;
            world.crash(node, nanos(Question::REBOOT), Some(origin), DiskFate::Kept)
        }
    };
    match act {
        Act::Reboot => nanos(Question::REBOOT) + nanos(config.quarantine()) + settle,
        Act::Crash | Act::Leave => nanos(question.down) + settle,
        Act::Restart | Act::Pause(_) => FAREWELL,
    }
}

/// The candidate of a node resigns and does not campaign again in this life.
pub(super) fn resign(
    world: &mut World<Cluster>,
    node: usize,
) -> Result<(), std::convert::Infallible> {
    world.system.leaving[node] = true;
    let election = world.system.election.clone();
    world.command(node, election, Command::Resign)
}

/// Draws all random events, each kind at each node as a Poisson process.
fn plan(question: &Question, seed: u64, from: u64, to: u64) -> Plan {
    let kinds = [
        (question.crash_every, Act::Crash),
        (question.reboot_every, Act::Reboot),
        (question.restart_every, Act::Restart),
        (question.pause_every, Act::Pause(0)),
    ];
    let mut plan = Plan::new();
    for (kind, (every, act)) in kinds.into_iter().enumerate() {
        let Some(every) = every else { continue };
        for node in 0..question.nodes() {
            let mut rng = Rng::new(seed, 100 + (kind * 64 + node) as u64);
            let mut at = from + exponential(&mut rng, every);
            while at < to {
                let act = match act {
                    Act::Pause(_) => Act::Pause(exponential(&mut rng, question.pause)),
                    act => act,
                };
                plan.insert((at, kind * 64 + node), (node, act));
                at = at.saturating_add(exponential(&mut rng, every).max(1));
            }
        }
    }
    plan
}

/// A random span with this mean.
fn exponential(rng: &mut Rng, mean: Duration) -> u64 {
    let part = (rng.next() >> 11) as f64 / (1_u64 << 53) as f64;
    (-(1.0 - part).ln() * mean.as_nanos() as f64) as u64
}
