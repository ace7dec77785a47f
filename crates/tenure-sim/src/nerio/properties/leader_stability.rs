use tenure_core::{End, Loss};

use super::{Court, Fact, Plan, Property};

/// Section 1: when nothing goes wrong a leader stays.
#[derive(Debug)]
pub(super) struct LeaderStability;

impl Property for LeaderStability {
    const NAME: &'static str = "Leader Stability";
    const SOURCE: &'static str = "section 1";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Ended { election, node, end: End::Lost(Loss::Expired) } = fact else {
            return Ok(());
        };
        let settled = court.now >= court.plan.settled && court.now < court.plan.retired;
        if !settled && !court.plan.calm {
            return Ok(());
        }
        let name = &court.plan.nodes[node].name;
        Err(format!("{name} lost {} though nothing goes wrong", court.election(election)))
    }
}
