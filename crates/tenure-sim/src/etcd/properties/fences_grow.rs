use crate::etcd::ledger::FENCE_END;

use super::{Court, Fact, Plan, Property, seconds};

/// Of two leaderships the later has the higher fence, and no fence is used twice, as long as no
/// backup is restored; and each has room for the revision that it is made of.
#[derive(Debug)]
pub(super) struct FencesGrow;

impl Property for FencesGrow {
    const NAME: &'static str = "Fences strictly grow and are unique";
    const SOURCE: &'static str = "the promise; ruling 8 (E7)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { node, life, election, fence, key, until, .. } = fact else {
            return Ok(());
        };
        if fence.number() >= FENCE_END {
            return Err(format!(
                "{} got fence {fence} of {}, which has no room for a revision so high",
                court.name(*node),
                court.election(*election),
            ));
        }
        let leaderships = &court.annals(*election).leaderships;
        let back = court.ledger.restored.unwrap_or(0);
        let same = |l: &super::Leadership| l.is(*node, *life, *fence, back);
        if *until <= court.now || leaderships.iter().any(same) {
            return Ok(());
        }
        // Its process may have stopped between the win and the claim, and the next one led.
        if court.ledger.is_taken(key) {
            return Ok(());
        }
        let unbroken = leaderships.iter().rev().take_while(|l| l.from >= back);
        // Of what was restored an answer may still be on its way.
        let unbroken = unbroken.filter(|l| !l.robbed || court.ledger.restored.is_none());
        match unbroken.max_by_key(|l| l.fence) {
            Some(highest) if highest.fence >= *fence => Err(format!(
                "{} got fence {fence} of {}, and {} had {} from {} on",
                court.name(*node),
                court.election(*election),
                court.name(highest.node),
                highest.fence,
                seconds(highest.from),
            )),
            Some(_) | None => Ok(()),
        }
    }
}
