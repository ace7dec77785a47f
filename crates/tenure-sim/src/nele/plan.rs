//! The plan of a seed: a broker, clients with settings, clocks, and faults.

use std::time::Duration;

use tenure_core::nele::{Checked, Config, Mode, TopicId};
use tenure_core::{Drift, Time};

use super::broker::{Epochs, Fault, Stray, Topic};
use super::client::Manner;
use super::coordinator::Terms;
use super::frame::Place;
use crate::rng::Rng;
use crate::scenario::plan::{Outline, known, nanos, repeatedly};
use crate::world::clock::{Clock, TRUE_RATE};
use crate::world::conditions::{DiskFate, Incident};
use crate::world::fault::Rates;

/// The plan of a world of NELE. Clients come first, then the broker; the unit of its conditions is
/// T (`takeover`).
pub type Plan = crate::scenario::Plan<NodePlan, Settings>;

/// Salts of draws.
const OWN: u64 = 0x6e65_6c65;
const FAULTS: u64 = 0x6661_756c;
const BARRIERS: u64 = 0x7374_6f6e;
const UNLIKE: u64 = 0x756e_6c69;
/// Records that harm no process for long.
const STRAYS: [Stray; 4] =
    [Stray::Foreign, Stray::Unreadable, Stray::OtherElection, Stray::OtherGroup];

/// Settings of these worlds alone.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// T (`takeover`) in nanoseconds, like the spans below; the longest T, if processes differ.
    pub takeover: u64,
    /// The process with a longer T than the others, if any.
    pub unlike: Option<usize>,
    /// True time after which a process certainly no longer leads. The time counts from the last
    /// record that shows the process as leader, or from the last time at which it might have led.
    pub heard: u64,
    /// Longest time from a partition's move until its next owner leads, if no record is lost.
    pub changes: u64,
    /// ρ, the bound on the drift of clocks.
    pub drift: Drift,
    /// Longest vacancy after a crash, in true time.
    pub vacant: u64,
    /// Whether T allows for a change of the coordinator.
    pub failover: bool,
    pub terms: Terms,
    /// Whether acknowledged records may be lost.
    pub unreplicated: bool,
    /// Faults of the broker, in true time.
    pub faults: Vec<(u64, Fault)>,
}

#[derive(Clone, Debug)]
pub enum NodePlan {
    Client(Box<Process>),
    Broker,
}

#[derive(Clone, Debug)]
pub struct Process {
    pub config: Checked,
    pub manner: Manner,
    pub campaigns: bool,
    pub observes: bool,
}

/// The topic with which every world begins.
#[must_use]
pub fn topic() -> TopicId {
    TopicId { cluster: "world".into(), topic: 1 << 96 }
}

impl Settings {
    /// The longest true time of a span by any clock.
    #[must_use]
    pub fn at_most(&self, span: u64) -> u64 {
        let parts = u64::from(self.drift.parts_per_billion());
        let stretched = u128::from(span) * 1_000_000_000 / u128::from(1_000_000_000 - parts) + 1;
        u64::try_from(stretched).unwrap_or(u64::MAX)
    }

    /// Sets the bounds from the settings of the slowest process.
    fn bound(&mut self, config: &Config) {
        let interval = nanos(config.publish_interval);
        // Two claims in a row, each after a pause, and the grace period.
        let claims = nanos(config.grace_period()) + 6 * interval + nanos(config.delivery_timeout);
        let claims = if config.mode == Mode::AtMostOne { claims } else { 0 };
        // A member that has lost its last role lingers before it leaves.
        let lingers = nanos(config.grace) + interval;
        let deaf = 2 * nanos(config.silence());
        self.heard = self.at_most(nanos(config.heard_leads()) + deaf + 2 * interval);
        self.vacant = self.at_most(nanos(config.handover()) + lingers + claims);
    }
}

/// The settings of the first process.
fn config(rng: &mut Rng) -> Config {
    let ms = Duration::from_millis;
    let mode = rng.choose(&[Mode::AtMostOne, Mode::AtMostOne, Mode::AtLeastOne]);
    let partitions = rng.choose(&[1, 2, 3]);
    let interval = ms(rng.choose(&[50, 100, 500]));
    let session = interval * rng.choose(&[6, 12, 20]);
    let drift = rng.choose(&[0, 1_000_000, 10_000_000, 50_000_000]);
    let mut config = Config {
        publish_interval: interval,
        session_timeout: session,
        heartbeat_interval: session / rng.choose(&[3, 4, 6]),
        max_poll_interval: session * rng.choose(&[1, 1, 2]),
        delivery_timeout: interval * rng.choose(&[1, 2, 4]),
        fetch_wait: interval / rng.choose(&[2, 5, 10]),
        seek: interval * 2,
        failover: rng.once_in(2),
        drift: Drift::from_parts_per_billion(drift).unwrap_or(Drift::DEFAULT),
        fence_base: rng.choose(&[0, 0, 7]),
        ..Config::new(known("x"), known("g0"), known("n0"), partitions, mode)
    };
    let needed = match mode {
        Mode::AtLeastOne => config.handover() + ms(1),
        Mode::AtMostOne => config.evidence_parts().total().max(2 * config.delivery_timeout),
    };
    config.takeover = needed * rng.choose(&[100, 120, 200]) / 100;
    let usable = config.usable();
    config.grace = usable / 3;
    config.kill_margin = usable / 10;
    config
}

/// The process with a longer T than the others, with its T, in a few worlds.
fn unlike(seed: u64, config: &Config, clients: usize) -> Option<(usize, Duration)> {
    let mut rng = Rng::new(seed, UNLIKE);
    let differs = config.mode == Mode::AtMostOne && clients > 1 && rng.once_in(6);
    differs.then(|| (rng.below(clients), config.takeover * rng.choose(&[2, 3, 5])))
}

#[must_use]
pub fn draw(seed: u64) -> Plan {
    let mut rng = Rng::new(seed, OWN);
    let config = config(&mut rng);
    let clients = rng.choose(&[1, 2, 3, 3, 4, 5]);
    let unlike = unlike(seed, &config, clients);
    let takeover =
        |node| unlike.filter(|(longer, _)| *longer == node).map(|(_, takeover)| takeover);
    let groups = rng.choose(&[1, 1, 1, 2]).min(clients);
    let notices = !rng.once_in(3);
    let all_campaign = rng.once_in(2);
    let interval = nanos(config.publish_interval);
    let trip = interval / rng.choose(&[8, 20, 50]);
    let patience = config.publish_interval * 2;
    let process = |node: usize, rng: &mut Rng| {
        let group = node % groups;
        let id = format!("n{node}");
        let own = Config {
            group: known(&format!("g{group}")),
            host: known(&id),
            id: known(&id),
            takeover: takeover(node).unwrap_or(config.takeover),
            ..config.clone()
        };
        let config = own.check().unwrap_or_else(|wrong| panic!("a plan's settings: {wrong}"));
        let campaigns = node < groups || all_campaign || rng.once_in(2);
        let observes = !campaigns || rng.once_in(2);
        let late = rng.once_in(2);
        let silent = rng.once_in(8);
        let backlog = rng.choose(&[0, 0, 3]);
        let broker = Place(clients);
        let manner = Manner { broker, group, patience, notices, late, backlog, silent };
        NodePlan::Client(Box::new(Process { config, manner, campaigns, observes }))
    };
    let mut nodes: Vec<(String, NodePlan)> =
        (0..clients).map(|node| (format!("n{node}"), process(node, &mut rng))).collect();
    nodes.push(("broker".into(), NodePlan::Broker));
    let takeover = unlike.map_or(config.takeover, |(_, takeover)| takeover);
    // The spans below hold for the slowest process.
    let config = Config { takeover, ..config };
    let takeover = nanos(config.takeover);
    let handover = nanos(config.handover());
    let changes = 2 * handover + 3 * nanos(config.grace_period()) + 20 * interval;
    let terms = Terms {
        session: config.session_timeout,
        rebalance: config.max_poll_interval,
        partitions: config.partitions,
        classic: rng.once_in(2),
    };
    let own = Settings {
        mode: config.mode,
        takeover,
        unlike: unlike.map(|(node, _)| node),
        heard: 0,
        changes,
        drift: config.drift,
        vacant: 0,
        failover: config.failover,
        terms,
        unreplicated: rng.once_in(6),
        faults: Vec::new(),
    };
    let unit = takeover.max(nanos(config.session_timeout));
    // Add time for applications, which give their commands one after the other.
    let settles = 3 * changes + 4 * unit + 12 * unit;
    let outline = Outline { unit, trip, drift: config.drift, settles };
    let mut plan = Plan::draw(seed, nodes, outline, own);
    plan.own.bound(&config);
    plan.bend(&mut rng, clients);
    plan
}

impl Plan {
    /// Replaces the common faults by those of NELE.
    fn bend(&mut self, rng: &mut Rng, clients: usize) {
        let roles = rng.choose(&[1, 1, 2, 3]);
        self.elections = (0..roles).map(|role| known(&format!("x/{role}"))).collect();
        self.reluctance = rng.choose(&[1, 1, 3]);
        if !self.calm && rng.once_in(4) {
            self.calm = true;
            self.conditions.rates = Rates::default();
            self.conditions.incidents.clear();
        }
        let conditions = &mut self.conditions;
        conditions.ordered = self.calm || !rng.once_in(4);
        conditions.incidents.retain(|(_, incident)| match incident {
            Incident::Crash { node, .. } => *node < clients,
            _ => true,
        });
        if self.calm {
            self.calm_down(rng, clients);
        } else {
            self.stir(rng, clients);
        }
    }

    /// Removes all faults but ends of processes, and changes of coordinators if T allows for them.
    fn calm_down(&mut self, rng: &mut Rng, clients: usize) {
        let unit = self.conditions.unit;
        let ends = self.conditions.storm_ends;
        let mut at = rng.within(unit / 2..4 * unit);
        let crashes = !rng.once_in(4);
        // Restart only one of two groups, as an upgrade does.
        let only = rng.once_in(2).then_some(0);
        while crashes && at < ends {
            let node = rng.below(clients);
            let down = rng.within(1..2 * unit);
            let group = self.process(node).map(|process| process.manner.group);
            if only.is_some() && group != only {
                continue;
            }
            let crash = Incident::crash(node, down, DiskFate::Kept);
            self.conditions.incidents.push((at, crash));
            at += rng.within(unit / 8..6 * unit);
        }
        let first = rng.within(unit..4 * unit);
        if self.own.failover {
            let heals = self.own.vacant;
            let pause = heals + unit..heals + 8 * unit;
            self.own.faults = repeatedly(rng, first..ends, pause, |_, _| Fault::FailOver);
        }
        for node in &mut self.nodes {
            if let NodePlan::Client(process) = node {
                process.manner.silent = false;
            }
        }
    }

    fn stir(&mut self, rng: &mut Rng, clients: usize) {
        let broker = &mut self.conditions.sites[clients];
        // The broker's clock keeps to no bound.
        let rate = rng.within(TRUE_RATE * 3 / 4..TRUE_RATE * 4 / 3);
        broker.clock = Clock::new(0, rng.within(0..1 << 40), rate);
        self.own.faults = self.faults();
        if rng.once_in(8) {
            self.change_topic(rng, clients);
        }
    }

    /// Changes the topic, or adds a claim for another number of partitions, and restarts all
    /// processes after the topic is right again.
    fn change_topic(&mut self, rng: &mut Rng, clients: usize) {
        let unit = self.conditions.unit;
        let ends = self.conditions.storm_ends;
        let at = rng.within(2 * unit..ends / 2);
        let right = at + rng.within(unit..2 * unit);
        let partition = rng.next() as u32 % self.own.terms.partitions;
        let faults = &mut self.own.faults;
        match rng.within(0..3) {
            0 => faults.push((at, Fault::Topic(Topic::Anew))),
            1 => faults.push((at, Fault::Topic(Topic::Grown))),
            _ => faults.push((at, Fault::Stray(Stray::OtherCount, partition))),
        }
        faults.push((right, Fault::Topic(Topic::Right)));
        faults.sort_by_key(|(at, _)| *at);
        for node in 0..clients {
            let at = right + rng.within(unit / 2..unit);
            let down = rng.within(1..unit);
            let crash = Incident::crash(node, down, DiskFate::Kept);
            self.conditions.incidents.push((at, crash));
            if let NodePlan::Client(process) = &mut self.nodes[node] {
                process.manner.backlog = 0;
            }
        }
        self.conditions.incidents.sort_by_key(|(at, _)| *at);
    }

    fn faults(&self) -> Vec<(u64, Fault)> {
        let mut rng = Rng::new(self.conditions.seed, FAULTS);
        let unit = self.conditions.unit;
        let ends = self.conditions.storm_ends;
        let gap = unit * rng.choose(&[1, 3, 8]);
        let first = rng.within(unit / 2..gap + unit);
        let mut all = repeatedly(&mut rng, first..ends, gap / 8..gap, |rng, _| {
            let partition = rng.next() as u32 % self.own.terms.partitions;
            let slow = rng.choose(&[0, 0, 1, 4]) * self.own.takeover / 4;
            let stray = rng.choose(&STRAYS);
            let epochs = rng.choose(&[Epochs::True, Epochs::Untold, Epochs::TooHigh]);
            let lost = if self.own.unreplicated { rng.within(0..30) } else { 0 };
            match rng.within(0..12) {
                0 | 1 => Fault::FailOver,
                2 | 3 => Fault::Evict(rng.below(8)),
                4 | 5 => Fault::Double(Some(partition)),
                6 => Fault::Slow(Duration::from_nanos(slow)),
                7 => Fault::Epochs(epochs),
                8 | 9 => Fault::Stray(stray, partition),
                _ => Fault::Replica(lost),
            }
        });
        all.extend(self.barriers());
        all.sort_by_key(|(at, _)| *at);
        let last = [Fault::Double(None), Fault::Slow(Duration::ZERO), Fault::Epochs(Epochs::True)];
        all.extend(last.map(|fault| (ends, fault)));
        all
    }

    /// Draws times at which readers cannot pass the end of a partition, in some worlds.
    fn barriers(&self) -> Vec<(u64, Fault)> {
        let mut rng = Rng::new(self.conditions.seed, BARRIERS);
        let unit = self.conditions.unit;
        let ends = self.conditions.storm_ends;
        let mut at = rng.within(unit / 2..4 * unit);
        let mut all = Vec::new();
        while rng.once_in(3) && at < ends {
            let partition = rng.next() as u32 % self.own.terms.partitions;
            all.push((at, Fault::Barrier(partition)));
            at += rng.within(unit / 4..8 * unit);
        }
        all
    }

    /// Faults by the broker's clock.
    #[must_use]
    pub fn broker_faults(&self, node: usize) -> Vec<(Time, Fault)> {
        let clock = &self.conditions.sites[node].clock;
        self.own.faults.iter().map(|(at, fault)| (clock.shows(*at), *fault)).collect()
    }

    #[must_use]
    pub fn process(&self, node: usize) -> Option<&Process> {
        match &self.nodes[node] {
            NodePlan::Client(process) => Some(process),
            NodePlan::Broker => None,
        }
    }

    /// Whether the processes belong to more than one group.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        let clients = 0..self.nodes.len();
        clients.filter_map(|node| self.process(node)).any(|one| one.manner.group > 0)
    }
}
