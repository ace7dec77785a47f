use std::collections::BTreeSet;

use tenure_core::Fence;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Orders: the leader that gets an order leads with the fence in that order, and gets each order
/// once.
#[derive(Debug, Default)]
pub(super) struct OrdersEndWhatTheyName {
    /// Present order of each node.
    handed: Vec<Option<u64>>,
    /// Orders that each life reported, with their election and fence.
    told: Vec<BTreeSet<(usize, Fence, u64)>>,
}

impl Property<QuorumLeases> for OrdersEndWhatTheyName {
    const NAME: &'static str = "An order is told once, to the leadership that it names";
    const SOURCE: &'static str = "orders";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.handed = vec![None; plan.nodes.len()];
        self.told = vec![BTreeSet::new(); plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.told[node].clear(),
            Fact::Own(Own::Handed { node, number }) => self.handed[node] = Some(number),
            Fact::Own(Own::Ordered { node, election, fence }) => {
                let Some(number) = self.handed[node].take() else {
                    return Err(format!("{} is ordered by nobody", check.name(node)));
                };
                // The claim may have lapsed while the process slept with the order.
                let last = check.past(election).leaderships.iter().rev().find(|l| l.node == node);
                let own = last.and_then(|led| led.fence);
                if own != Some(fence) {
                    let name = check.name(node);
                    return Err(format!(
                        "{name} is ordered to end fence {fence}, and leads with {own:?}"
                    ));
                }
                if !self.told[node].insert((election, fence, number)) {
                    let name = check.name(node);
                    return Err(format!("{name} is told of order {number} again"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
