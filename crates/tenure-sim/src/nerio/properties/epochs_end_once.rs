use std::collections::BTreeMap;

use tenure_core::nerio::Stamp;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 10.6: a grantor that has accepted a successor of its epoch gives no more grants there. A
/// quorum of the previous epoch accepted each epoch that a grantor enters, by a single ballot.
#[derive(Debug, Default)]
pub(super) struct EpochsEndOnce {
    /// Stamp of the last grant of each grantor, by election: the repetition of a failed write is no
    /// new grant.
    last: Vec<BTreeMap<usize, Stamp>>,
}

impl Property<QuorumLeases> for EpochsEndOnce {
    const NAME: &'static str = "An epoch ends for good, once a quorum has accepted the next";
    const SOURCE: &'static str = "section 10.6";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.last = vec![BTreeMap::new(); plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Some(epochs) = &check.own.epochs else { return Ok(()) };
        match fact {
            Fact::Own(
                Own::Granted { grantor, election, record, .. }
                | Own::Decided { grantor, election, record, .. },
            ) => {
                let last = self.last[grantor].insert(election, record.stamp);
                if !epochs.wedged[grantor] || last == Some(record.stamp) {
                    return Ok(());
                }
                Err(format!(
                    "{} grants {} to {} in epoch {}, although it has accepted the next epoch",
                    check.name(grantor),
                    check.election(election),
                    record.holder,
                    epochs.of(grantor).number,
                ))
            }
            Fact::Own(Own::Enters { grantor, document }) => {
                let (before, epoch) = (document.before, document.id());
                if epochs.is_over(before, epoch) {
                    return Ok(());
                }
                Err(format!(
                    "{} enters epoch {}, which no quorum of epoch {} has accepted by one ballot",
                    check.name(grantor),
                    epoch.number,
                    before.number,
                ))
            }
            _ => Ok(()),
        }
    }
}
