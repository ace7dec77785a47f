//! The common part of a world's plan.

use std::ops::Range;
use std::time::Duration;

use tenure_core::{Drift, ElectionName};

use crate::rng::Rng;
use crate::world::clock::Clock;
use crate::world::conditions::{Conditions, Delay, DiskFate, Incident, Site};
use crate::world::fault::Rates;

pub const ELECTIONS: [&str; 3] = ["db", "cron", "feed"];
/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// The longest time for which a fault of the storm outlasts the storm, in units: a message, a
/// pause, an outage.
pub const LEFTOVER: u64 = 3;

/// A span in nanoseconds.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A world before its begin: `Node` has the protocol's part of each node, `Own` its part of the
/// world.
#[derive(Clone, Debug)]
pub struct Plan<Node, Own> {
    /// Conditions without the protocol.
    pub conditions: Conditions,
    /// The nodes, in the order of the sites of `conditions`.
    pub nodes: Vec<Node>,
    pub elections: Vec<ElectionName>,
    /// Time from which every wanted election has a leader that stays.
    pub settled: u64,
    /// Time from which all leaders have resigned.
    pub retired: u64,
    /// An idle application campaigns with one in this many commands.
    pub reluctance: u64,
    /// Whether the clocks are the only fault.
    pub calm: bool,
    /// Whether clocks keep to their bound. Otherwise leaders may overlap, and only fences hold.
    pub bounded: bool,
    pub own: Own,
}

/// The first `count` elections.
pub fn elections(count: usize) -> Vec<ElectionName> {
    ELECTIONS[..count].iter().map(|name| known(name)).collect()
}

/// A constant name.
///
/// # Panics
///
/// If the name is not allowed.
pub fn known<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str) -> T {
    name.parse().unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
}

/// A fault rate: in half of the worlds zero, else one of three strengths around `often` times in
/// 65,536.
pub fn rate(rng: &mut Rng, often: u64) -> u16 {
    let often = often * rng.choose(&[1, 3, 10]) / 3;
    if rng.once_in(2) { u16::try_from(often).unwrap_or(u16::MAX) } else { 0 }
}

/// Fault rates for connections that deliver once and in order, and processes without a state
/// directory.
pub fn rates_of_connections(rng: &mut Rng) -> Rates {
    Rates {
        loss: rate(rng, 1_500),
        repeat: 0,
        late: rate(rng, 1_500),
        very_late: rate(rng, 500),
        pause: rate(rng, 300),
        crash: rate(rng, 30),
        write: 0,
        early: rate(rng, 4_000),
        tardy: rate(rng, 4_000),
    }
}

/// The outline of a protocol's worlds; all else is random.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// The unit of long spans: the length of a lease.
    pub unit: u64,
    /// Upper bound of a message's delay.
    pub trip: u64,
    /// Bound on the error of a clock's rate.
    pub drift: Drift,
    /// Time from the end of the storm to a leader that stays, in every election.
    pub settles: u64,
}

impl<Node, Own> Plan<Node, Own> {
    /// Draws a world of nodes with these names: their clocks, a storm of lost and late messages,
    /// stopped and ended processes and cut-off nodes; and the calm after it.
    #[must_use]
    pub fn draw(seed: u64, nodes: Vec<(String, Node)>, outline: Outline, own: Own) -> Self {
        let Outline { unit, trip, drift, settles } = outline;
        let mut rng = Rng::new(seed, 0);
        let calm = rng.once_in(10);
        let storm_ends = unit * rng.within(8..32);
        let (names, nodes): (Vec<String>, Vec<Node>) = nodes.into_iter().unzip();
        let (slow, fast) = Clock::rates(drift);
        let sites = names.into_iter().map(|name| {
            let rate = rng.within(slow..fast + 1);
            let clock = Clock::new(0, rng.within(0..1 << 40), rate);
            Site { name, clock, wall: 0, starts: rng.within(0..unit) }
        });
        let sites: Vec<Site> = sites.collect();
        let settled = storm_ends + LEFTOVER * unit + settles;
        let count = sites.len();
        let retired = settled + 4 * unit;
        let trip = Delay::Between(trip / 8, trip);
        let end = retired + settles + 4 * unit;
        let mut conditions = Conditions::new(seed, sites, trip, unit, storm_ends, end);
        if !calm {
            conditions.rates = rates_of_connections(&mut rng);
            conditions.incidents = incidents(&mut rng, count, unit, storm_ends);
        }
        let elections = elections(1 + rng.below(3));
        let reluctance = rng.choose(&[1, 1, 4, 20]);
        let bounded = true;
        Self { conditions, nodes, elections, settled, retired, reluctance, calm, bounded, own }
    }

    /// The number of incidents and the end of each part of the world, as text for people.
    #[must_use]
    pub fn times(&self) -> String {
        let seconds = |at: u64| at as f64 / 1e9;
        format!(
            "{} incidents planned; storm {:.3} s, content after {:.3} s, end {:.3} s",
            self.conditions.incidents.len(),
            seconds(self.conditions.storm_ends),
            seconds(self.settled),
            seconds(self.conditions.end),
        )
    }
}

/// Draws incidents: the first at the beginning of `during`, each of the others after a drawn
/// `pause`.
pub fn repeatedly<T>(
    rng: &mut Rng,
    during: Range<u64>,
    pause: Range<u64>,
    mut what: impl FnMut(&mut Rng, u64) -> T,
) -> Vec<(u64, T)> {
    let mut at = during.start;
    let mut all = Vec::new();
    while at < during.end {
        all.push((at, what(rng, at)));
        at += rng.within(pause.clone());
    }
    all
}

/// Draws ends of processes, cut-off nodes, and stops, in turn.
fn incidents(rng: &mut Rng, nodes: usize, unit: u64, storm_ends: u64) -> Vec<(u64, Incident)> {
    let gap = unit * rng.choose(&[1, 2, 6]);
    repeatedly(rng, unit / 2..storm_ends, gap / 8..gap, |rng, at| {
        let node = rng.below(nodes);
        let other = rng.below(nodes);
        let until = at + rng.within(unit / 10..unit * LEFTOVER);
        let down = rng.within(1..unit * 3 / 2);
        match rng.within(0..6) {
            0 | 1 => Incident::crash(node, down, DiskFate::Kept),
            2 => Incident::Cut { from: node, to: other, until },
            3 => Incident::Split { side: 1 << node, until },
            4 => Incident::Split { side: rng.next() % (1 << nodes), until },
            _ => Incident::Stop { node, until },
        }
    })
}

/// Draws one-way links, and ends of processes.
pub fn one_way(rng: &mut Rng, nodes: usize, unit: u64, storm_ends: u64) -> Vec<(u64, Incident)> {
    repeatedly(rng, unit / 2..storm_ends, unit / 8..2 * unit, |rng, at| {
        let from = rng.below(nodes);
        let to = rng.below(nodes);
        let until = at + rng.within(unit / 10..unit * LEFTOVER);
        let down = rng.within(1..unit);
        match rng.within(0..6) {
            0 => Incident::crash(from, down, DiskFate::Kept),
            _ => Incident::Cut { from, to, until },
        }
    })
}

/// Draws splits of the network from `at` on: each separates a drawn `side` from the rest, and heals
/// before the next.
pub fn partings(
    rng: &mut Rng,
    mut at: u64,
    unit: u64,
    storm_ends: u64,
    mut side: impl FnMut(&mut Rng) -> u64,
) -> Vec<(u64, Incident)> {
    let mut all = Vec::new();
    while at < storm_ends {
        let side = side(rng);
        let span = rng.choose(&[1, 4, 12]) * rng.within(unit / 8..unit / 2);
        let until = (at + span).min(storm_ends);
        all.push((at, Incident::Split { side, until }));
        at = until + rng.choose(&[1, 1, 5]) * rng.within(unit / 4..unit);
    }
    all
}
