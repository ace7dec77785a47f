use tenure_core::Time;
use tenure_core::nerio::{Message, Who};

use super::places::Places;
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A grantor that its holder told that it leads no more, and that a promise holds its release up,
/// says so to everybody who asks, as long as it has not granted anew.
#[derive(Debug, Default)]
pub(super) struct LeavingIsReported {
    /// By grantor and election: who leaves, and with which grant.
    leaves: Places<Option<(Who, Time)>>,
}

impl Property<QuorumLeases> for LeavingIsReported {
    const NAME: &'static str = "A leader that must not release yet is reported as leaving";
    const SOURCE: &'static str = "readings; erratum 2";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.leaves = Places::by_election(plan);
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.leaves.forget(node),
            Fact::Own(Own::Granted { grantor, election, .. })
            | Fact::Own(Own::Freed { grantor, election, .. }) => {
                *self.leaves.at_mut((grantor, election)) = None;
            }
            Fact::Own(Own::Leaves { grantor, election, from, leaving }) => {
                let grant = check.own.grants[election].get(&grantor);
                let its = grant.filter(|grant| {
                    let is_its = grant.to == from.who && grant.address == from.address;
                    is_its && grant.start <= leaving.start && check.now < grant.finish
                });
                // What it could not write, it goes by all the same.
                if let Some(grant) = its.filter(|_| !check.remembers_more(grantor)) {
                    let leaves = (grant.to.clone(), grant.start);
                    *self.leaves.at_mut((grantor, election)) = Some(leaves);
                }
            }
            Fact::Own(Own::Sent { node, message: Message::State(state), .. }) => {
                let (Some(holder), Some(election)) = (&state.holder, check.number(&state.election))
                else {
                    return Ok(());
                };
                if let Some((who, start)) = self.leaves.at((node, election))
                    && (&holder.who, &holder.start) == (who, start)
                    && holder.leaving.is_none()
                {
                    return Err(format!(
                        "{} says that {who} holds {}, and not that it leads no more",
                        check.plan.nodes[node].name, state.election,
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
