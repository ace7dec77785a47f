use std::cmp::Ordering;

use tenure_core::nerio::{Incomparable, QuorumTimestamp};

use super::{Check, Fact, Own, Property, QuorumLeases};

/// Lemma 7.1: the order of quorum timestamps is the order in which their leaderships began.
#[derive(Debug, Default)]
pub(super) struct QuorumTimestampsOrder;

impl Property<QuorumLeases> for QuorumTimestampsOrder {
    const NAME: &'static str = "Quorum timestamps order leaderships";
    const SOURCE: &'static str = "section 7, Lemma 7.1";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Stamped { election, who, timestamp }) = fact else { return Ok(()) };
        for earlier in check.own.timestamps.iter().flatten() {
            let said = earlier.order(timestamp);
            let is = order(earlier, timestamp);
            if said != is {
                return Err(format!(
                    "{earlier} and {timestamp} of {who} are said to order as {said:?}, not {is:?}"
                ));
            }
        }
        if check.past(election).leader(check.now).is_none_or(|leader| leader.own.who != *who) {
            // The leader's process slept from the completion until after its lease.
            return Ok(());
        }
        for earlier in &check.own.timestamps[election] {
            match earlier.order(timestamp) {
                Ok(Ordering::Less) => {}
                Err(Incomparable::Disjoint) if check.own.lost_disk => {}
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

/// Section 7, equation 21, literally.
fn order(one: &QuorumTimestamp, two: &QuorumTimestamp) -> Result<Ordering, Incomparable> {
    let both = one.stamps().iter().flat_map(|(here, stamp)| {
        let same = two.stamps().iter().filter(move |(there, _)| there == here);
        same.map(move |(_, other)| stamp.cmp(other))
    });
    both.map(Ok)
        .reduce(|before, here| if before == here { here } else { Err(Incomparable::Contradictory) })
        .unwrap_or(Err(Incomparable::Disjoint))
}
