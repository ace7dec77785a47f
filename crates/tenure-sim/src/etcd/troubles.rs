//! Commands of applications in etcd's worlds alone, and the faults of etcd.

use tenure_core::ElectionName;
use tenure_core::etcd::Command;

use super::focus::Focus;
use super::packet::Order;
use super::plan::{NodePlan, Plan};
use super::store::MEMBERS;
use super::store::note::Trouble;
use crate::rng::{Rng, mix};

/// Salt of the draw that decides on an election below another election.
const NESTS: u64 = 0x6e65_7374;

/// Makes a leading application campaign in an election whose keys would also be keys of its present
/// election.
pub(super) fn nested(
    plan: &Plan,
    now: u64,
    leads: impl Fn(&ElectionName) -> bool,
) -> Option<(ElectionName, Order)> {
    let seed = plan.conditions.seed ^ NESTS;
    let draws = [mix(seed), mix(seed ^ mix(now))];
    let storm = now < plan.conditions.storm_ends;
    if !storm || draws.iter().any(|draw| !draw.is_multiple_of(8)) {
        return None;
    }
    let above = plan.elections.iter().find(|name| leads(name))?;
    let name = format!("{above}/part").parse().ok()?;
    let value = above.as_str().parse().ok()?;
    Some((name, Order::Ours(Command::Campaign { value, priority: 0 })))
}

/// Draws a fault of etcd.
pub(super) fn trouble(plan: &Plan, now: u64, rng: &mut Rng) -> Option<Trouble> {
    if now >= plan.conditions.storm_ends
        || plan.own.troubles == 0
        || !rng.once_in(plan.own.troubles)
    {
        return None;
    }
    let member = rng.below(MEMBERS);
    let most = if rng.once_in(4) { plan.conditions.unit * 3 } else { plan.conditions.unit };
    let span = rng.within(plan.conditions.unit / 20..most);
    let nth = rng.next() as usize;
    let ours = (0..plan.nodes.len()).filter(|node| plan.ours(*node).is_some()).count();
    if plan.own.store.focus == Focus::Terms && rng.once_in(2) {
        return Some(Trouble::MoveLeader);
    }
    if plan.own.restores && rng.once_in(4) {
        let back = rng.once_in(2);
        return Some(if back { Trouble::Restore { span } } else { Trouble::Backup });
    }
    if plan.own.refuses && rng.once_in(2) {
        let short = span / 4;
        return Some(if rng.once_in(2) {
            Trouble::Full { span: short }
        } else {
            Trouble::Deny { node: rng.below(ours), span: short }
        });
    }
    if plan.own.argues && rng.once_in(6) {
        return Some(Trouble::Argue { span });
    }
    if plan.own.meddling && rng.once_in(4) {
        return Some(match rng.within(0..5) {
            0 | 1 => Trouble::DeleteKey { nth },
            2 | 3 => Trouble::RevokeLease { nth },
            _ => Trouble::Overwrite { nth },
        });
    }
    Some(match rng.within(0..22) {
        0..=4 => Trouble::Cut { member, span },
        5 | 6 => Trouble::Split { span },
        7..=9 => Trouble::Kill { member, span },
        10..=12 => Trouble::Stick { span },
        13 | 14 => Trouble::Slow { member, span },
        15 => Trouble::Break { member },
        16 | 17 => Trouble::Compact { keep: rng.choose(&[0, 1, 5]) },
        18 => Trouble::Full { span },
        19 | 20 => Trouble::Stop { span },
        _ => Trouble::Deny { node: rng.below(ours), span },
    })
}

/// Whether a foreign candidate begins to contend now.
pub(super) fn contends(plan: &Plan, node: usize, now: u64, rng: &mut Rng) -> Option<usize> {
    let foreign = matches!(plan.nodes[node], NodePlan::Foreign(_));
    let in_storm = now < plan.conditions.storm_ends;
    (foreign && in_storm && rng.once_in(3)).then(|| rng.below(plan.elections.len()))
}
