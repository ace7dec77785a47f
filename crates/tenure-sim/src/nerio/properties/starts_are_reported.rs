use tenure_core::nerio::{Message, Refusal, Service};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A grantor whose directory knows its fences when it starts never says that it lost them.
#[derive(Debug, Default)]
pub(super) struct StartsAreReported {
    /// By node: whether its directory knew them when its present life began to write.
    knew: Vec<Option<bool>>,
}

impl Property<QuorumLeases> for StartsAreReported {
    const NAME: &'static str = "A grantor that starts with its memory does not say that it lost it";
    const SOURCE: &'static str = "readings; restart";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.knew = vec![None; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => self.knew[node] = None,
            Fact::Own(Own::Opens { grantor, knows_fences, .. }) => {
                self.knew[grantor].get_or_insert(knows_fences);
            }
            Fact::Own(Own::Sent { node, message, .. }) if self.knew[node] == Some(true) => {
                let says_lost = match message {
                    Message::State(state) => {
                        matches!(state.service, Service::Recovering { .. })
                    }
                    Message::Refused(refused) => {
                        matches!(refused.refusal, Refusal::Recovering { .. })
                    }
                    _ => false,
                };
                if says_lost {
                    let name = &check.plan.nodes[node].name;
                    return Err(format!("{name} started with its memory, and says {message}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
