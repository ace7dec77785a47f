use std::collections::BTreeMap;

use tenure_core::nerio::{Decided, Document, EpochId, Message, ToGrantor};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 10.6: an epoch has one decided successor, grantors enter only one epoch of each number,
/// and no node goes back to an earlier epoch.
#[derive(Debug, Default)]
pub(super) struct OneSuccessor {
    /// Successor of each epoch, as grantors entered it or reported its decision.
    successors: BTreeMap<EpochId, EpochId>,
    /// Entered epochs by number.
    entered: BTreeMap<u64, EpochId>,
    /// Number of the present epoch of each node's candidates, in its present life.
    present: Vec<u64>,
}

impl Property<QuorumLeases> for OneSuccessor {
    const NAME: &'static str = "An epoch has one successor";
    const SOURCE: &'static str = "section 10.6";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.present = vec![0; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.present[node] = 0;
                Ok(())
            }
            Fact::Own(Own::Switches { node, epoch }) => {
                let before = std::mem::replace(&mut self.present[node], epoch.number);
                if before <= epoch.number {
                    return Ok(());
                }
                let (name, number) = (check.name(node), epoch.number);
                Err(format!("the candidates of {name} go back from epoch {before} to {number}"))
            }
            Fact::Own(Own::Enters { grantor, document }) => self.enters(check, grantor, document),
            Fact::Own(Own::Sent {
                node,
                message: Message::Grantor(ToGrantor::Decided(Decided { before, successor, .. })),
                ..
            }) if *before != EpochId::NONE => self.decides(check, node, *before, *successor),
            _ => Ok(()),
        }
    }
}

impl OneSuccessor {
    fn enters(
        &mut self,
        check: &Check<'_>,
        grantor: usize,
        document: &Document,
    ) -> Result<(), String> {
        let epoch = document.id();
        let known = *self.entered.entry(epoch.number).or_insert(epoch);
        if known != epoch {
            return Err(format!(
                "{} enters epoch {} with digest {:x}, and another grantor entered it with {:x}",
                check.name(grantor),
                epoch.number,
                epoch.digest,
                known.digest,
            ));
        }
        self.decides(check, grantor, document.before, epoch)
    }

    fn decides(
        &mut self,
        check: &Check<'_>,
        grantor: usize,
        before: EpochId,
        successor: EpochId,
    ) -> Result<(), String> {
        let known = *self.successors.entry(before).or_insert(successor);
        if known == successor {
            return Ok(());
        }
        Err(format!(
            "{} says that epoch {} follows epoch {}, with digest {:x} and not {:x}",
            check.name(grantor),
            successor.number,
            before.number,
            successor.digest,
            known.digest,
        ))
    }
}
