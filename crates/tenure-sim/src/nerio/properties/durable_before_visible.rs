use tenure_core::Fence;
use tenure_core::nerio::{Message, ToCandidate};

use super::{Check, Fact, Own, Property, QuorumLeases};

/// No fence of a world reaches this bound, though each proposal may be 2⁴² above the last.
const ENOUGH: u64 = 1 << 60;

/// Facts are durable before they are visible: the grant behind an ok, the fence in the ok, the boot
/// in the ok's timestamp, and the epoch of the grantor.
#[derive(Debug, Default)]
pub(super) struct DurableBeforeVisible;

impl Property<QuorumLeases> for DurableBeforeVisible {
    const NAME: &'static str = "Nothing is visible before it is durable";
    const SOURCE: &'static str = "restart 2; the scalar fence 3 and 6; the contract, duty 5";
    const NEEDS_BOUND: bool = false;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Sent {
            node,
            message: Message::Candidate(ToCandidate::Granted(ok)),
            disk,
        }) = fact
        else {
            return Ok(());
        };
        let name = &check.plan.nodes[node].name;
        let Some(grant) = disk.kept.grant(&ok.election).filter(|g| g.stamp == ok.stamp) else {
            return Err(format!("{name} sends an ok of {} before it is written", ok.stamp));
        };
        let boot = ok.stamp.boot;
        let durable = disk.kept.durable().boot;
        let reserve = disk.kept.durable().reserve.unwrap_or(Fence::NONE);
        if reserve.number() > ENOUGH {
            return Err(format!("{name} has reserved {reserve}, and one message made it"));
        }
        if disk.kept.durable().standing.document().is_none() {
            return Err(format!("{name} grants in an epoch that is not durable"));
        }
        if boot > durable {
            return Err(format!("{name} grants in {boot:?}, and only {durable:?} is durable"));
        }
        if ok.accepted && grant.fence_seen > reserve {
            let seen = grant.fence_seen;
            return Err(format!("{name} accepts fence {seen} with {reserve} reserved"));
        }
        Ok(())
    }
}
