//! Drills: the leader fails repeatedly, at random moments, with all nodes awake.

use std::time::Duration;

use super::book::Cause;
use super::cluster::Cluster;
use super::figures::Spread;
use super::question::{Question, Unanswerable};
use super::stretch::{elected, resign, until};
use crate::rng::Rng;
use crate::scenario::plan::nanos;
use crate::world::World;
use crate::world::conditions::{Delay, DiskFate};

/// The longest downtime of a crashed process, in leases: awake nodes are slow to simulate.
const AWAY: u64 = 20;

/// A failure of a leader and the vacancy after it, in true time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drill {
    pub leader: usize,
    pub next: usize,
    /// Whether the leader crashed; otherwise it resigned.
    pub crash: bool,
    /// Span since the last renewal before the failure.
    pub renewed_before: Duration,
    /// Rest of the lease, by the leader's clock.
    pub left: Duration,
    /// Length of the vacancy.
    pub gap: Duration,
}

/// Vacancies after crashes, or after resignations.
pub(super) fn spread(drills: &[Drill], crash: bool) -> Spread {
    let of = drills.iter().filter(|drill| drill.crash == crash);
    Spread::new(of.map(|drill| drill.gap).collect())
}

/// Runs `count` drills in one cluster, one after the other. Leaves out drills without a new leader
/// within a hundred leases.
pub(super) fn run(
    question: &Question,
    trip: &Delay,
    seed: u64,
    count: u32,
    crash: bool,
) -> Result<(Vec<Drill>, u64), Unanswerable> {
    let mut world = elected(question, trip, seed)?;
    let mut rng = Rng::new(seed, 2);
    let now = world.now();
    world.system.book.open(now);
    let mut drills = Vec::new();
    for _ in 0..count {
        drills.extend(one(&mut world, question, &mut rng, crash));
    }
    Ok((drills, world.events()))
}

fn one(
    world: &mut World<Cluster>,
    question: &Question,
    rng: &mut Rng,
    crash: bool,
) -> Option<Drill> {
    let lease = nanos(question.config.lease);
    // The time is random over several renewals, so that every moment between two renewals is
    // equally likely.
    let at = world.now() + lease + rng.within(0..lease);
    until(world, at);
    let claim = world.system.book.claim.filter(|claim| at < claim.until)?;
    let before = world.system.book.vacancies.len();
    let down = nanos(question.down).min(AWAY * lease);
    let Ok(()) = if crash {
        world.crash(claim.node, down, None, DiskFate::Kept)
    } else {
        resign(world, claim.node)
    };
    let cause = if crash { Cause::Crash } else { Cause::Resigned };
    let found = (0..400).find_map(|_| {
        let now = world.now();
        until(world, now + lease / 4);
        let since = world.system.book.vacancies.get(before..)?;
        since.iter().find(|vacancy| vacancy.cause == cause).copied()
    });
    let next = world.system.book.leader(world.now());
    if !crash {
        contend_again(world, claim.node);
    }
    let healed = world.now().max(at + down);
    until(world, healed);
    let span = Duration::from_nanos;
    Some(Drill {
        leader: claim.node,
        next: next?,
        crash,
        renewed_before: span(at - claim.raised),
        left: span(claim.until - at),
        gap: found?.lasted,
    })
}

/// Lets a node that resigned in a drill continue as a candidate.
fn contend_again(world: &mut World<Cluster>, node: usize) {
    world.system.leaving[node] = false;
    let election = world.system.election.clone();
    let command = world.system.campaign();
    let Ok(()) = world.command(node, election, command);
}
