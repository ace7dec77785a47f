use super::{Court, Fact, Plan, Property, seconds};

/// When nothing goes wrong, a process of ours whose key is the first leads as soon as it can know
/// that: it waits for nothing else.
#[derive(Debug)]
pub(super) struct WhoIsFirstLeads;

impl Property for WhoIsFirstLeads {
    const NAME: &'static str = "Whoever is first leads soon in calm worlds";
    const SOURCE: &'static str = "rulings 1 and 2 (E1)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let (plan, ledger) = (court.plan, court.ledger);
        if !plan.calm {
            return Ok(());
        }
        for (election, annals) in ledger.annals.iter().enumerate() {
            let Some(first) = annals.firsts.back() else { continue };
            let Some(kv) = first.key.as_ref() else { continue };
            let owner = kv.lease.and_then(|lease| ledger.owners.get(&lease));
            let Some((node, _)) = owner.filter(|(node, _)| plan.ours(*node).is_some()) else {
                continue;
            };
            // The key of its last campaign may be on its way out.
            let office = &court.apps[*node].offices[election];
            let since = first.since.max(office.left);
            let late = court.now > since + plan.news();
            if late && office.campaigning && annals.leader(court.now).is_none() {
                return Err(format!(
                    "{} does not lead {}, though {} is the first since {}",
                    court.name(*node),
                    court.election(election),
                    kv.key,
                    seconds(since),
                ));
            }
        }
        Ok(())
    }
}
