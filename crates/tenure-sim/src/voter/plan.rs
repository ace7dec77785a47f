//! The plan of a seed: regions and their voters, settings, clocks, and faults.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::Drift;
use tenure_core::voter::{Admission, Checked, Config, Founding, Listed, Mode, VoterUrl};

use super::server::Manner;
use crate::rng::Rng;
use crate::scenario::plan::{
    LEFTOVER, MS, Outline, known, nanos, one_way, partings, rate, rates_of_connections, repeatedly,
};
use crate::world::clock::Clock;
use crate::world::conditions::{DiskFate, Incident};
use crate::world::fault::Rates;
use crate::world::nodes::bits;

/// The plan of a world of regional voters; the unit of its conditions is the lease.
pub type Plan = crate::scenario::Plan<NodePlan, Settings>;

/// Salts of draws.
const OWN: u64 = 0x766f_7465;
/// Salt of the draw that picks a voter with another heartbeat interval.
const INTERVALS: u64 = 0x6861_7374;
/// Salt of the draw that picks voters that never return.
const LEAVERS: u64 = 0x6661_6c6c;
const SECOND: u64 = 1_000 * MS;

/// The fault on which a world concentrates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// No faults.
    Connected,
    /// Only splits and heals of regions.
    Parted,
    /// A little of every fault.
    Broad,
    /// One-way links, and messages that come late, twice and out of order.
    Divided,
    /// Operators change the electorate repeatedly.
    Changing,
    /// Directories are lost, or a second pod has the name of a voter; routes lead to wrong voters,
    /// and two networks of one name meet.
    Mistaken,
}

/// Settings of these worlds alone.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kind: Kind,
    pub mode: Mode,
    pub config: Checked,
    pub founders: usize,
    /// Number of voters, without second pods.
    pub voters: usize,
    /// Whether the two halves are separate networks.
    pub two: bool,
    /// The node of a second pod that runs under a voter's name, and the node of that voter.
    pub pod: Option<(usize, usize)>,
    /// A route leads to a wrong voter for one request in this many; never, if zero.
    pub strays: u64,
    /// Whether all runs get the same seed, like copies of one machine.
    pub alike: bool,
}

#[derive(Clone, Debug)]
pub struct NodePlan {
    pub config: Checked,
    pub manner: Manner,
    pub campaigns: bool,
    pub observes: bool,
}

/// The region of a voter, one of three.
const fn region(node: usize) -> usize {
    node % 3
}

/// The voters of a region, a bit each.
fn of_region(which: usize, nodes: usize) -> u64 {
    bits((0..nodes).filter(|node| region(*node) == which))
}

impl Settings {
    /// The number of the voter at a node; a second pod has the number of its voter.
    #[must_use]
    fn number(&self, node: usize) -> usize {
        self.pod.filter(|(pod, _)| *pod == node).map_or(node, |(_, of)| of)
    }

    /// A span by the slowest clock, in true time.
    #[must_use]
    pub fn slow(&self, span: Duration) -> u64 {
        let drift = self.config.drift;
        nanos(drift.real_at_most(drift.stretch(span)))
    }

    /// The time of a ballot, with the poll before it.
    #[must_use]
    pub fn ballot(&self) -> Duration {
        let config = &self.config;
        config.request_timeout + config.cast_timeout + config.result_timeout
    }

    /// The shortest time for which a voter seeks a voter that it has dropped.
    #[must_use]
    pub fn forgets_after(&self) -> u64 {
        let span = self.config.forget_after;
        2 * nanos(span) - self.slow(span)
    }

    /// Guarantees (c) and (d), with this number of draws: the longest vacancy of a part with a
    /// quorum. In mode `available` also the longest overlap of two leaders that reach each other.
    #[must_use]
    pub fn change_most(&self, draws: u32) -> u64 {
        nanos(self.config.failover()) + self.slow(self.ballot() * draws.saturating_sub(1))
    }

    /// The longest vacancy of a part. In mode `available` the voters first suspect a silent leader,
    /// and a voter that asked too early waits longer each time.
    #[must_use]
    pub fn vacant_most(&self, draws: u32) -> u64 {
        let silence = match self.mode {
            Mode::Majority => 0,
            Mode::Available => self.slow(self.config.silence() + self.config.spread * 18),
        };
        self.change_most(draws) + silence
    }
}

/// Draws times that fit together.
fn times(rng: &mut Rng, mode: Mode) -> Config {
    let url = "http://n0".parse().unwrap_or_else(|wrong| panic!("a constant: {wrong}"));
    let mut config = Config::new(known("sim"), known("n0"), url);
    config.mode = mode;
    let heartbeat = rng.choose(&[SECOND / 10, SECOND, SECOND, 3 * SECOND]);
    let timeout = heartbeat * rng.choose(&[20, 30, 50, 90]) / 100;
    let drift = rng.choose(&[0, 1_000_000, 10_000_000, 100_000_000]);
    config.drift = Drift::from_parts_per_billion(drift).unwrap_or(Drift::DEFAULT);
    config.tolerance = rng.choose(&[2, 3, 3, 6]);
    let span = Duration::from_nanos;
    config.heartbeat = span(heartbeat);
    config.request_timeout = span(timeout);
    config.cast_timeout = span(timeout * rng.choose(&[2, 2, 3]));
    config.result_timeout = span(timeout * rng.choose(&[1, 2]));
    config.spread = span(heartbeat * rng.choose(&[10, 50, 100]) / 100);
    config.forget_after = span(heartbeat * rng.choose(&[4, 20, 600]));
    config.founding = Founding::Expected(1);
    loop {
        config.grace = config.counted(config.lease()) / 10;
        config.kill_margin = config.grace / 2;
        match config.clone().check() {
            Ok(_) => return config,
            Err(wrong) => assert!(config.tolerance < 100, "a plan's settings: {wrong}"),
        }
        config.tolerance += 1;
    }
}

#[must_use]
pub fn draw(seed: u64) -> Plan {
    let mut rng = Rng::new(seed, OWN);
    let mode = rng.choose(&[Mode::Majority, Mode::Majority, Mode::Majority, Mode::Available]);
    let kind = match mode {
        Mode::Majority => rng.choose(&[
            Kind::Connected,
            Kind::Parted,
            Kind::Broad,
            Kind::Broad,
            Kind::Divided,
            Kind::Changing,
            Kind::Changing,
            Kind::Mistaken,
        ]),
        Mode::Available => rng.choose(&[Kind::Connected, Kind::Parted, Kind::Parted, Kind::Broad]),
    };
    let config = times(&mut rng, mode);
    let timeout = nanos(config.request_timeout);
    let founders = match kind {
        Kind::Changing => rng.choose(&[1, 2, 3]),
        Kind::Mistaken => rng.choose(&[1, 2, 3]),
        _ => rng.choose(&[1, 2, 3, 3, 4, 5, 5]),
    };
    let two = kind == Kind::Mistaken && rng.once_in(2);
    let voters = match kind {
        Kind::Changing => founders + rng.choose(&[1, 2, 3]),
        Kind::Mistaken if two => 2 * founders,
        _ => founders,
    };
    let pod = (kind == Kind::Mistaken && rng.once_in(2)).then(|| (voters, rng.below(voters)));
    // An unused draw: without it, each seed would make another world.
    rng.next();
    let own = Settings {
        kind,
        mode,
        config: config.clone().check().unwrap_or_else(|wrong| panic!("checked: {wrong}")),
        founders,
        voters,
        two,
        pod,
        strays: if kind == Kind::Mistaken { rng.choose(&[0, 20]) } else { 0 },
        alike: rng.once_in(8),
    };
    let lease = nanos(config.lease());
    let longest = own.slow(config.lease() * 2);
    let settles =
        2 * longest + own.slow((config.spread * 16 + own.ballot() + config.heartbeat) * 6);
    let trip = timeout / 4 / rng.choose(&[1, 1, 4, 30]);
    let nodes = nodes(&mut rng, seed, &own, &config);
    let outline = Outline { unit: lease, trip: trip.max(16), drift: config.drift, settles };
    let mut plan = Plan::draw(seed, nodes, outline, own);
    plan.bend(&mut rng);
    plan
}

fn nodes(rng: &mut Rng, seed: u64, own: &Settings, config: &Config) -> Vec<(String, NodePlan)> {
    let count = own.voters + usize::from(own.pod.is_some());
    let hasty = hasty(seed, own.voters);
    // A second pod has the name and the route of its voter.
    let number = |node: usize| own.number(node);
    let url = |node: usize| known::<VoterUrl>(&format!("http://n{}", number(node)));
    let urls: Arc<[VoterUrl]> = (0..count).map(url).collect();
    let listed = |node: usize| Listed { id: known(&format!("n{node}")), url: urls[node].clone() };
    // Two networks and changes of members need a list: an expected number admits exactly this
    // number of voters.
    let by_list = own.two || own.kind == Kind::Changing || rng.once_in(2);
    let admission = if rng.once_in(4) { Admission::Auto } else { Admission::Operator };
    let late = rng.once_in(2);
    let breaks = rng.choose(&[0, 0, 30, 300]);
    let breaks = if matches!(own.kind, Kind::Connected | Kind::Parted) { 0 } else { breaks };
    let changing = matches!(own.kind, Kind::Changing | Kind::Mistaken);
    let all_campaign = changing || rng.once_in(2);
    let odd = rng.once_in(3).then(|| rng.below(count));
    let node = |node: usize| {
        let mut config = config.clone();
        config.id = known(&format!("n{}", number(node)));
        config.url = urls[node].clone();
        config.admission = admission;
        let half = if own.two && number(node) >= own.founders { own.founders } else { 0 };
        let founders = half..half + own.founders;
        config.founding = match own.mode {
            Mode::Available if by_list => Founding::List(founders.clone().map(listed).collect()),
            Mode::Available => Founding::Anybody,
            // A voter that is no founder waits until members vote for it.
            Mode::Majority if !founders.contains(&number(node)) => Founding::Expected(64),
            Mode::Majority if by_list => Founding::List(founders.clone().map(listed).collect()),
            Mode::Majority => Founding::Expected(u16::try_from(own.founders).unwrap_or(u16::MAX)),
        };
        if odd == Some(node) {
            // This voter promises less time than others ask for, and has another bound on drift.
            let least = config.heartbeat + config.request_timeout * 4;
            let drift = config.drift.parts_per_billion() / 10;
            let other = Config {
                lease_max: Some((config.lease() / 2).max(least)),
                drift: Drift::from_parts_per_billion(drift).unwrap_or(config.drift),
                ..config.clone()
            };
            config = if_it_works(other, config);
        }
        if hasty == Some(number(node)) {
            let other = Config { heartbeat: config.heartbeat * 6 / 10, ..config.clone() };
            config = if_it_works(other, config);
        }
        let seeds = match &config.founding {
            // A list names all voters, which then need no seeds. With two networks, some voters
            // know the first voter. Without a list, all voters know the first voter and a drawn
            // voter.
            Founding::List(_) if !own.two => Vec::new(),
            Founding::List(_) => rng.once_in(4).then(|| urls[0].clone()).into_iter().collect(),
            _ => vec![urls[0].clone(), urls[rng.below(count)].clone()],
        };
        let resolves = config.heartbeat * u32::from(rng.choose(&[0_u8, 0, 1, 3]));
        let manner = Manner { urls: urls.clone(), late, breaks, seeds, resolves };
        let campaigns = node == 0 || all_campaign || rng.once_in(2);
        // A voter without an electorate cannot report a vacancy.
        let observes = !changing && (!campaigns || rng.once_in(2));
        let config = config.check().unwrap_or_else(|wrong| panic!("a plan's settings: {wrong}"));
        let letter = if number(node) == node { 'n' } else { 'm' };
        let name = format!("{letter}{}", number(node));
        (name, NodePlan { config, manner, campaigns, observes })
    };
    (0..count).map(node).collect()
}

/// The first settings if they are valid, otherwise the second.
fn if_it_works(other: Config, config: Config) -> Config {
    if other.clone().check().is_ok() { other } else { config }
}

/// The voter with more frequent heartbeats than the others, in one world of four: its leases are
/// shorter, and it suspects others sooner.
fn hasty(seed: u64, voters: usize) -> Option<usize> {
    let mut rng = Rng::new(seed, INTERVALS);
    rng.once_in(4).then(|| rng.below(voters))
}

impl Plan {
    /// Replaces the common faults by those of the world's kind.
    fn bend(&mut self, rng: &mut Rng) {
        let kind = self.own.kind;
        let lease = self.conditions.unit;
        self.elections = vec![known("sim")];
        self.reluctance = rng.choose(&[1, 1, 3]);
        self.calm = kind == Kind::Connected;
        self.set_clocks(rng);
        let count = self.nodes.len();
        let ends = self.conditions.storm_ends;
        let conditions = &mut self.conditions;
        conditions.rates = match kind {
            Kind::Connected | Kind::Parted => Rates::default(),
            _ => self.own.rates(rng),
        };
        match kind {
            Kind::Connected => conditions.incidents.clear(),
            Kind::Parted => conditions.incidents = parts(rng, count, lease, ends),
            Kind::Divided => {
                conditions.rates.crash = 0;
                conditions.incidents = one_way(rng, count, lease, ends);
            }
            Kind::Broad | Kind::Changing | Kind::Mistaken => {
                // A second pod, together with a lost directory, could found another network.
                let mistaken = kind == Kind::Mistaken && self.own.pod.is_none();
                let loses = mistaken || self.own.mode == Mode::Available;
                conditions.incidents = storm(rng, count, loses, lease, ends);
            }
        }
        if let Some((pod, _)) = self.own.pod {
            // The second pod starts after the founding, and ends before the storm does.
            conditions.sites[pod].starts = ends / 3;
            conditions.incidents.push((ends - 1, Incident::Gone { node: pod }));
        }
        if kind == Kind::Broad && self.own.mode == Mode::Majority {
            self.leave_a_quorum();
        }
    }

    /// Leaves only a quorum, in one world of four: the other voters leave for ever once the network
    /// has settled, and the quorum settles again.
    fn leave_a_quorum(&mut self) {
        let mut rng = Rng::new(self.conditions.seed, LEAVERS);
        if !rng.once_in(4) {
            return;
        }
        let mut voters: Vec<usize> = (0..self.nodes.len()).collect();
        let quorum = voters.len() / 2 + 1;
        while voters.len() > quorum {
            let node = voters.remove(rng.below(voters.len()));
            self.conditions.incidents.push((self.settled, Incident::Gone { node }));
        }
        let again = self.settled - self.conditions.storm_ends;
        self.settled += again;
        self.retired += again;
        self.conditions.end += again;
    }

    /// Puts clocks at the bounds of their drift, in half of the worlds.
    fn set_clocks(&mut self, rng: &mut Rng) {
        let extreme = rng.once_in(2);
        for (node, site) in self.nodes.iter().zip(&mut self.conditions.sites) {
            let (slow, fast) = Clock::rates(node.config.drift);
            let rate = if extreme { rng.choose(&[slow, fast]) } else { rng.within(slow..fast + 1) };
            let mut clock = Clock::new(0, rng.within(0..1 << 40), rate);
            if rng.once_in(4) {
                let at = rng.within(0..self.conditions.storm_ends);
                clock.change(at, rng.within(slow..fast + 1));
            }
            site.clock = clock;
        }
    }
}

impl Settings {
    fn rates(&self, rng: &mut Rng) -> Rates {
        let write = match self.mode {
            Mode::Majority => rate(rng, 2_000),
            Mode::Available => 0,
        };
        let repeat = rate(rng, 1_000);
        Rates { write, repeat, ..rates_of_connections(rng) }
    }
}

/// Draws splits of regions. Each split heals before the next.
fn parts(rng: &mut Rng, nodes: usize, lease: u64, ends: u64) -> Vec<(u64, Incident)> {
    // Voters find each other first: no promise covers unknown voters.
    let first = 3 * lease + rng.within(0..2 * lease);
    partings(rng, first, lease, ends, |rng| {
        let apart = rng.below(3);
        if rng.once_in(3) { rng.next() % (1 << nodes) } else { of_region(apart, nodes) }
    })
}

/// Draws ends of processes and machines, with and without their directories; cuts of regions and
/// voters; stops.
fn storm(rng: &mut Rng, nodes: usize, loses: bool, lease: u64, ends: u64) -> Vec<(u64, Incident)> {
    let gap = lease * rng.choose(&[1, 2, 6]);
    repeatedly(rng, lease / 2..ends, gap / 8..gap, |rng, at| {
        let node = rng.below(nodes);
        let other = rng.below(nodes);
        let until = at + rng.within(lease / 10..lease * LEFTOVER);
        let down = rng.within(1..lease * 3 / 2);
        let reboot = rng.once_in(4).then(|| rng.within(0..1 << 40));
        let disk = if loses && rng.once_in(2) { DiskFate::Lost } else { DiskFate::Kept };
        match rng.within(0..8) {
            0..=2 => Incident::Crash { node, down, reboot, disk },
            3 => Incident::Cut { from: node, to: other, until },
            4 => Incident::Split { side: 1 << node, until },
            5 => Incident::Split { side: of_region(region(other), nodes), until },
            6 => Incident::Split { side: rng.next() % (1 << nodes), until },
            _ => Incident::Stop { node, until },
        }
    })
}
