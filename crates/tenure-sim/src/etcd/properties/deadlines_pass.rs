use tenure_core::Protocol;

use super::{Court, Fact, Plan, Property};

/// The contract: after a timeout nothing is left that was due, so that no deadline stays in the
/// past for ever.
#[derive(Debug)]
pub(super) struct DeadlinesPass;

impl Property for DeadlinesPass {
    const NAME: &'static str = "No deadline stays in the past";
    const SOURCE: &'static str = "the contract";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Handled { node, core, timer: Some(local) } = fact else { return Ok(()) };
        match core.deadline().filter(|deadline| deadline.at <= *local) {
            Some(deadline) => Err(format!(
                "{} at {local} still wants {deadline:?} after a timeout",
                court.name(*node)
            )),
            None => Ok(()),
        }
    }
}
