//! Most directories are lost, and an operator recovers them: rightly, or wrong in one of the two
//! ways that nothing can check.

use tenure_core::Fence;
use tenure_core::nerio::{Instance, MemberSet};

use super::disk::{Disk, instance};
use super::focus::Focus;
use super::node::NodePlan;
use super::plan::{self, Climate, Plan};
use super::quorum_leases::QuorumLeases;
use crate::rng::{Rng, mix};
use crate::scenario::Run;
use crate::sweep::Source;
use crate::world::conditions::{DiskFate, Incident};
use crate::world::nodes::bits;

/// Mistake of an operator who recovers a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Old processes of the lost members are only cut off, and candidates reach them.
    LeavesLeaders,
    /// The floor is below what the lost members handed out.
    SetsLowFloor,
}

/// Salt of the draw of worlds with a recovery.
const RECOVERY: u64 = 0x7265_636f;
/// Salt of the draws of such a world.
const DRAWS: u64 = 9;

/// Above what is handed out in any world, and as near as one proposal may be.
const FLOOR: u64 = 1 << 40;

/// Worlds in which an operator recovers directories, and is wrong.
impl Source for Mistake {
    type Scenario = QuorumLeases;

    const NAME: &'static str = "nerio";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = plan::draw(seed, Climate::Any);
        match self {
            _ if !fits(&plan) => {}
            Self::SetsLowFloor => all_stopped(&mut plan, 0, true),
            Self::LeavesLeaders => leaders_live(&mut plan),
        }
        plan
    }
}

/// Some worlds of a sweep have a recovery as it should be.
pub(super) fn happens(seed: u64, plan: &mut Plan) {
    if mix(seed ^ RECOVERY).is_multiple_of(16) && fits(plan) {
        all_stopped(plan, FLOOR, false);
    }
}

/// Others are about what becomes of directories already, or nothing goes wrong in them.
fn fits(plan: &Plan) -> bool {
    let bents = [Focus::Broad, Focus::Crowd, Focus::Grid, Focus::Strangers];
    bents.contains(&plan.own.focus) && !plan.calm
}

/// Members that are a quorum among themselves.
fn lost(rng: &mut Rng, plan: &Plan, all: bool) -> MemberSet {
    let quorums = &plan.config().quorums;
    let mut lost = MemberSet::EMPTY;
    while !quorums.is_quorum(lost) || (all && lost != quorums.everyone()) {
        lost = lost.with(rng.below(plan.members()));
    }
    lost
}

/// All processes end at one instant, and directories are lost. Then all that are there are
/// recovered, and start; one of the lost ones may start later, with an empty directory.
fn all_stopped(plan: &mut Plan, floor: u64, all: bool) {
    let mut rng = Rng::new(plan.conditions.seed, DRAWS);
    let unit = plan.conditions.unit;
    let storm_ends = plan.conditions.storm_ends;
    let at = rng.within(2 * unit..storm_ends);
    let all = all || rng.once_in(4);
    let lost = lost(&mut rng, plan, all);
    let quorums = &plan.config().quorums;
    let late = lost.iter().find(|late| {
        let others = quorums.everyone().minus(MemberSet::EMPTY.with(*late));
        quorums.is_quorum(others) && !quorums.is_possible(others)
    });
    let late = late.filter(|_| rng.once_in(3));
    // Whoever is down then is stopped already, and would miss what is done to it.
    plan.conditions.rates.crash = 0;
    plan.conditions.incidents.retain(|(then, incident)| match incident {
        Incident::Crash { down, disk, .. } => {
            let is_over = then + down < at && !matches!(disk, DiskFate::Foreign(_));
            is_over || *then > at + 2 * unit
        }
        Incident::Gone { .. } => false,
        _ => true,
    });
    let mut ends = |node: usize| {
        let down = rng.within(1..unit);
        let disk = if Some(node) == late {
            DiskFate::Lost
        } else if plan.nodes[node].member {
            DiskFate::Recovered { lost: lost.contains(node), floor }
        } else {
            DiskFate::Kept
        };
        Incident::crash(node, down, disk)
    };
    let early = (0..plan.nodes.len()).filter(|node| Some(*node) != late);
    let all = early.chain(late).map(&mut ends).collect();
    plan.conditions.incidents.push((at, Incident::Together(all)));
    for node in &mut plan.nodes {
        node.directory = true;
    }
}

/// Processes of the lost members live on, cut off from all others but candidates that reach now
/// them and then the new ones.
fn leaders_live(plan: &mut Plan) {
    let mut rng = Rng::new(plan.conditions.seed, DRAWS);
    let unit = plan.conditions.unit;
    let storm_ends = plan.conditions.storm_ends;
    let lost = lost(&mut rng, plan, false);
    plan.own.focus = Focus::Copies;
    plan.conditions.rates.crash = 0;
    let cut = rng.within(2 * unit..3 * unit);
    let begins = cut + unit;
    let olds: Vec<usize> = lost.iter().collect();
    let mut incidents = Vec::new();
    for node in &mut plan.nodes {
        node.directory = true;
    }
    for old in olds.iter().copied() {
        plan.nodes[old].campaigns = false;
        plan.nodes[old].observes = false;
        let copy = NodePlan { copy_of: Some(old), ..plan.nodes[old].clone() };
        let node = plan.nodes.len();
        let mut site = plan.conditions.sites[old].clone();
        site.starts = begins;
        plan.nodes.push(copy);
        plan.conditions.sites.push(site);
        let disk = DiskFate::Recovered { lost: true, floor: FLOOR };
        incidents.push((begins + 1, Incident::crash(node, 1, disk)));
    }
    let all = 0..plan.nodes.len();
    let is_new = |node: &usize| plan.nodes[*node].member && !olds.contains(node);
    let old = bits(olds.iter().copied());
    let new = bits(all.filter(is_new));
    for node in olds.iter().copied() {
        incidents.push((cut, Incident::Apart { node, from: new, until: storm_ends }));
        incidents.push((storm_ends - unit / 2, Incident::Gone { node }));
    }
    for node in (0..plan.nodes.len()).filter(|node| plan.nodes[*node].campaigns) {
        let from = if rng.once_in(2) { old } else { new };
        incidents.push((cut, Incident::Apart { node, from, until: storm_ends }));
    }
    plan.conditions.incidents = incidents;
}

/// The directory of a member is recovered, or one that is lost all the same, whatever was said.
pub(super) fn recover(
    run: &mut Run<QuorumLeases>,
    disks: &mut [&mut Disk],
    node: usize,
    lost: bool,
    floor: u64,
) -> bool {
    let plan = &run.plan;
    let disk = &mut disks[node];
    disk.put_back();
    let number = run.counts.own.lost_disks + 1;
    let begun = instance(plan.conditions.seed, node, number, false);
    let ever = disk.delta_max().max(plan.nodes[node].config.delta_max);
    if lost || !disk.knows_fences() {
        run.counts.own.lost_disks = number;
        run.own.lost_disk = true;
        **disk = Disk::new(node, begun, false);
    }
    disk.kept.recover(Instance(begun), ever, Fence::new(floor));
    run.counts.own.recovered_disks += 1;
    true
}
