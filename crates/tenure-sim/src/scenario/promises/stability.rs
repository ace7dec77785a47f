use tenure_core::{End, Loss};

use super::{Check, Fact, Property, Scenario};

/// Without faults a leader stays.
#[derive(Debug, Default)]
pub struct Stability;

impl<S: Scenario> Property<S> for Stability {
    const NAME: &'static str = S::SENTENCES.stability.0;
    const SOURCE: &'static str = S::SENTENCES.stability.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Ended { election, node, end: End::Lost(loss), .. } = fact else {
            return Ok(());
        };
        let settled = check.now >= check.plan.settled && check.now < check.plan.retired;
        let asked = matches!(loss, Loss::Resigned | Loss::Transferred);
        if asked || !settled && !check.plan.calm || S::may_lose(check, node, election, *loss) {
            return Ok(());
        }
        let name = check.name(node);
        let election = check.election(election);
        Err(format!("{name} lost {election} though nothing goes wrong: {loss}"))
    }
}
