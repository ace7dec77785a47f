//! Lists of members that candidates and observers have instead of the members' own list. Such a
//! list is incomplete, has a name that no node has any more, or has a former member that was set up
//! anew under another list.

use tenure_core::nerio::{Checked, Config, Member, Quorums};

use super::focus::Focus;
use super::node::NodePlan;
use super::plan::{address, name};
use crate::rng::{Rng, mix};
use crate::scenario::plan::known;
use crate::world::clock::{Clock, TRUE_RATE};
use crate::world::conditions::{Conditions, Incident, Site};

/// Salt of the draw that makes worlds with other lists.
const LISTS: u64 = 0x6c69_6e65;
/// Stream of draws for the lists.
const DRAWS: u64 = 7;
/// Number of a name without a node, far above the numbers of nodes.
const NOBODY: usize = 25;

/// Gives candidates and observers other lists, in half of the broad worlds and in half of the
/// worlds with strangers. All draws are separate, so that nothing else in the world changes.
/// Returns whether lists differ.
pub(super) fn differ(focus: Focus, nodes: &mut Vec<NodePlan>, conditions: &mut Conditions) -> bool {
    let seed = conditions.seed;
    let drawn = matches!(focus, Focus::Broad | Focus::Strangers);
    // If all members on a node's list were gone, the node could not learn the epoch.
    let is_gone = |(_, incident): &(u64, Incident)| matches!(incident, Incident::Gone { .. });
    if !drawn || !mix(seed ^ LISTS).is_multiple_of(2) || conditions.incidents.iter().any(is_gone) {
        return false;
    }
    let mut rng = Rng::new(seed, DRAWS);
    let members: Vec<Member> = nodes[0].config.members.clone();
    let strays = members.len() > 1 && rng.once_in(2);
    let stray = strays.then(|| stray(&mut rng, nodes, conditions));
    for node in nodes.iter_mut().filter(|node| !node.member) {
        let list = list(&mut rng, &members, stray.as_ref());
        node.config = with_list(&node.config, list);
    }
    true
}

/// Some of the members, sometimes with a name that no node has, sometimes with the stray member.
/// The members of the cluster are a quorum of the list, because fewer members could not move the
/// node to their epoch.
fn list(rng: &mut Rng, members: &[Member], stray: Option<&Member>) -> Vec<Member> {
    let kept = rng.choose(members);
    let mut list = members.to_vec();
    list.retain(|member| member.name == kept.name || !rng.once_in(3));
    let nobody = rng.once_in(3).then(|| Member::at(known(&name(NOBODY, true)), address(NOBODY)));
    let stray = stray.filter(|_| !rng.once_in(4)).cloned();
    let others_max = list.len() - 1;
    list.extend(nobody.into_iter().chain(stray).take(others_max));
    list
}

/// The settings with another list, and a majority of it.
pub(super) fn with_list(config: &Config, list: Vec<Member>) -> Checked {
    let majority = Quorums::majority(list.len());
    let quorums = majority.unwrap_or_else(|wrong| panic!("a majority of a list: {wrong}"));
    let config = Config { members: list, quorums, ..config.clone() };
    config.check().unwrap_or_else(|wrong| panic!("settings with another list: {wrong}"))
}

/// Adds a former member, which grants in another cluster with the same name.
fn stray(rng: &mut Rng, nodes: &mut Vec<NodePlan>, conditions: &mut Conditions) -> Member {
    let number = nodes.len();
    let stray = Member::at(known(&name(number, true)), address(number));
    let config = with_list(&nodes[0].config, vec![stray.clone()]);
    let clock = Clock::new(0, rng.within(0..1 << 40), TRUE_RATE);
    let site = Site { name: stray.name.to_string(), clock, wall: 0, starts: 0 };
    conditions.sites.push(site);
    nodes.push(NodePlan {
        name: stray.name.clone(),
        address: address(number),
        config,
        later: None,
        member: true,
        stray: true,
        blank: false,
        operator: false,
        copy_of: None,
        directory: true,
        campaigns: false,
        observes: false,
    });
    stray
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::MemberSet;

    use super::super::plan::{Climate, draw};

    /// The members of the cluster are a quorum of each list, so no other cluster can move the node.
    #[test]
    fn lists_lead_to_the_cluster() {
        let (mut short, mut strays) = (0, 0);
        for plan in (1..2_000).map(|seed| draw(seed, Climate::Any)) {
            let names = plan.membership().names();
            for node in plan.nodes.iter().filter(|node| !node.member) {
                let list = node.config.membership();
                let is_of_cluster = |position: &usize| names.contains(list.name(*position));
                let own: MemberSet = (0..list.names().len()).filter(is_of_cluster).collect();
                assert!(list.quorums().is_quorum(own), "{:?}", list.names());
                short += usize::from(list.id() != plan.membership().id());
            }
            strays += plan.nodes.iter().filter(|node| node.stray).count();
        }
        assert!(short > 100 && strays > 20, "{short} lists, {strays} strays");
    }
}
