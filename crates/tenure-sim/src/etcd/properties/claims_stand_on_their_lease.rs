use super::{Court, Fact, Plan, Property, seconds};
use crate::etcd::ledger::Ledger;

/// E is never beyond the end of the lease by the clock of etcd's leader, and the key is there.
#[derive(Debug)]
pub(super) struct ClaimsStandOnTheirLease;

impl Property for ClaimsStandOnTheirLease {
    const NAME: &'static str = "A claim never outlasts its lease";
    const SOURCE: &'static str = "rulings 3 and 4 (E2, E3)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { node, life, election, fence, key, until, .. } = fact else {
            return Ok(());
        };
        let back = court.ledger.restored.unwrap_or(0);
        let mut older = court.annals(*election).leaderships.iter().rev();
        // A win stands on its look, a renewal on its confirmation.
        let asked = match older.any(|l| l.is(*node, *life, *fence, back)) {
            true => court.ledger.confirmed[*node],
            false => court.ledger.asked[*node][*election][0],
        };
        if *until <= court.now || court.is_robbed(key, asked) {
            return Ok(());
        }
        let what = || {
            format!(
                "{} leads {} with fence {fence} until {}",
                court.name(*node),
                court.election(*election),
                seconds(*until)
            )
        };
        let Some(kv) = court.ledger.keys.get(*key) else {
            return Err(format!("{}, and its key {key} is not there", what()));
        };
        if kv.created != Ledger::created(*fence) {
            return Err(format!("{}, and its key was created at {}", what(), kv.created));
        }
        match kv.lease.and_then(|lease| court.ledger.leases.get(&lease)) {
            None => Err(format!("{}, and its lease is over", what())),
            Some(ends) if ends < until => {
                Err(format!("{}, and its lease ends at {}", what(), seconds(*ends)))
            }
            Some(_) => Ok(()),
        }
    }
}
