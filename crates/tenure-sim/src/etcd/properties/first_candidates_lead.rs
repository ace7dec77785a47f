use super::{Check, Elections, Fact, Property, seconds};

/// Without faults, our process with the first key leads as soon as it can know this.
#[derive(Debug, Default)]
pub(super) struct FirstCandidatesLead;

impl Property<Elections> for FirstCandidatesLead {
    const NAME: &'static str = "The first candidate leads soon in calm worlds";
    const SOURCE: &'static str = "rulings 1 and 2 (E1)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let plan = check.plan;
        let records = check.records();
        if !plan.calm {
            return Ok(());
        }
        for (election, firsts) in records.firsts.iter().enumerate() {
            let Some(first) = firsts.firsts.back() else { continue };
            let Some(kv) = first.key.as_ref() else { continue };
            let ours = records.owner_of(kv).filter(|(node, _)| plan.ours(*node).is_some());
            let Some(&(node, _)) = ours else { continue };
            // The first key may be that of the application's last campaign, which is about to be
            // deleted.
            let role = &check.apps[node][election];
            let since = first.since.max(role.left);
            let late = check.now > since + plan.news();
            if late && role.campaigning && check.past(election).leader(check.now).is_none() {
                return Err(format!(
                    "{} does not lead {}, though {} is the first since {}",
                    check.name(node),
                    check.election(election),
                    kv.key,
                    seconds(since),
                ));
            }
        }
        Ok(())
    }
}
