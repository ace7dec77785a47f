//! The plan of a seed: the cluster, its settings, its applications, its faults.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::Drift;
use tenure_core::nerio::{Checked, Config, Member, MemberSet, Membership, Quorums, Recipient};

use super::focus::Focus;
pub use super::node::NodePlan;
use super::walls::Walls;
use super::{changes, lists, watch};
use crate::rng::Rng;
pub(super) use crate::scenario::plan::known;
use crate::scenario::plan::{LEFTOVER, MS, elections, nanos, rate, repeatedly};
use crate::world::clock::{Clock, TRUE_RATE};
use crate::world::conditions::{Conditions, Delay, DiskFate, Incident, Site};
use crate::world::fault::Rates;

/// Values of ρ in parts per billion. A value that is listed more often is drawn more often.
const DRIFTS: [u32; 8] =
    [100_000_000, 100_000_000, 100_000_000, 250_000_000, 20_000_000, 1_000_000, 1_000, 0];
pub type Plan = crate::scenario::Plan<NodePlan, Settings>;

/// Settings of these worlds alone.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether every message is packed into a datagram and read again.
    pub wire: bool,
    pub focus: Focus,
    /// Whether members grant only short leases until their first restart.
    pub raises: bool,
    /// Whether other members treat the second process of a member as a stranger, until this process
    /// starts again.
    pub strange_copy: bool,
    /// Whether candidates and observers have other lists than the members.
    pub lists: bool,
    /// Whether members watch the processes of other nodes.
    pub watches: bool,
    pub walls: Walls,
}

/// Bounds of the draws of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Climate {
    /// All faults of the model.
    #[default]
    Any,
    /// Clocks beyond ρ, and jumps.
    BrokenClocks,
}

#[must_use]
pub fn draw(seed: u64, climate: Climate) -> Plan {
    let mut rng = Rng::new(seed, 0);
    let calm = climate == Climate::Any && rng.once_in(10);
    let focus = if calm { Focus::Broad } else { Focus::draw(seed) };
    let members = rng.choose(&[3, 3, 3, 3, 3, 1, 2, 4, 5, 5, 6, 7]);
    let candidates = rng.within(0..4) as usize;
    let (members, candidates) = focus.people(&mut rng, members, candidates);
    let mut settings = Draft::draw(&mut rng, members);
    focus.settings(&mut rng, &mut settings.config);
    settings.config.replace = focus.replaces(seed, &settings.config);
    settings.config.ring = Focus::ring(seed, &settings.config);
    let bounded = climate == Climate::Any;
    let walls = if bounded { Walls::draw(seed, focus, calm) } else { Walls::Unread };
    walls.settings(seed, &mut settings.config);
    settings.shortened = focus.shortens(&mut rng);
    let config = &settings.config;
    let unit = nanos(config.lease);
    let storm_ends = unit * rng.within(8..36);
    let mut nodes = settings.nodes(&mut rng, members, candidates);
    focus.copy(&mut rng, &mut nodes);
    let raises = focus.leases(seed, &mut nodes);
    walls.nodes(&mut nodes);
    let elections = elections(1 + rng.below(3));
    let grain = focus.grain(&mut rng, nanos(config.round_trip)).max(1);
    let trip = settings.trip(&mut rng).longer(grain);
    let rates = focus.rates(&mut rng, seed, calm);
    let sites = sites(&mut rng, &nodes, config.drift, bounded, storm_ends);
    let beside = walls.settle(config);
    let settled = storm_ends + settle_bound(&nodes, unit, &trip) + ring_bound(&nodes) + beside;
    let retired = settled + 4 * unit;
    let end = retired + retire_bound(&nodes, &trip) + beside;
    let mut conditions = Conditions {
        loopback: Delay::Between(1_000, 50_000.min(trip.longest())),
        rates,
        grain,
        forges: focus.forges(),
        ..Conditions::new(seed, sites, trip, unit, storm_ends, end)
    };
    if !calm {
        conditions.incidents = incidents(&mut rng, nodes.len(), unit, storm_ends);
    }
    focus.late(&nodes, &mut conditions);
    focus.incidents(&mut rng, &nodes, &mut conditions);
    focus.absences(&nodes, &mut conditions);
    walls.conditions(config.clock_skew_max, &nodes, &mut conditions);
    let strange_copy = focus.encounters(&nodes, &mut conditions);
    if raises {
        focus.raises(&nodes, &mut conditions);
    }
    let watches = !calm && watch::begins(focus, seed, &mut conditions);
    if !calm && focus.may_lose_nodes() && rng.once_in(3) {
        some_never_return(&mut rng, &mut nodes, &mut conditions);
    }
    let reluctance = focus.reluctance(&mut rng);
    let wire = rng.once_in(32);
    let lists = !calm && lists::differ(focus, &mut nodes, &mut conditions);
    let changes = changes::prepare(focus, &mut nodes, &mut conditions);
    conditions.end += changes;
    Plan {
        conditions,
        elections,
        nodes,
        settled: settled + changes,
        retired: retired + changes,
        reluctance,
        calm,
        bounded,
        own: Settings { wire, focus, raises, strange_copy, lists, watches, walls },
    }
}

impl Plan {
    /// Settings that all members share.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.nodes[0].config
    }

    /// The membership of all nodes.
    #[must_use]
    pub fn membership(&self) -> &Membership {
        self.config().membership()
    }

    /// The node at this address.
    #[must_use]
    pub fn find(&self, to: &Recipient) -> Option<usize> {
        let number = match to {
            Recipient::Member(name) => self.nodes.iter().position(|node| node.name == *name),
            Recipient::Address(address) => number(address),
        };
        number.filter(|number| *number < self.nodes.len())
    }

    /// The process that begins in the place of this member.
    #[must_use]
    pub fn copy_of(&self, member: usize) -> Option<usize> {
        self.nodes.iter().position(|node| node.copy_of == Some(member))
    }

    /// The member in whose name this node grants.
    #[must_use]
    pub fn place(&self, grantor: usize) -> usize {
        self.nodes[grantor].copy_of.unwrap_or(grantor)
    }

    #[must_use]
    pub fn members(&self) -> usize {
        self.membership().names().len()
    }
}

/// How long after the storm every election has a leader that stays, at the latest, in true time.
///
/// ```text
/// 3u + 2 s           what the storm leaves behind: late messages, pauses, restarts, failed writes
/// + s(δ_max)         the quarantine of a grantor that restarted last
/// + 2·s(δ)           a grant that no leader uses, and a grant to a candidate that died
/// + 6·s(δ₁ + 2R)     split votes: a short lease of a rival, and a drawn wait, a few times over
/// + u + 40·trip      applications that come back, and messages on their way
/// ```
///
/// where `u` is the lease, `s(x) = (1 + ρ)x / (1 − ρ)` covers both sides' clocks, `δ₁` the first
/// lease.
fn settle_bound(nodes: &[NodePlan], unit: u64, trip: &Delay) -> u64 {
    let longest = |span: fn(&Checked) -> Duration| {
        nodes.iter().map(|node| twice(&node.config, span(&node.config))).max().unwrap_or(0)
    };
    LEFTOVER * unit
        + 2_000 * MS
        + longest(|config| config.delta_max)
        + 2 * longest(|config| config.lease)
        + 6 * longest(|config| config.lease_first() + 2 * config.refresh)
        + unit
        + 40 * trip.longest()
}

/// Time until the members agree on a weak leader, and until a candidate that left the election to
/// the weak leader campaigns by itself. Each member may suspect all others one by one, for up to
/// four times the silence each.
fn ring_bound(nodes: &[NodePlan]) -> u64 {
    let config = &nodes[0].config;
    let Some(ring) = config.ring else { return 0 };
    let members = nodes.iter().filter(|node| node.member).count() as u32;
    twice(config, ring.silence * 5 * (members + 1))
}

/// Time from all resignations until the last observer sees them: leases without a release end, and
/// observers ask again.
fn retire_bound(nodes: &[NodePlan], trip: &Delay) -> u64 {
    let lease = nodes.iter().map(|n| twice(&n.config, n.config.lease.max(n.config.verify_max)));
    let lease = lease.max().unwrap_or(0);
    2 * lease + lease / 2 + 40 * trip.longest()
}

/// The longest true time of a span that a fast clock has stretched and a slow clock counts.
pub(super) fn twice(config: &Checked, span: Duration) -> u64 {
    nanos(config.drift.real_at_most(config.drift.stretch(span)))
}

struct Draft {
    config: Config,
    uneven: bool,
    /// Whether later lives grant at most the requested leases.
    shortened: bool,
}

impl Draft {
    fn draw(rng: &mut Rng, members: usize) -> Self {
        let list = (0..members).map(|n| Member::at(known(&name(n, true)), address(n)));
        let mut config = Config::new(known("world"), list.collect());
        let lease = Duration::from_millis(rng.choose(&[200, 1_000, 1_000, 2_000, 5_000]));
        let drift = rng.choose(&DRIFTS);
        config.drift = Drift::from_parts_per_billion(drift).unwrap_or(Drift::DEFAULT);
        config.lease = lease;
        config.delta_max = lease * rng.choose(&[1, 2, 2, 3]);
        config.round_trip = lease / rng.choose(&[50, 100, 200]);
        config.refresh = (lease / rng.choose(&[5, 6, 10])).max(config.round_trip * 2);
        config.verify_max = lease * rng.choose(&[0, 1, 2, 2]) / 2;
        config.grace = lease / 10;
        config.kill_margin = lease / 100;
        config.quorums = quorums(rng, members);
        Self { config, uneven: rng.once_in(3), shortened: false }
    }

    /// The delay of messages: usually well below `d`, sometimes around `d`.
    fn trip(&self, rng: &mut Rng) -> Delay {
        let d = nanos(self.config.round_trip);
        let longest = rng.choose(&[d / 64, d / 4, d / 2, d, d * 2]);
        Delay::Between(longest / 8, longest.max(8))
    }

    fn nodes(&self, rng: &mut Rng, members: usize, candidates: usize) -> Vec<NodePlan> {
        let all_campaign = candidates == 0 || rng.once_in(3);
        let forgetful = members >= 3 && rng.once_in(8);
        let node = |n: usize| {
            let member = n < members;
            let mut config = self.config.clone();
            if self.uneven {
                config.lease = config.lease * rng.choose(&[3, 4, 4]) / 4;
            }
            let check = |config: Config| {
                config.check().unwrap_or_else(|wrong| panic!("a plan's settings: {wrong}"))
            };
            let mut later = config.clone();
            later.delta_max = self.config.lease;
            later.verify_max = later.verify_max.min(later.delta_max);
            NodePlan {
                name: known(&name(n, member)),
                address: address(n),
                config: check(config),
                later: self.shortened.then(|| check(later)),
                member,
                stray: false,
                blank: false,
                operator: false,
                copy_of: None,
                directory: !(forgetful && n == 0),
                campaigns: !member || all_campaign || rng.once_in(3),
                observes: rng.once_in(4),
            }
        };
        (0..members + candidates).map(node).collect()
    }
}

/// A quorum system for this number of members. All systems but the first survive fewer failures.
fn quorums(rng: &mut Rng, members: usize) -> Quorums {
    let majority = || Quorums::majority(members);
    let drawn = match (rng.within(0..4), members) {
        (0, 3) => {
            let sets: [MemberSet; 2] = [[0, 1], [1, 2]].map(|set| set.into_iter().collect());
            Quorums::explicit(members, &sets)
        }
        (0, 4) => Quorums::grid(2, 2),
        (0, 6) => Quorums::grid(2, 3),
        (1, 3..) => {
            let weights: Vec<u32> = (0..members).map(|_| rng.within(1..4) as u32).collect();
            Quorums::weighted(&weights, None)
        }
        _ => majority(),
    };
    drawn.or_else(|_| majority()).unwrap_or_else(|wrong| panic!("a majority: {wrong}"))
}

/// Each kind of fault occurs in half of the worlds, at any of three strengths.
pub(super) fn rates(rng: &mut Rng) -> Rates {
    Rates {
        loss: rate(rng, 4_000),
        repeat: rate(rng, 6_000),
        late: rate(rng, 3_000),
        very_late: rate(rng, 500),
        pause: rate(rng, 300),
        crash: rate(rng, 12),
        write: rate(rng, 300),
        early: rate(rng, 4_000),
        tardy: rate(rng, 4_000),
    }
}

fn sites(
    rng: &mut Rng,
    nodes: &[NodePlan],
    drift: Drift,
    bounded: bool,
    storm_ends: u64,
) -> Vec<Site> {
    let (slow, fast) = Clock::rates(drift);
    let adversary = rng.once_in(2);
    let site = |node: &NodePlan| {
        let worst = if node.member { fast } else { slow };
        let rate = |rng: &mut Rng| if adversary { worst } else { rng.within(slow..fast + 1) };
        let origin = rng.within(0..1 << 40);
        let mut clock = Clock::new(0, origin, rate(rng));
        let mut at = 0;
        for _ in 0..rng.within(0..3) {
            at += rng.within(1..storm_ends / 2);
            // Beyond the bound: up to twice as fast or half as fast, or a jump of a lease.
            if bounded {
                clock.change(at, rate(rng));
            } else if rng.once_in(2) {
                clock.change(at, rng.within(TRUE_RATE / 2..TRUE_RATE * 2));
            } else {
                clock.jump(at, rng.within(1..storm_ends / 4));
            }
        }
        let starts = match node.copy_of {
            None => rng.within(0..storm_ends / 100),
            Some(_) => rng.within(storm_ends / 8..storm_ends / 2),
        };
        Site { name: node.name.to_string(), clock, wall: 0, starts }
    };
    nodes.iter().map(site).collect()
}

fn incidents(rng: &mut Rng, nodes: usize, unit: u64, storm_ends: u64) -> Vec<(u64, Incident)> {
    let gap = unit * rng.choose(&[1, 2, 6]);
    let crashes = rng.once_in(2);
    let reboots = rng.choose(&[0, 2, 2, 1]);
    repeatedly(rng, unit / 2..storm_ends, gap / 8..gap, |rng, at| {
        let node = rng.below(nodes);
        let other = rng.below(nodes);
        let until = at + rng.within(unit / 10..unit * LEFTOVER);
        match rng.within(if crashes { 0 } else { 3 }..8) {
            0..=2 => Incident::Crash {
                node,
                down: rng.within(1..unit * 3 / 2),
                reboot: rng.once_in(reboots).then(|| rng.within(0..1 << 40)),
                disk: match rng.within(0..12) {
                    0 => DiskFate::Torn,
                    1 => DiskFate::Lost,
                    2 => DiskFate::Foreign(other),
                    _ => DiskFate::Kept,
                },
            },
            3 => Incident::Cut { from: node, to: other, until },
            4 => Incident::Split { side: 1 << node, until },
            5 => Incident::Split { side: rng.next() % (1 << nodes), until },
            _ => Incident::Stop { node, until },
        }
    })
}

/// When the storm ends, removes as many nodes as the cluster can do without. In such a world no
/// directory is lost: a grantor without memory needs a quorum of the others to grant again.
fn some_never_return(rng: &mut Rng, nodes: &mut [NodePlan], conditions: &mut Conditions) {
    let Conditions { storm_ends, ref mut incidents, .. } = *conditions;
    let mut left: Vec<usize> = (0..nodes.len()).collect();
    for _ in 0..rng.within(1..4) {
        let node = rng.choose(&left);
        let rest: Vec<usize> = left.iter().copied().filter(|other| *other != node).collect();
        let members = rest.iter().copied().filter(|other| nodes[*other].member).collect();
        let quorum = nodes[0].config.membership().quorums().is_quorum(members);
        if quorum && rest.iter().any(|other| nodes[*other].campaigns) {
            incidents.push((storm_ends - 1, Incident::Gone { node }));
            left = rest;
        }
    }
    for (_, incident) in incidents {
        if let Incident::Crash { disk: disk @ DiskFate::Lost, .. } = incident {
            *disk = DiskFate::Torn;
        }
    }
    for node in nodes {
        node.directory = true;
    }
}

/// Members are called `a`, `b`, ...; other nodes `p`, `q`, ...
pub(super) fn name(n: usize, member: bool) -> String {
    let first = if member { b'a' } else { b'p' };
    let n = if member { n } else { n % 8 };
    char::from(first + n as u8).to_string()
}

/// The port of the first node.
const PORT: u16 = 7_001;

pub(super) fn address(n: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], PORT + n as u16))
}

/// The number of the node with this address, if it exists.
fn number(address: &SocketAddr) -> Option<usize> {
    address.port().checked_sub(PORT).map(usize::from)
}

/// Interval of an observer's questions.
pub(super) fn observe_every(config: &Config) -> Duration {
    config.lease / 5
}

/// The largest lag of an observer, on its clock.
pub(super) fn patience(config: &Config) -> Duration {
    observe_every(config) * 3 + config.round_trip * 4
}
