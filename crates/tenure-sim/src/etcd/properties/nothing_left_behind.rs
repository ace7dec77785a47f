use super::{Court, Fact, Plan, Property, seconds};

/// No key stays in the store longer than one lease after whoever made it has left, died or given
/// it up; and in the end nothing is left at all.
#[derive(Debug)]
pub(super) struct NothingLeftBehind;

impl Property for NothingLeftBehind {
    const NAME: &'static str = "Nothing is left behind";
    const SOURCE: &'static str = "rulings 5 to 7 (E4 to E6)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let (plan, ledger) = (court.plan, court.ledger);
        if court.now >= plan.empty
            && let Some(lease) = ledger.leases.keys().next()
        {
            let owner = ledger.owners.get(lease).map_or("nobody", |(node, _)| court.name(*node));
            return Err(format!(
                "lease {lease} of {owner} is left, and {} keys with it; everybody had left at {}",
                ledger.keys.len(),
                seconds(plan.retired)
            ));
        }
        if court.now < plan.settled {
            return Ok(());
        }
        for (key, kv) in &ledger.keys {
            let owner = kv.lease.and_then(|lease| ledger.owners.get(&lease));
            let Some((node, life)) = owner.filter(|(node, _)| plan.ours(*node).is_some()) else {
                continue;
            };
            let Some(election) = ledger.election_of(key) else { continue };
            let office = &court.apps[*node].offices[election];
            let left = match ledger.lives[*node] == Some(*life) {
                true if office.campaigning => continue,
                true => office.left,
                false => ledger.since[*node],
            };
            let since = left.max(plan.conditions.storm_ends);
            if court.now > since + 2 * plan.lease_most() {
                return Err(format!(
                    "{key} created {} is left, though {} wants it no more since {}",
                    kv.created,
                    court.name(*node),
                    seconds(left)
                ));
            }
        }
        Ok(())
    }
}
