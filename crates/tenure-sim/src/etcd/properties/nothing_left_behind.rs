use super::{Check, Elections, Fact, Property, seconds};

/// A key stays in the store at most one lease after its maker has left, died or given the key up.
/// In the end the store is empty.
#[derive(Debug, Default)]
pub(super) struct NothingLeftBehind;

impl Property<Elections> for NothingLeftBehind {
    const NAME: &'static str = "Nothing is left behind";
    const SOURCE: &'static str = "rulings 5 to 7 (E4 to E6)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let plan = check.plan;
        let records = check.records();
        if check.now >= plan.own.empty
            && let Some(lease) = records.leases.keys().next()
        {
            let owner = records.owners.get(lease).map_or("nobody", |(node, _)| check.name(*node));
            return Err(format!(
                "lease {lease} of {owner} is left, and {} keys with it; everybody had left at {}",
                records.keys.len(),
                seconds(plan.retired)
            ));
        }
        if check.now < plan.settled {
            return Ok(());
        }
        for (key, kv) in &records.keys {
            let ours = records.owner_of(kv).filter(|(node, _)| plan.ours(*node).is_some());
            let Some(&(node, life)) = ours else { continue };
            let Some(election) = records.election_of(key) else { continue };
            let role = &check.apps[node][election];
            let runs = check.runs(node, life);
            if runs && role.campaigning {
                continue;
            }
            let left = if runs { role.left } else { check.history.since[node] };
            let since = left.max(plan.conditions.storm_ends);
            if check.now > since + 2 * plan.own.bounds.lease() {
                return Err(format!(
                    "{key} created {} is left, though {} wants it no more since {}",
                    kv.created,
                    check.name(node),
                    seconds(left)
                ));
            }
        }
        Ok(())
    }
}
