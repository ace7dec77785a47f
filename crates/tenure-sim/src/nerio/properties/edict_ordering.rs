use std::cmp::Ordering;

use tenure_core::Fence;
use tenure_core::nerio::{EdictTimestamp, Incomparable};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 1: edicts are ordered as they were created, by their timestamps and by fence and number.
#[derive(Debug, Default)]
pub(super) struct EdictOrdering {
    last: Vec<Option<(EdictTimestamp, Fence)>>,
}

impl Property<QuorumLeases> for EdictOrdering {
    const NAME: &'static str = "Edict Ordering";
    const SOURCE: &'static str = "section 1; the scalar fence 5";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.last = vec![None; plan.elections.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Edict { election, who, fence, timestamp, counter }) = fact else {
            return Ok(());
        };
        // Beyond the bound a deposed leader creates edicts too: recipients refuse them.
        let current = check.past(election).leaderships.last();
        if !check.plan.bounded && current.is_some_and(|last| last.fence != Some(fence)) {
            return Ok(());
        }
        let edict = EdictTimestamp { epoch: 0, quorum: timestamp.clone(), counter };
        let Some((last, old)) = self.last[election].replace((edict.clone(), fence)) else {
            return Ok(());
        };
        if (old, last.counter) >= (fence, counter) {
            return Err(format!(
                "{who} creates edict {counter} under fence {fence} after edict {} under {old}",
                last.counter
            ));
        }
        match last.order(&edict) {
            Ok(Ordering::Less) => Ok(()),
            // After the loss of a state directory two quorums may have no memory in common.
            Err(Incomparable::Disjoint) if check.own.lost_disk => Ok(()),
            // Quorums that met before the bound was broken need not order later timestamps.
            _ if !check.plan.bounded => Ok(()),
            other => Err(format!("{last} was created before {edict}, which order as {other:?}")),
        }
    }
}
