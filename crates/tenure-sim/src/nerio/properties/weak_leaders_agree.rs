use tenure_core::nerio::Service;
use tenure_core::{NodeName, Time};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases, seconds};

/// Section 9: after the last fault, every running node with a ring names one weak leader, the
/// smallest member that runs.
#[derive(Debug, Default)]
pub(super) struct WeakLeadersAgree {
    seen: Vec<Option<NodeName>>,
    /// Whether the node has lost its seat to a later memory of its member. Such a node answers no
    /// ping.
    replaced: Vec<bool>,
    judged: bool,
}

impl Property<QuorumLeases> for WeakLeadersAgree {
    const NAME: &'static str = "One weak leader in the end";
    const SOURCE: &'static str = "section 9";

    fn begin(&mut self, plan: &Plan) {
        // Members that change stand on several rings for a while.
        let is_judged = plan.config().ring.is_some() && !plan.own.focus.changes();
        let nodes = plan.nodes.len();
        *self = Self { seen: vec![None; nodes], replaced: vec![false; nodes], judged: !is_judged };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Weak { node, leader }) => {
                self.seen[node] = leader.cloned();
                Ok(())
            }
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                if let Some(seen) = self.seen.get_mut(node) {
                    *seen = None;
                }
                Ok(())
            }
            Fact::Handled { node, core, .. }
                if !self.judged && check.now >= check.plan.conditions.storm_ends =>
            {
                if let Some(replaced) = self.replaced.get_mut(node) {
                    *replaced = core.service(Time::ZERO) == Some(Service::Replaced);
                }
                Ok(())
            }
            Fact::Moment if !self.judged && check.now >= check.plan.settled => {
                self.judged = true;
                self.judge(check)
            }
            _ => Ok(()),
        }
    }
}

impl WeakLeadersAgree {
    fn judge(&self, check: &Check<'_>) -> Result<(), String> {
        let nodes = &check.plan.nodes;
        let runs = |node: &usize| {
            let takes_part = !nodes[*node].stray && !self.replaced[*node];
            takes_part && check.history.lives[*node].is_some()
        };
        let members = (0..nodes.len()).filter(runs).filter(|node| nodes[*node].member);
        let smallest = members.map(|node| &nodes[node].name).min();
        let is_wrong = |node: &usize| self.seen[*node].as_ref() != smallest;
        let Some(wrong) = (0..nodes.len()).filter(runs).find(is_wrong) else { return Ok(()) };
        let name = |name: Option<&NodeName>| name.map_or("none".to_owned(), ToString::to_string);
        Err(format!(
            "{} names {} as the weak leader, and the smallest member that runs is {}; nothing has \
             gone wrong since {}",
            nodes[wrong].name,
            name(self.seen[wrong].as_ref()),
            name(smallest),
            seconds(check.plan.conditions.storm_ends),
        ))
    }
}
