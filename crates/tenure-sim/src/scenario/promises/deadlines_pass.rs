use tenure_core::Protocol;

use super::{Check, Fact, PlanOf, Property, Scenario};

/// The contract: a timeout handles all work that is due, so that no deadline stays in the past.
#[derive(Debug, Default)]
pub struct DeadlinesPass {
    /// Successive timeouts that left a deadline in the past, for each node.
    stuck: Vec<u32>,
}

impl<S: Scenario> Property<S> for DeadlinesPass {
    const NAME: &'static str = S::SENTENCES.deadlines_pass.0;
    const SOURCE: &'static str = S::SENTENCES.deadlines_pass.1;
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &PlanOf<S>) {
        self.stuck = vec![0; plan.conditions.sites.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Handled { node, core, timer: Some(local) } = fact else { return Ok(()) };
        let overdue = core.deadline().filter(|deadline| deadline.at <= local);
        let stuck = &mut self.stuck[node];
        *stuck = if overdue.is_some() { *stuck + 1 } else { 0 };
        match overdue {
            Some(deadline) if *stuck > S::TIMEOUTS => {
                let name = check.name(node);
                Err(format!("{name} at {local} still wants {deadline:?} after {stuck} timeouts"))
            }
            Some(_) | None => Ok(()),
        }
    }
}
