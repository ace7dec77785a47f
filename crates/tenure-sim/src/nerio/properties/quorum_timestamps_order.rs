use std::cmp::Ordering;

use tenure_core::nerio::Incomparable;

use super::{Court, Fact, Plan, Property};

/// Lemma 7.1: the order of quorum timestamps is the order in which their leaderships began.
#[derive(Debug)]
pub(super) struct QuorumTimestampsOrder;

impl Property for QuorumTimestampsOrder {
    const NAME: &'static str = "Quorum timestamps order leaderships";
    const SOURCE: &'static str = "section 7, Lemma 7.1";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Elected { election, who, timestamp } = fact else { return Ok(()) };
        let annals = court.annals(*election);
        if annals.leader(court.now).is_none_or(|leader| leader.who != **who) {
            // Its process slept from the completion until after its lease.
            return Ok(());
        }
        for earlier in &annals.timestamps {
            match earlier.order(timestamp) {
                Ok(Ordering::Less) => {}
                Err(Incomparable::Disjoint) if court.ledger.lost_disk => {}
                other => {
                    return Err(format!(
                        "{earlier} came before {timestamp} of {who}, and they order as {other:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
