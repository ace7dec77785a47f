//! Worlds in which several operators change the members while members crash and lose their
//! directories.

use std::time::Duration;

use tenure_core::nerio::{Checked, Document, EpochId, Member};

use super::disk::{Disk, instance};
use super::focus::Focus;
use super::lists::with_list;
use super::node::NodePlan;
use super::operator::Operator;
use super::plan::{Plan, address, name, twice};
use crate::rng::{Rng, mix};
use crate::scenario::plan::{known, repeatedly};
use crate::world::clock::{Clock, TRUE_RATE};
use crate::world::conditions::{Conditions, DiskFate, Incident, Site};
use crate::world::nodes::bits;

/// Stream of draws for the changes.
const DRAWS: u64 = 8;
/// Stream of draws for the second node with a member's name.
const DOUBLES: u64 = 9;
/// The longest pause of a member before it proposes, or asks again.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// The longest pause before a proposal, in refresh intervals: the member at the last position
/// pauses for so long after many refused ballots.
const PAUSE: u32 = 12 << 7;
/// Number of refresh intervals for all questions and answers between two pauses.
const QUESTIONS: u32 = 64;
const OPERATORS: usize = 2;

/// Adds nodes that may become members, and operators. Returns the time after the storm until the
/// last change has ended.
pub(super) fn prepare(focus: Focus, nodes: &mut Vec<NodePlan>, conditions: &mut Conditions) -> u64 {
    if !focus.changes() {
        return 0;
    }
    let mut rng = Rng::new(conditions.seed, DRAWS);
    let config = nodes[0].config.clone();
    for node in nodes.iter_mut().filter(|node| node.member) {
        // Members run no applications, because members may be removed.
        (node.directory, node.campaigns, node.observes) = (true, false, false);
    }
    for _ in 0..rng.within(1..4) {
        let mut list = config.members.clone();
        list.push(Member::at(known(&name(nodes.len(), true)), address(nodes.len())));
        let config = with_list(&config, list);
        let blank = NodePlan { config, later: None, blank: true, ..nodes[0].clone() };
        let starts = rng.within(0..conditions.storm_ends / 2);
        add(&mut rng, blank, starts, nodes, conditions);
    }
    if focus.doubles(conditions.seed, &config) {
        double(nodes, conditions);
    }
    let grantors: Vec<usize> = (0..nodes.len()).filter(|node| nodes[*node].member).collect();
    for _ in 0..OPERATORS {
        let operator = NodePlan { member: false, operator: true, ..nodes[0].clone() };
        add(&mut rng, operator, 0, nodes, conditions);
    }
    let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
    incidents.extend(repeatedly(&mut rng, unit..storm_ends, unit / 2..unit * 6, |rng, _| {
        let disk = if rng.once_in(3) { DiskFate::Lost } else { DiskFate::Kept };
        Incident::crash(rng.choose(&grantors), rng.within(1..unit / 2), disk)
    }));
    settles(&config)
}

/// Adds a node with the name of a member, an empty directory, and an address of its own, while that
/// member serves.
fn double(nodes: &mut Vec<NodePlan>, conditions: &mut Conditions) {
    let mut rng = Rng::new(conditions.seed, DOUBLES);
    let Some(blank) = nodes.iter().find(|node| node.blank).cloned() else { return };
    let of = rng.below(nodes[0].config.members.len());
    let name = nodes[of].name.clone();
    let mut list = blank.config.members.clone();
    for member in list.iter_mut().filter(|member| member.name == name) {
        *member = Member::at(name.clone(), address(nodes.len()));
    }
    let config = with_list(&blank.config, list);
    let starts = rng.within(conditions.storm_ends / 8..conditions.storm_ends / 2);
    let (number, copy_of) = (nodes.len(), Some(of));
    add(&mut rng, NodePlan { config, copy_of, ..blank }, starts, nodes, conditions);
    nodes[number].name = name;
    // The member is often cut off from most others, and serves with the rest.
    let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
    let others: Vec<usize> =
        (0..number).filter(|node| nodes[*node].member && *node != of).collect();
    incidents.extend(repeatedly(&mut rng, unit..storm_ends, unit..unit * 6, |rng, at| {
        let near = rng.choose(&others);
        let from = bits(others.iter().copied().filter(|node| *node != near));
        let until = at + rng.within(unit..unit * 4);
        match rng.within(0..3) {
            0 => Incident::Apart { node: of, from, until },
            1 => Incident::Apart { node: number, from: 1 << near, until },
            _ => Incident::Apart { node: of, from: bits(others.iter().copied()), until },
        }
    }));
}

/// Adds a node at the next address.
fn add(
    rng: &mut Rng,
    node: NodePlan,
    starts: u64,
    nodes: &mut Vec<NodePlan>,
    conditions: &mut Conditions,
) {
    let number = nodes.len();
    let name = name(number, true);
    let clock = Clock::new(0, rng.within(0..1 << 40), TRUE_RATE);
    conditions.sites.push(Site { name: name.clone(), clock, wall: 0, starts });
    nodes.push(NodePlan { name: known(&name), address: address(number), ..node });
}

/// Time after the storm until the last change has ended. Two members may have barred each other
/// during the storm, so that both still wait for a long pause. The last lost directory may wait for
/// its replacement after that: a member that answered, and then lost its own directory, must answer
/// again for a while. Members that do not know all leases from before their epoch vote once these
/// leases have ended.
fn settles(config: &Checked) -> u64 {
    let pause = config.refresh.saturating_mul(PAUSE).min(PAUSE_MAX);
    let once = twice(config, pause * 2 + config.refresh * QUESTIONS + config.delta_max * 2);
    let rounds = PAUSE_MAX + pause * 2;
    let waits = config.replace.map(|rule| twice(config, rule.silence * 4 + rule.pause + rounds));
    once + waits.map_or(0, |waits| waits + once)
}

/// The operator of this node, which asks until the storm ends.
pub(super) fn operator(plan: &Plan, node: usize, clock: &Clock) -> Operator {
    let grantors = plan.nodes.iter().filter(|node| node.member);
    let all = grantors.map(|node| Member::at(node.name.clone(), node.address)).collect();
    let config = &plan.nodes[node].config;
    let seed = mix(plan.conditions.seed ^ node as u64);
    let until = clock.shows(plan.conditions.storm_ends);
    Operator::new(seed, all, plan.membership().id(), config.refresh * 2, until)
}

/// Whether the members can found the cluster without the directory of `node`, while no member has
/// entered an epoch. In worlds that found by a document, each document that a member may accept
/// names enough other memories.
fn can_spare_founder(plan: &Plan, disks: &[&mut Disk], node: usize) -> bool {
    let is_first = |other: usize| {
        let seed = plan.conditions.seed;
        disks[other].kept.durable().instance.0 == instance(seed, other, 0, false)
    };
    let members = plan.members();
    let all_first = (0..members).all(is_first);
    plan.own.focus.founds_by_document(plan.conditions.seed)
        && node < members
        && members > 2
        && all_first
}

/// Whether new candidates and observers can follow the members to a founded epoch: on each list, a
/// quorum knows an epoch. Former members count, because they know an epoch as well.
fn can_follow(plan: &Plan, is_known: impl Fn(usize) -> bool) -> bool {
    let can = |asker: &NodePlan| {
        let list = asker.config.membership();
        let is_known = |position: &usize| {
            let name = list.name(*position);
            let of = plan.nodes.iter().position(|node| node.name == *name && !node.stray);
            of.is_some_and(&is_known)
        };
        list.quorums().is_quorum((0..list.names().len()).filter(is_known).collect())
    };
    plan.nodes.iter().filter(|node| !node.member).all(can)
}

/// Whether the members can go on without the directory of `node`. This must hold in the latest
/// epoch, in each epoch that a member has accepted, and in each epoch for which an operator may
/// have asked.
pub(super) fn can_spare(plan: &Plan, disks: &[&mut Disk], node: usize) -> bool {
    let kept = |other: usize| disks[other].own().kept.durable();
    let document = |other: usize| kept(other).standing.document();
    let others: Vec<usize> =
        (0..plan.nodes.len()).filter(|other| *other != node && plan.nodes[*other].member).collect();
    let known = others.iter().chain([&node]).filter_map(|other| document(*other));
    let Some(latest) = known.max_by_key(|document| document.number) else {
        return can_spare_founder(plan, disks, node);
    };
    let latest_id = latest.id();
    let is_there = |epoch: EpochId, other: &usize| {
        document(*other).is_some_and(|document| document.id() == epoch)
    };
    // A single memory that has entered the latest epoch lets the other members enter. The node of
    // this memory must be on the first members' list: new candidates find the latest epoch by this
    // list, and blank nodes then found no new cluster.
    let is_of_list = |other: &usize| *other < plan.members() && is_there(latest_id, other);
    let founds = plan.own.focus.founds_by_document(plan.conditions.seed);
    let is_known = |other: usize| other != node && document(other).is_some();
    if !others.iter().any(is_of_list) || founds && !can_follow(plan, is_known) {
        return false;
    }
    let is_whole = |of: &Document, other: &usize| {
        let seat = of.seats.iter().find(|seat| seat.name == plan.nodes[*other].name);
        seat.is_some_and(|seat| match seat.instance {
            Some(instance) => kept(*other).instance == instance,
            None => is_there(of.id(), other) && !kept(*other).standing.vote().is_barred(),
        })
    };
    let goes_on = |of: &Document| {
        let seats = of.seats.len();
        let whole = others.iter().filter(|other| is_whole(of, other)).count();
        let is_seat = of.seats.iter().any(|seat| seat.name == plan.nodes[node].name);
        // A change may remove one of these members, or add or replace the member of the directory.
        let after = if is_seat { seats - 1 } else { seats };
        let larger = if is_seat { seats } else { seats + 1 };
        whole > after / 2 + 1 && whole > larger / 2
    };
    let there = others.iter().chain([&node]).filter(|other| is_there(latest_id, other));
    let mut next = there.filter_map(|other| kept(*other).standing.vote().accepted.as_ref());
    goes_on(latest) && next.all(|(_, document)| goes_on(document))
}
