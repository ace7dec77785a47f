use std::cmp::Ordering;

use tenure_core::Fence;
use tenure_core::nerio::{EdictTimestamp, Incomparable};

use super::{Court, Fact, Plan, Property};

/// Section 1: edicts are ordered as they were created, by their timestamps and by fence and
/// number.
#[derive(Debug)]
pub(super) struct EdictOrdering {
    /// The last edict of each election.
    last: Vec<Option<(EdictTimestamp, Fence)>>,
}

impl Property for EdictOrdering {
    const NAME: &'static str = "Edict Ordering";
    const SOURCE: &'static str = "section 1; the scalar fence 5";
    const NEEDS_BOUND: bool = false;

    fn new(plan: &Plan) -> Self {
        Self { last: vec![None; plan.elections.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Edict { election, who, fence, timestamp, counter } = fact else {
            return Ok(());
        };
        // Beyond the bound a leader that was deposed creates edicts too: recipients refuse them.
        let current = court.annals(election).leaderships.last();
        if !court.plan.bounded && current.is_some_and(|last| last.fence != fence) {
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
            // Where a state directory was lost, two quorums may have no memory in common.
            Err(Incomparable::Disjoint) if court.ledger.lost_disk => Ok(()),
            // Quorums that met before the bound was broken need not order what came after.
            _ if !court.plan.bounded => Ok(()),
            other => Err(format!("{last} was created before {edict}, which order as {other:?}")),
        }
    }
}
