use tenure_core::Ticket;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// The scalar fence, rule 3: a grantor writes one bound on fences at a time, however fast fences
/// are proposed.
#[derive(Debug, Default)]
pub(super) struct OneBoundAtATime {
    /// Flush under way of each grantor.
    writes: Vec<Option<Ticket>>,
}

impl Property<QuorumLeases> for OneBoundAtATime {
    const NAME: &'static str = "A grantor writes one bound on fences at a time";
    const SOURCE: &'static str = "the scalar fence 3";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.writes = vec![None; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.writes[node] = None,
            Fact::Own(Own::Settled { grantor, ticket, .. }) => {
                self.writes[grantor].take_if(|writes| *writes == ticket);
            }
            Fact::Own(Own::Reserves { grantor, ticket, .. }) => {
                if let Some(before) = self.writes[grantor].replace(ticket) {
                    let name = check.name(grantor);
                    return Err(format!(
                        "{name} writes a bound on fences with flush {}, and flush {} has not ended",
                        ticket.0, before.0
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
