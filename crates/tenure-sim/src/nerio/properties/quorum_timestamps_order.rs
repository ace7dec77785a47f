use std::cmp::Ordering;

use tenure_core::nerio::{Incomparable, QuorumTimestamp};

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
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Elected { election, who, timestamp } = fact else { return Ok(()) };
        for earlier in court.ledger.annals.iter().flat_map(|annals| &annals.timestamps) {
            let (said, is) = (earlier.order(timestamp), order(earlier, timestamp));
            if said != is {
                return Err(format!(
                    "{earlier} and {timestamp} of {who} are said to order as {said:?}, not {is:?}"
                ));
            }
        }
        let annals = court.annals(election);
        if annals.leader(court.now).is_none_or(|leader| leader.who != *who) {
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

/// Section 7, equation 21, word by word.
fn order(one: &QuorumTimestamp, two: &QuorumTimestamp) -> Result<Ordering, Incomparable> {
    let both = one.stamps().iter().flat_map(|(here, stamp)| {
        let same = two.stamps().iter().filter(move |(there, _)| there == here);
        same.map(move |(_, other)| stamp.cmp(other))
    });
    both.map(Ok)
        .reduce(|before, here| if before == here { here } else { Err(Incomparable::Contradictory) })
        .unwrap_or(Err(Incomparable::Disjoint))
}
