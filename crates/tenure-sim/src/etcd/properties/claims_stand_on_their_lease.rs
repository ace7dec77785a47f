use super::{Check, Claim, Elections, Fact, Property, Records, seconds};

/// A claim's end (E) is never later than the end of its lease by the clock of etcd's leader, and
/// the claim's key exists.
#[derive(Debug, Default)]
pub(super) struct ClaimsStandOnTheirLease;

impl Property<Elections> for ClaimsStandOnTheirLease {
    const NAME: &'static str = "A claim never outlasts its lease";
    const SOURCE: &'static str = "rulings 3 and 4 (E2, E3)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed(claim) = fact else { return Ok(()) };
        let Claim { node, election, fence: Some(fence), until, .. } = claim else {
            return Ok(());
        };
        let key = &check.own.key;
        // A renewed claim is judged from the send of its confirmation, a new claim from the send of
        // its read.
        let asked = if check.own(&claim).is_some() {
            check.records().confirmed[node]
        } else {
            check.records().asked[node][election][0]
        };
        if until <= check.now || check.is_robbed(key, asked) {
            return Ok(());
        }
        let what = || {
            format!(
                "{} leads {} with fence {fence} until {}",
                check.name(node),
                check.election(election),
                seconds(until)
            )
        };
        let Some(kv) = check.records().keys.get(key) else {
            return Err(format!("{}, and its key {key} is not there", what()));
        };
        if kv.created != Records::created(fence) {
            return Err(format!("{}, and its key was created at {}", what(), kv.created));
        }
        match kv.lease.and_then(|lease| check.records().leases.get(&lease)) {
            None => Err(format!("{}, and its lease is over", what())),
            Some(&ends) if ends < until => {
                Err(format!("{}, and its lease ends at {}", what(), seconds(ends)))
            }
            Some(_) => Ok(()),
        }
    }
}
