use tenure_core::Time;
use tenure_core::nerio::{Message, Who};

use super::places::Places;
use super::{Court, Fact, Plan, Property};

/// A grantor that its holder told that it leads no more, and that a promise holds its release up,
/// says so to everybody who asks, as long as it has not granted anew.
#[derive(Debug)]
pub(super) struct LeavingIsTold {
    /// By grantor and election: who leaves, and with which grant.
    leaves: Places<Option<(Who, Time)>>,
}

impl Property for LeavingIsTold {
    const NAME: &'static str = "Who leads no more and must not release yet is told so";
    const SOURCE: &'static str = "readings; erratum 2";
    const NEEDS_BOUND: bool = false;

    fn new(plan: &Plan) -> Self {
        Self { leaves: Places::by_election(plan) }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.leaves.forget(node),
            Fact::Granted { grantor, election, .. } | Fact::Freed { grantor, election, .. } => {
                *self.leaves.at_mut((grantor, election)) = None;
            }
            Fact::Leaves { grantor, election, from, leaving } => {
                let grant = court.annals(election).grants.get(&grantor);
                let its = grant.filter(|grant| {
                    let is_its = grant.to == from.who && grant.address == from.address;
                    is_its && grant.start <= leaving.start && court.now < grant.finish
                });
                // What it could not write, it goes by all the same.
                if let Some(grant) = its.filter(|_| !court.remembers_more(grantor)) {
                    let leaves = (grant.to.clone(), grant.start);
                    *self.leaves.at_mut((grantor, election)) = Some(leaves);
                }
            }
            Fact::Sent { node, message: Message::State(state), .. } => {
                let (Some(holder), Some(election)) = (&state.holder, court.number(&state.election))
                else {
                    return Ok(());
                };
                if let Some((who, start)) = self.leaves.at((node, election))
                    && (&holder.who, &holder.start) == (who, start)
                    && holder.leaving.is_none()
                {
                    return Err(format!(
                        "{} says that {who} holds {}, and not that it leads no more",
                        court.plan.nodes[node].name, state.election,
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
