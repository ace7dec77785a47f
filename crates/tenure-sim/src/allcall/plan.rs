//! The plan of a seed: a bus, participants with settings, clocks, and faults.

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_core::Drift;
use tenure_core::allcall::{Callers, Checked, Config, OnConflict};

use super::client::Manner;
use super::frame::Place;
use crate::rng::Rng;
use crate::scenario::plan::{MS, Outline, elections, known, one_way, partings, rate, repeatedly};
use crate::world::conditions::{Delay, Incident};
use crate::world::fault::Rates;
use crate::world::nodes::bits;

/// The plan of a world of ALLCALL. Participants come first, then the servers of the bus; the unit
/// of its conditions is the lease.
pub type Plan = crate::scenario::Plan<NodePlan, Settings>;

/// Salts of draws.
const OWN: u64 = 0x616c_6c63;
const SERVERS: u64 = 0x7365_7276;
const SECOND: u64 = 1_000 * MS;

/// The fault on which a world concentrates. [`tenure_core::allcall`] lists the promises, (a) to
/// (d).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// No message is lost, and each takes less than H/2 (H is `heartbeat`), on one server or on
    /// several: promise (a).
    Connected,
    /// Only routes between servers are cut and mended: promise (b).
    Parted,
    /// Lost messages, ending servers, cut-off nodes, stopped processes.
    Lossy,
    /// One-way links; messages arrive more than a heartbeat late, more than once and out of order.
    Divided,
    /// Wall clocks off by more than K (`max_clock_skew`), some of them stepping, on a bus as in
    /// [`Connected`](Self::Connected).
    Beyond,
}

/// Settings of these worlds alone.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kind: Kind,
    /// H, the heartbeat, in nanoseconds, like the spans below.
    pub heartbeat: u64,
    /// L, the length of a lease.
    pub lease: u64,
    /// K, the bound on the skew of wall clocks.
    pub skew: u64,
    /// The bound on a packet's way while no fault delays it (d).
    pub delay: u64,
    /// ρ, the bound on the drift of clocks.
    pub drift: Drift,
    /// The reaction of a leader to a greater claim.
    pub on_conflict: OnConflict,
    /// Whether no participant stops, ends or leaves, so that checks use close bounds.
    pub steady: bool,
    /// A bit for each participant whose wall clock is off by more than K at times. The flag: these
    /// clocks are off so far that all other participants must notice.
    pub wrong: (u64, bool),
    /// The participant with a longer lease than the others, if any.
    pub odd: Option<usize>,
    /// Whether a process with the right to ask sends questions in the names of participants, and in
    /// many more names.
    pub asker: bool,
    /// Whether applications withdraw often, and campaign again within a round.
    pub hasty: bool,
}

#[derive(Clone, Debug)]
pub enum NodePlan {
    Participant(Participant),
    Station(Vec<Place>),
}

#[derive(Clone, Debug)]
pub struct Participant {
    pub config: Checked,
    pub manner: Manner,
    pub campaigns: bool,
    pub observes: bool,
}

impl Settings {
    fn times(rng: &mut Rng, kind: Kind) -> Self {
        let heartbeat = rng.choose(&[SECOND / 10, SECOND, SECOND, 3 * SECOND]);
        let skew = heartbeat * rng.choose(&[1, 5, 10, 20]) / 10;
        let lease = 2 * (3 * heartbeat + 2 * skew) * rng.choose(&[105, 110, 150, 300]) / 100;
        let drift = rng.choose(&[0, 1_000_000, 1_000_000, 10_000_000]);
        // A delay is two hops, or three hops where servers route.
        let trip = heartbeat / if kind == Kind::Parted { 8 } else { 5 };
        let trip = trip / rng.choose(&[1, 1, 4, 30]);
        Self {
            kind,
            heartbeat,
            lease,
            skew,
            delay: 3 * trip,
            drift: Drift::from_parts_per_billion(drift).unwrap_or(Drift::DEFAULT),
            on_conflict: rng.choose(&[OnConflict::Yield, OnConflict::Yield, OnConflict::ServeOut]),
            steady: rng.once_in(2),
            wrong: (0, false),
            odd: None,
            asker: false,
            hasty: false,
        }
    }

    /// Promise (c): the longest vacancy in a part of the bus with a candidate, in true time. The
    /// bound is L + 3K + 2H by a slow clock, and a delay; L is the lease.
    #[must_use]
    pub fn vacant_most(&self) -> u64 {
        self.slow(self.lease + 3 * self.skew + 2 * self.heartbeat) + self.delay
    }

    /// Promise (b): the longest overlap of two leaders that reach each other.
    #[must_use]
    pub fn overlap_most(&self) -> u64 {
        match self.on_conflict {
            OnConflict::Yield => self.slow(self.heartbeat) + self.delay,
            OnConflict::ServeOut => self.slow(self.lease) - self.skew + self.delay,
        }
    }

    /// Promise (b): the span until the candidate of the best rank leads alone. With `serve-out`
    /// this candidate leads only after the leases of others end, L − K + d after the heal. Another
    /// leader may renew until the candidate announces its rank again; the candidate waits for that
    /// lease, too.
    #[must_use]
    pub fn best_most(&self) -> u64 {
        let span = match self.on_conflict {
            OnConflict::Yield => self.lease + self.skew + 3 * self.heartbeat,
            OnConflict::ServeOut => 2 * self.lease - self.skew + self.heartbeat,
        };
        self.slow(span) + 3 * self.delay
    }

    /// The longest span in which a participant listens or defers, in true time.
    #[must_use]
    pub fn listening(&self) -> u64 {
        self.slow(self.slow(self.lease + self.skew))
    }

    /// A little more than `(1 + ρ)/(1 − ρ)` of a span.
    #[must_use]
    pub fn slow(&self, span: u64) -> u64 {
        span + (span / 1_000_000) * u64::from(self.drift.parts_per_billion() / 400)
    }

    /// Whether the wall clock of this participant stays within K.
    #[must_use]
    pub const fn is_right(&self, node: usize) -> bool {
        self.wrong.0 >> node & 1 == 0
    }
}

#[must_use]
pub fn draw(seed: u64) -> Plan {
    let mut rng = Rng::new(seed, OWN);
    let kind = rng.choose(&[
        Kind::Connected,
        Kind::Connected,
        Kind::Parted,
        Kind::Parted,
        Kind::Lossy,
        Kind::Lossy,
        Kind::Divided,
        Kind::Beyond,
    ]);
    let mut own = Settings::times(&mut rng, kind);
    let participants =
        rng.choose(&[1, 2, 3, 3, 4, 5]).max(if kind == Kind::Beyond { 2 } else { 1 });
    let mut more = Rng::new(seed, SERVERS);
    let stations = match kind {
        Kind::Connected if own.steady => more.choose(&[1, 1, 2, 3]),
        Kind::Connected => more.choose(&[1, 1, 1, 2, 3]),
        Kind::Beyond => 1,
        Kind::Parted => rng.choose(&[2, 2, 3]),
        Kind::Lossy | Kind::Divided => rng.choose(&[1, 1, 2, 3]),
    };
    if kind == Kind::Connected && stations > 1 {
        // Delays of a network that splits: three hops take less than H/2 in all.
        own.delay = own.delay / 8 * 5;
    }
    let often = if stations > 1 { 2 } else { 8 };
    own.asker = matches!(kind, Kind::Connected | Kind::Beyond) && more.once_in(often);
    own.hasty = own.asker && stations > 1 && more.once_in(2);
    if kind == Kind::Connected && participants > 2 && own.steady && rng.once_in(4) {
        own.odd = Some(participants - 1);
    }
    if kind == Kind::Beyond {
        own.steady = true;
        own.wrong = (1 << rng.below(participants), !rng.once_in(3));
    }
    let nodes = nodes(&mut rng, &own, participants, stations);
    let patience = 4 * own.lease;
    let settles = patience
        + 3 * own.listening()
        + own.vacant_most()
        + participants as u64 * 2 * own.slow(own.heartbeat + own.skew)
        + 2 * own.lease;
    let outline = Outline { unit: own.lease, trip: own.delay / 3, drift: own.drift, settles };
    let mut plan = Plan::draw(seed, nodes, outline, own);
    plan.bend(&mut rng, participants);
    if plan.own.hasty {
        plan.conditions.pace = Delay::Between(plan.own.heartbeat / 8, plan.own.heartbeat);
    }
    plan
}

impl Plan {
    /// Replaces the common faults by those of the world's kind.
    fn bend(&mut self, rng: &mut Rng, participants: usize) {
        let kind = self.own.kind;
        let lease = self.own.lease;
        let skew = self.own.skew;
        let nodes = self.nodes.len();
        if rng.once_in(16) {
            // So many elections that their entries do not fit into one packet.
            self.elections = (0..16).map(|number| known(&format!("e{number}"))).collect();
        } else {
            self.elections = elections(rng.choose(&[1, 1, 2, 3]));
        }
        self.reluctance = rng.choose(&[1, 1, 3]);
        self.calm = matches!(kind, Kind::Connected) && self.own.steady;
        let conditions = &mut self.conditions;
        conditions.ordered = !matches!(kind, Kind::Lossy | Kind::Divided) || rng.once_in(2);
        match kind {
            Kind::Connected if !self.own.steady => {
                // On several servers promise (a) requires processes that are never late.
                let stops = nodes == participants + 1;
                let rates = Rates { loss: 0, late: 0, very_late: 0, ..conditions.rates };
                conditions.rates =
                    if stops { rates } else { Rates { pause: 0, tardy: 0, write: 0, ..rates } };
                conditions.incidents.retain(|(_, incident)| match incident {
                    Incident::Crash { node, .. } => *node < participants,
                    Incident::Stop { node, .. } => *node < participants && stops,
                    _ => false,
                });
            }
            Kind::Connected | Kind::Parted | Kind::Beyond => {
                conditions.rates = Rates::default();
                conditions.incidents.clear();
            }
            Kind::Lossy => conditions.rates.repeat = 0,
            Kind::Divided => {
                let [late, very_late] = [8_000, 2_000].map(|often| rate(rng, often));
                let repeat = if conditions.ordered { 0 } else { rate(rng, 2_000) };
                let early = conditions.rates.early;
                conditions.rates = Rates { late, very_late, repeat, early, ..Rates::default() };
                conditions.incidents = one_way(rng, nodes, lease, conditions.storm_ends);
            }
        }
        if kind == Kind::Parted {
            conditions.incidents = parts(rng, &self.nodes, lease, conditions.storm_ends);
        }
        conditions.draw_wall_clocks(skew);
        for site in &mut conditions.sites {
            let most = skew.cast_signed();
            site.wall = rng.choose(&[site.wall, site.wall, most, -most]);
        }
        if kind == Kind::Beyond {
            self.set_clocks_wrong(rng);
        }
        if let Some(odd) = self.own.odd {
            self.conditions.sites[odd].starts = 6 * lease;
        }
    }

    /// Moves a clock beyond K, from the beginning or repeatedly for a while, until the storm ends.
    fn set_clocks_wrong(&mut self, rng: &mut Rng) {
        let Settings { heartbeat, lease, skew, wrong: (nodes, far), .. } = self.own;
        let node = nodes.trailing_zeros() as usize;
        let conditions = &mut self.conditions;
        // Wrong clocks are off by more than 3K + 2H and two delays, or by just less.
        let beyond = 3 * skew + 3 * heartbeat;
        let off = |rng: &mut Rng| {
            let off = if far {
                beyond + rng.choose(&[0, lease / 2, 2 * lease, 20 * lease])
            } else {
                skew + rng.within(1..beyond - skew)
            };
            if rng.once_in(2) { off.cast_signed() } else { -off.cast_signed() }
        };
        conditions.incidents.retain(|(_, incident)| match incident {
            Incident::Step { node: other, .. } => *other != node,
            _ => true,
        });
        if rng.once_in(3) {
            conditions.sites[node].wall = off(rng);
        }
        let gap = lease * rng.choose(&[2, 4]);
        let first = rng.within(lease..2 * gap);
        let end = conditions.storm_ends;
        conditions.incidents.extend(repeatedly(rng, first..end, gap / 4..gap, |rng, _| {
            let ahead = if rng.once_in(3) { 0 } else { off(rng) };
            Incident::Step { node, ahead }
        }));
        conditions.incidents.push((end, Incident::Step { node, ahead: 0 }));
    }

    #[must_use]
    pub fn participant(&self, node: usize) -> Option<&Participant> {
        match &self.nodes[node] {
            NodePlan::Participant(participant) => Some(participant),
            NodePlan::Station(_) => None,
        }
    }

    #[must_use]
    pub fn participants(&self) -> usize {
        (0..self.nodes.len()).filter(|node| self.participant(*node).is_some()).count()
    }
}

fn nodes(
    rng: &mut Rng,
    own: &Settings,
    participants: usize,
    stations: usize,
) -> Vec<(String, NodePlan)> {
    let ranks = rng.below(4);
    let twins = participants > 1 && rng.once_in(5);
    let few = rng.once_in(3).then(|| NonZeroU16::MIN.saturating_add(rng.once_in(2).into()));
    let all_campaign = own.kind == Kind::Beyond || rng.once_in(2);
    let rejoin_wait = own.kind == Kind::Connected && own.steady || !rng.once_in(8);
    let lossy = matches!(own.kind, Kind::Lossy | Kind::Divided);
    let tells = !lossy || rng.once_in(2);
    let keeps = lossy && rng.once_in(2);
    let patience = if lossy {
        rng.choose(&[own.heartbeat * 3, own.lease, 3 * own.lease])
    } else {
        4 * own.lease
    };
    let place = |station: usize| Place(participants + station);
    let participant = |node: usize| {
        let number = if twins && node == 1 { 0 } else { node };
        let mut config = Config::new(known("sim"), known(&format!("n{number}")));
        config.rank = match ranks {
            0 => Some(7),
            1 => None,
            _ => Some((participants - node) as u64 * 10),
        };
        let nanos = Duration::from_nanos;
        config.heartbeat = nanos(own.heartbeat);
        config.max_clock_skew = nanos(own.skew);
        config.lease = nanos(if own.odd == Some(node) { 2 * own.lease } else { own.lease });
        config.drift = own.drift;
        config.on_conflict = own.on_conflict;
        config.rejoin_wait = rejoin_wait;
        config.callers = few.map_or(Callers::All, Callers::Few);
        config.grace = config.usable() / 3;
        config.kill_margin = config.usable() / 10;
        let config = config.check().unwrap_or_else(|wrong| panic!("a plan's settings: {wrong}"));
        // A participant stays at one server if no message is lost.
        let stations =
            if lossy { (0..stations).map(place).collect() } else { vec![place(node % stations)] };
        let manner = Manner { stations, patience: nanos(patience), tells, keeps };
        let campaigns = node == 0 || all_campaign || rng.once_in(2);
        let observes = !campaigns || rng.once_in(2);
        NodePlan::Participant(Participant { config, manner, campaigns, observes })
    };
    let mut nodes: Vec<(String, NodePlan)> = Vec::new();
    let participants = (0..participants).map(participant).enumerate();
    nodes.extend(participants.map(|(node, plan)| (format!("n{node}"), plan)));
    nodes.extend((0..stations).map(|station| {
        let others = (0..stations).filter(|other| *other != station).map(place).collect();
        (format!("bus{station}"), NodePlan::Station(others))
    }));
    nodes
}

/// Repeatedly cuts servers with their clients off from each other. Each cut is mended before the
/// next.
fn parts(rng: &mut Rng, nodes: &[NodePlan], lease: u64, storm_ends: u64) -> Vec<(u64, Incident)> {
    let first = rng.within(0..4 * lease);
    let is_station = |node: &NodePlan| matches!(node, NodePlan::Station(_));
    let stations = nodes.iter().filter(|node| is_station(node)).count();
    let home = |number: usize| match &nodes[number] {
        NodePlan::Participant(one) => one.manner.stations[0].0,
        NodePlan::Station(_) => number,
    };
    let nth = |node: usize| home(node) - (nodes.len() - stations);
    partings(rng, first, lease, storm_ends, |rng| {
        let sides = 1 + rng.within(0..(1 << stations) - 2);
        bits((0..nodes.len()).filter(|node| sides >> nth(*node) & 1 == 1))
    })
}
