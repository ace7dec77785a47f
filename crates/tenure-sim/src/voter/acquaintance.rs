//! Who knows whom. Two that have forgotten each other, and know nobody who knows both, cannot find
//! each other, however well they reach each other.

use tenure_core::NodeName;
use tenure_core::voter::OwnEvent;

use super::plan::Plan;

/// What each node knows of each other one.
#[derive(Debug)]
pub(super) struct Acquaintances(Vec<Vec<Option<Known>>>);

#[derive(Clone, Copy, Debug)]
struct Known {
    since: u64,
    dropped: Option<u64>,
}

impl Acquaintances {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![vec![None; count]; count])
    }

    /// A run begins, and knows nobody.
    pub(super) fn start(&mut self, node: usize) {
        self.0[node].fill(None);
    }

    /// `node` says that it knows another one, or has dropped it.
    pub(super) fn hear(&mut self, plan: &Plan, node: usize, event: &OwnEvent, now: u64) {
        let named = |id: &NodeName| plan.nodes.iter().position(|node| node.config.id == *id);
        match event {
            OwnEvent::Known { who } => {
                let Some(other) = named(&who.id) else { return };
                let since = self.known_since(plan, (node, other), now).unwrap_or(now);
                self.0[node][other] = Some(Known { since, dropped: None });
            }
            OwnEvent::Dropped { id } => {
                let known = named(id).and_then(|other| self.0[node][other].as_mut());
                if let Some(known) = known {
                    known.dropped = Some(now);
                }
            }
            _ => {}
        }
    }

    /// Since when one of two knows the other without a break, if one does.
    pub(super) fn since(&self, plan: &Plan, one: usize, other: usize, now: u64) -> Option<u64> {
        let by = |pair| self.known_since(plan, pair, now);
        [by((one, other)), by((other, one))].into_iter().flatten().min()
    }

    fn known_since(&self, plan: &Plan, (node, other): (usize, usize), now: u64) -> Option<u64> {
        let known = self.0[node][other]?;
        let looks = known.dropped.is_none_or(|at| now - at < plan.own.forgets_after());
        looks.then_some(known.since)
    }
}
