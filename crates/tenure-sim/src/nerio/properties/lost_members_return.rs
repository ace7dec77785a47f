use std::sync::Arc;

use tenure_core::nerio::{Membership, Origin};

use super::{Check, Fact, Property, QuorumLeases, seconds};

/// Where members replace lost memories by themselves, no running node with an empty directory and
/// the name of a member waits for an operator in the end.
#[derive(Debug, Default)]
pub(super) struct LostMembersReturn {
    judged: bool,
}

impl Property<QuorumLeases> for LostMembersReturn {
    const NAME: &'static str = "Lost members are replaced without an operator";
    const SOURCE: &'static str = "section 10.6; lost directories 4.7";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let Some(epochs) = &check.own.epochs else { return Ok(()) };
        let is_automatic = check.plan.config().replace.is_some();
        if self.judged || check.now < check.plan.settled || !is_automatic {
            return Ok(());
        }
        self.judged = true;
        let latest = epochs.latest();
        let names_memories =
            |members: &&Arc<Membership>| members.document().origin != Origin::Upgraded;
        let Some(members) = epochs.memberships.get(&latest).filter(names_memories) else {
            return Ok(());
        };
        // A node with a second node of its name may have lost the seat to that node, or both nodes
        // wait.
        let is_doubled = |node: &usize| {
            let name = &check.plan.nodes[*node].name;
            let runs = |other: &usize| check.history.lives[*other].is_some();
            let same = |other: &usize| check.plan.nodes[*other].name == *name && runs(other);
            let is_other = |other: &usize| other != node && same(other);
            (0..check.plan.nodes.len()).filter(is_other).any(|other| {
                epochs.present[other].is_none() || epochs.seat(latest, other).is_some()
            })
        };
        let waits = |node: &usize| {
            let this = &check.plan.nodes[*node];
            let runs = this.member && check.history.lives[*node].is_some();
            let is_blank = runs && epochs.present[*node].is_none();
            is_blank && !is_doubled(node) && members.position(&this.name).is_some()
        };
        match (0..check.plan.nodes.len()).find(waits) {
            Some(node) => Err(format!(
                "{} has an empty directory, and the members of epoch {} have not let it in, \
                 though nothing has gone wrong since {}",
                check.name(node),
                latest.number,
                seconds(check.plan.conditions.storm_ends)
            )),
            None => Ok(()),
        }
    }
}
