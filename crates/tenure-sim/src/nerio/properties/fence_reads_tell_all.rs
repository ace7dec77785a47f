use std::collections::BTreeMap;

use tenure_core::Fence;
use tenure_core::nerio::{Instance, Message};

use super::places::Places;
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// The scalar fence, rules 4 and 6: whoever is asked for its fences answers with at least every
/// one that it ever said to have accepted, in whatever election, and only while it knows them.
#[derive(Debug, Default)]
pub(super) struct FenceReadsTellAll {
    /// The fence of the last grant, by grantor and election.
    granted: Places<Fence>,
    /// The highest that each grantor said to have accepted, and with which memory.
    accepted: BTreeMap<usize, (Instance, Fence)>,
}

impl Property<QuorumLeases> for FenceReadsTellAll {
    const NAME: &'static str = "A fence read is answered with all that was seen";
    const SOURCE: &'static str = "the scalar fence 4 and 6";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        *self = Self { granted: Places::by_election(plan), accepted: BTreeMap::new() };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Granted { grantor, election, record, .. }) => {
                *self.granted.at_mut((grantor, election)) = record.fence_seen;
                Ok(())
            }
            Fact::Own(Own::Sent { node, message: Message::Granted(ok), .. }) if ok.accepted => {
                let Some(election) = check.number(&ok.election) else { return Ok(()) };
                let fence = *self.granted.at((node, election));
                let last = self.accepted.entry(node).or_insert((ok.instance, Fence::NONE));
                if last.0 != ok.instance {
                    *last = (ok.instance, Fence::NONE);
                }
                last.1 = last.1.max(fence);
                Ok(())
            }
            // Whoever has nothing to tell says so.
            Fact::Own(Own::Sent { message: Message::FenceSeen(answer), .. }) if !answer.whole => {
                Ok(())
            }
            Fact::Own(Own::Sent { node, message: Message::FenceSeen(answer), disk, .. }) => {
                let name = &check.plan.nodes[node].name;
                if !disk.is_whole() {
                    return Err(format!("{name} tells its fences, and has not read its own yet"));
                }
                let kept = disk.kept.durable().instance;
                match self.accepted.get(&node) {
                    Some((memory, fence)) if *memory == kept && *fence > answer.seen => {
                        let seen = answer.seen;
                        Err(format!("{name} says to have seen {seen}, and has accepted {fence}"))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
