use tenure_core::Protocol;

use super::{Court, Fact, Plan, Property};

/// The contract: after a timeout nothing is left that was due, so that no deadline stays in the
/// past for ever.
#[derive(Debug)]
pub(super) struct DeadlinesPass {
    /// How many timeouts in a row left a deadline in the past, for each node.
    stuck: Vec<u32>,
}

impl Property for DeadlinesPass {
    const NAME: &'static str = "No deadline stays in the past";
    const SOURCE: &'static str = "the contract; I10";
    const NEEDS_BOUND: bool = false;

    fn new(plan: &Plan) -> Self {
        Self { stuck: vec![0; plan.nodes.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Handled { node, core, timer: Some(local) } = fact else { return Ok(()) };
        let overdue = core.deadline().filter(|deadline| deadline.at <= local);
        let stuck = &mut self.stuck[node];
        *stuck = if overdue.is_some() { *stuck + 1 } else { 0 };
        match overdue {
            Some(deadline) if *stuck > 3 => Err(format!(
                "{} at {local} still wants {:?} after {stuck} timeouts",
                court.plan.nodes[node].name, deadline
            )),
            Some(_) | None => Ok(()),
        }
    }
}
