use tenure_core::nerio::Message;

use super::{Court, Fact, Plan, Property};

/// No world uses up so many fences, though each proposal may be 2⁴⁰ above the last.
const ENOUGH: u64 = 1 << 60;

/// Nothing is visible before it is durable: the grant behind an ok, the fence that it accepts,
/// the boot that its timestamp names.
#[derive(Debug)]
pub(super) struct DurableBeforeVisible;

impl Property for DurableBeforeVisible {
    const NAME: &'static str = "Nothing is visible before it is durable";
    const SOURCE: &'static str = "restart 2; the scalar fence 3 and 6; the contract, duty 5";
    const NEEDS_BOUND: bool = false;

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Sent { node, message: Message::Granted(ok), disk, .. } = fact else {
            return Ok(());
        };
        let name = &court.plan.nodes[node].name;
        let Some(grant) = disk.grants.get(&ok.election).filter(|g| g.stamp == ok.stamp) else {
            return Err(format!("{name} sends an ok of {} before it is written", ok.stamp));
        };
        if disk.reserve.number() > ENOUGH {
            return Err(format!("{name} has reserved {}, and one message made it", disk.reserve));
        }
        if ok.stamp.boot > disk.boot {
            let (boot, durable) = (ok.stamp.boot, disk.boot);
            return Err(format!("{name} grants in {boot:?}, and only {durable:?} is durable"));
        }
        if ok.accepted && grant.fence_seen > disk.reserve {
            let (seen, reserve) = (grant.fence_seen, disk.reserve);
            return Err(format!("{name} accepts fence {seen} with {reserve} reserved"));
        }
        Ok(())
    }
}
