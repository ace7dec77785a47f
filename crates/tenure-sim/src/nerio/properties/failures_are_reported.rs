use tenure_core::Time;
use tenure_core::nerio::Service;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A grantor that could not write what it decided says so of itself, from then on.
#[derive(Debug, Default)]
pub(super) struct FailuresAreReported {
    /// When the input came, if that is a write that failed.
    failed: Vec<Option<Time>>,
}

impl Property<QuorumLeases> for FailuresAreReported {
    const NAME: &'static str = "A grantor that cannot write says so";
    const SOURCE: &'static str = "readings; restart 4";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.failed = vec![None; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Unwritten { grantor, local }) => self.failed[grantor] = Some(local),
            Fact::Handled { node, core, .. } => {
                let Some(failed) = self.failed[node].take() else { return Ok(()) };
                if core.service(failed) == Some(Service::Serving) {
                    let name = &check.plan.nodes[node].name;
                    return Err(format!("{name} could not write at {failed}, and says it serves"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
