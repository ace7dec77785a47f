//! The plan of a seed: etcd, processes with settings, applications, faults.

use std::time::Duration;

use tenure_core::Drift;
use tenure_core::Value;
use tenure_core::etcd::{Checked, Config, LeaseId, Revision};

use super::focus::Focus;
use super::store::{MEMBERS, Setting};
use crate::rng::{Rng, mix};
use crate::scenario::plan::{
    ELECTIONS, LEFTOVER, MS, elections, known, rates_of_connections, repeatedly,
};
use crate::world::clock::{Clock, TRUE_RATE};
use crate::world::conditions::{Conditions, Delay, DiskFate, Incident, Site};
use crate::world::fault::Rates;

/// Values of ρ in parts per billion. A value that is listed more often is drawn more often.
const DRIFTS: [u32; 6] = [100_000_000, 100_000_000, 100_000_000, 20_000_000, 1_000_000, 0];
/// Salt of the draw that sets the largest number of operations in a transaction.
const OPERATIONS: u64 = 0x6f70_6572;
/// Salt of the draw of snapshots for lagging members.
const SNAPSHOTS: u64 = 0x736e_6170;
/// Salt of the draw that decides whether rights and room are often missing when etcd's leader
/// changes.
const REFUSES: u64 = 0x7265_6675;
/// Salt of the draw of exhausted revisions.
const EXHAUSTS: u64 = 0x656e_6473;
/// Salt of the draw that decides on a stranger that writes values.
const ARGUES: u64 = 0x6172_6775;
/// The first revision without room in a fence.
pub(super) const FENCE_END: Revision = 1 << 48;

/// The plan of a world of elections on etcd. The last node is etcd; the unit of its conditions is
/// the granted length of a lease, in true time.
pub type Plan = crate::scenario::Plan<NodePlan, Settings>;

/// Settings of these worlds alone.
#[derive(Clone, Debug)]
pub struct Settings {
    pub store: Setting,
    /// True time from which the store must be empty.
    pub empty: u64,
    pub bounds: Bounds,
    /// The number of commands for each fault of etcd; zero means no faults.
    pub troubles: u64,
    /// Whether backups are restored: the promise then does not hold.
    pub restores: bool,
    /// Whether operators delete keys and revoke leases in use.
    pub meddling: bool,
    /// Whether rights and room are often missing.
    pub refuses: bool,
    /// Whether revisions become too high for fences, after which no candidate leads.
    pub exhausts: bool,
    /// Whether a stranger writes values into the leaders' keys.
    pub argues: bool,
}

/// A node of a world of etcd.
#[derive(Clone, Debug)]
pub enum NodePlan {
    Ours(OurProcess),
    /// A foreign candidate, with the seconds of its leases.
    Foreign(u32),
    Store,
}

/// The plan of one of our processes.
#[derive(Clone, Debug)]
pub struct OurProcess {
    pub config: Checked,
    pub campaigns: bool,
    /// Elections in which the process does not campaign after the storm.
    pub abstains: u64,
    pub observes: bool,
    /// The lease that an outside program hands in to each life of the process.
    pub lease: Option<LeaseId>,
}

#[must_use]
pub fn draw(seed: u64) -> Plan {
    let mut rng = Rng::new(seed, 0);
    let calm = rng.once_in(10);
    let lease = rng.choose(&[1, 2, 2, 3, 5, 10]);
    let unit = u64::from(lease.max(2)) * 1_000 * MS;
    let drift = Drift::from_parts_per_billion(rng.choose(&DRIFTS)).unwrap_or_default();
    let storm_ends = unit * rng.within(8..32);
    let (names, nodes): (Vec<String>, Vec<NodePlan>) =
        node_plans(&mut rng, lease, drift).into_iter().unzip();
    let count = 1 + rng.below(ELECTIONS.len());
    // Keep round trips short: a renewal takes two, one after the other.
    let longest = rng.choose(&[MS, 10 * MS, 50 * MS, 200 * MS]).min(unit / 40);
    let trip = Delay::Between(longest / 8, longest);
    let (sites, members) = sites(&mut rng, names, drift, storm_ends);
    let store = setting(&mut rng, seed, calm, &nodes, lease, storm_ends, members);
    let (rates, incidents) = if calm {
        (Rates::default(), Vec::new())
    } else {
        let rates = rates_of_connections(&mut rng);
        (rates, incidents(&mut rng, nodes.len() - 1, unit, storm_ends))
    };
    let bounds = Bounds { unit, drift, late: store.late, trip: longest };
    let settled = storm_ends + bounds.settle();
    let retired = settled + 4 * unit;
    let empty = retired + bounds.empty();
    let end = empty + 3_000 * MS;
    let conditions = Conditions::new(seed, sites, trip, unit, storm_ends, end);
    let conditions = Conditions { rates, incidents, ..conditions };
    let reluctance = rng.choose(&[1, 1, 1, 4, 20]);
    let own = settings(&mut rng, seed, calm, store, empty, bounds);
    let mut plan = Plan {
        conditions,
        nodes,
        elections: elections(count),
        settled,
        retired,
        reluctance,
        calm,
        bounded: true,
        own,
    };
    if plan.own.exhausts {
        plan.own.store.revision = FENCE_END - 5 - mix(seed) % 60;
    }
    plan.bend();
    // With two operations in a transaction the core reads its keys in turn. After restores and
    // meddling the checks expect it to read all of them, so these worlds keep the larger limit.
    let foul = plan.own.restores || plan.own.meddling;
    if !foul && mix(seed ^ OPERATIONS).is_multiple_of(4) {
        plan.own.store.operations = 2;
    }
    plan
}

/// Draws the faults of etcd.
fn settings(
    rng: &mut Rng,
    seed: u64,
    calm: bool,
    store: Setting,
    empty: u64,
    bounds: Bounds,
) -> Settings {
    Settings {
        store,
        empty,
        bounds,
        troubles: if calm { 0 } else { rng.choose(&[0, 3, 6, 20, 60]) },
        restores: !calm && rng.once_in(8),
        meddling: !calm && rng.once_in(6),
        refuses: !calm && mix(seed ^ REFUSES).is_multiple_of(6),
        exhausts: !calm && mix(seed ^ EXHAUSTS).is_multiple_of(64),
        argues: !calm && mix(seed ^ ARGUES).is_multiple_of(6),
    }
}

impl Plan {
    /// Makes the faults of the focus frequent.
    fn bend(&mut self) {
        match self.own.store.focus {
            Focus::Broad | Focus::Grants => {}
            Focus::Terms => self.own.troubles = 3,
            Focus::Bumped => {
                self.own.restores = true;
                self.everybody_campaigns();
            }
            Focus::Twins => {
                self.own.meddling = true;
                self.everybody_campaigns();
            }
            Focus::Compacted => self.reluctance = 1,
        }
    }

    /// Makes every process campaign. A process finds a key of its own that came back only if it
    /// campaigns in the key's election.
    fn everybody_campaigns(&mut self) {
        for node in &mut self.nodes {
            if let NodePlan::Ours(ours) = node {
                ours.campaigns = true;
                ours.abstains = 0;
            }
        }
    }

    #[must_use]
    pub fn ours(&self, node: usize) -> Option<&OurProcess> {
        match &self.nodes[node] {
            NodePlan::Ours(ours) => Some(ours),
            NodePlan::Foreign(_) | NodePlan::Store => None,
        }
    }

    #[must_use]
    pub fn store_node(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Twice the longest time, in true time and without faults, until a process hears of a change
    /// of the store. The news comes by a member and a watch. A first request may come too early,
    /// and a second request follows.
    #[must_use]
    pub fn news(&self) -> u64 {
        10 * (self.conditions.trip.longest() + self.own.store.latency)
    }
}

/// Upper bounds on spans without faults, in true time.
#[derive(Clone, Debug)]
pub struct Bounds {
    unit: u64,
    /// ρ, the bound on the drift of clocks.
    pub drift: Drift,
    late: u64,
    trip: u64,
}

impl Bounds {
    /// `x / (1 − ρ)`: a span by a slow clock.
    fn slow(&self, span: u64) -> u64 {
        let parts = self.drift.parts_per_billion();
        (u128::from(span) * 1_000_000_000 / u128::from(1_000_000_000 - parts)) as u64
    }

    /// The longest life of an unrenewed lease: etcd's new leader extends the lease by a slow clock,
    /// and revokes it late.
    #[must_use]
    pub fn lease(&self) -> u64 {
        self.slow(self.unit) + 1_000 * MS + self.late
    }

    /// The timer of a waiting candidate without news.
    fn timer(&self) -> u64 {
        self.slow(self.unit.max(10_000 * MS) * 9 / 8)
    }

    /// Time in which a candidate without news reads again: its timer, and an answer.
    #[must_use]
    pub fn look_again(&self) -> u64 {
        self.timer() + self.unit + 8_000 * MS
    }

    /// The longest time after the storm until every wanted election has a leader.
    ///
    /// ```text
    /// 3u + 2 s              the rest of the storm: late messages, pauses, restarts
    /// + 3·(u/(1−ρ) + 1 s + late)   unrenewed leases, of processes that died in turn
    /// + 3u                  a foreign candidate that stays
    /// + 9/8·max(u, 10 s)/(1−ρ)     a silent watch: its candidate reads again
    /// + u + 12 s + 40·trip  pauses after failures, requests that hang, applications
    /// ```
    ///
    /// with `u` the granted lease.
    fn settle(&self) -> u64 {
        LEFTOVER * self.unit
            + 2_000 * MS
            + 3 * self.lease()
            + 3 * self.unit
            + self.timer()
            + self.unit
            + 12_000 * MS
            + 40 * self.trip
    }

    /// Time from all resignations to an empty store: applications need up to a lease to resign. A
    /// key that cannot be deleted lasts for one lease more.
    fn empty(&self) -> u64 {
        self.unit + 2 * self.lease() + 4_000 * MS + 40 * self.trip
    }
}

fn node_plans(rng: &mut Rng, lease: u32, drift: Drift) -> Vec<(String, NodePlan)> {
    let ours = rng.choose(&[2, 3, 3, 4, 5]);
    let foreign = rng.choose(&[0, 0, 1, 2]);
    let all_campaign = rng.once_in(2);
    let one = |n: usize| {
        let mut config = Config::default();
        config.lease = Duration::from_secs(u64::from(lease));
        config.drift = drift;
        config.grace = config.lease / 10;
        config.kill_margin = config.lease / 100;
        config.contend_again = !rng.once_in(4);
        let config = config.check().unwrap_or_else(|wrong| panic!("a plan's settings: {wrong}"));
        let mut ours = OurProcess {
            config,
            campaigns: n < 2 || all_campaign || rng.once_in(2),
            abstains: if rng.once_in(3) { rng.within(0..8) } else { 0 },
            observes: rng.once_in(3),
            lease: rng.once_in(6).then_some(LeaseId(0x1000 + n as i64)),
        };
        if ours.lease.is_some() {
            // A lease keeps all its keys alive, also the keys of an earlier life. The process finds
            // such a key only by a campaign in the key's election.
            ours.campaigns = true;
            ours.abstains = 0;
        }
        (char::from(b'a' + n as u8).to_string(), NodePlan::Ours(ours))
    };
    let mut nodes: Vec<(String, NodePlan)> = (0..ours).map(one).collect();
    for n in 0..foreign {
        let name = char::from(b'x' + n as u8).to_string();
        nodes.push((name, NodePlan::Foreign(lease.max(2))));
    }
    nodes.push(("etcd".to_owned(), NodePlan::Store));
    nodes
}

/// The places of the nodes, and the clock rates of etcd's members.
fn sites(
    rng: &mut Rng,
    names: Vec<String>,
    drift: Drift,
    storm_ends: u64,
) -> (Vec<Site>, [u64; MEMBERS]) {
    let (slow, fast) = Clock::rates(drift);
    let store = names.len() - 1;
    let adversary = rng.once_in(2);
    let rate =
        |rng: &mut Rng, worst: u64| if adversary { worst } else { rng.within(slow..fast + 1) };
    let site = |(node, name): (usize, String)| {
        if node == store {
            return Site { name, clock: Clock::new(0, 0, TRUE_RATE), wall: 0, starts: 0 };
        }
        let origin = rng.within(0..1 << 40);
        let mut clock = Clock::new(0, origin, rate(rng, slow));
        let mut at = 0;
        for _ in 0..rng.within(0..3) {
            at += rng.within(1..storm_ends / 2);
            clock.change(at, rate(rng, slow));
        }
        let starts = rng.within(MS..storm_ends / 100);
        Site { name, clock, wall: 0, starts }
    };
    let sites = names.into_iter().enumerate().map(site).collect();
    (sites, [(); MEMBERS].map(|()| rate(rng, fast)))
}

fn setting(
    rng: &mut Rng,
    seed: u64,
    calm: bool,
    nodes: &[NodePlan],
    lease: u32,
    mended: u64,
    rates: [u64; MEMBERS],
) -> Setting {
    let given = nodes.iter().filter_map(|node| match node {
        NodePlan::Ours(ours) => Some((ours.lease?, lease.max(2))),
        NodePlan::Foreign(_) | NodePlan::Store => None,
    });
    let given: Vec<_> = given.collect();
    Setting {
        seed,
        rates,
        late: rng.choose(&[0, 0, 500 * MS, 2_000 * MS]),
        crowded: rng.once_in(3),
        // The model cannot race with a lease from outside, whose age is unknown.
        racing: rng.once_in(3) && given.is_empty(),
        fixed: !rng.once_in(6),
        given,
        latency: rng.choose(&[MS, 5 * MS, 50 * MS]),
        operations: 128,
        revision: 1,
        snapshots: mix(seed ^ SNAPSHOTS).is_multiple_of(3),
        focus: Focus::draw(seed, calm),
        mended,
    }
}

/// Incidents of our processes and of foreign processes; the store has its own faults.
fn incidents(rng: &mut Rng, store: usize, unit: u64, storm_ends: u64) -> Vec<(u64, Incident)> {
    let gap = unit * rng.choose(&[1, 2, 6]);
    let crashes = rng.once_in(2);
    let reboots = rng.choose(&[0, 2, 2, 1]);
    repeatedly(rng, unit / 2..storm_ends, gap / 8..gap, |rng, at| {
        let node = rng.below(store);
        let until = at + rng.within(unit / 10..unit * LEFTOVER);
        match rng.within(if crashes { 0 } else { 3 }..8) {
            0..=2 => Incident::Crash {
                node,
                down: rng.within(1..unit * 3 / 2),
                reboot: rng.once_in(reboots).then(|| rng.within(0..1 << 40)),
                disk: DiskFate::Kept,
            },
            3 => Incident::Cut { from: node, to: store, until },
            4 => Incident::Cut { from: store, to: node, until },
            5 => Incident::Split { side: 1 << node, until },
            _ => Incident::Stop { node, until },
        }
    })
}

impl Plan {
    /// Value `number` of a node's application.
    pub(super) fn value(&self, node: usize, number: u64) -> Value {
        known(&format!("{}{number}", self.conditions.sites[node].name))
    }

    /// The value with which an application campaigns.
    pub(super) fn first_value(&self, node: usize, number: u64) -> Value {
        // In worlds with bumped restores, a key that comes back has the value of the present key.
        self.value(node, if self.own.store.focus == Focus::Bumped { 0 } else { number })
    }
}
