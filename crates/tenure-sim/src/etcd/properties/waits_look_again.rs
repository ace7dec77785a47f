use super::{Court, Fact, Plan, Property, seconds};

/// Whoever waits or observes looks again after a while, whatever its watch says.
#[derive(Debug)]
pub(super) struct WaitsLookAgain;

impl Property for WaitsLookAgain {
    const NAME: &'static str = "Whoever waits or observes looks again";
    const SOURCE: &'static str = "rulings 1 and 7 (E6)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let (plan, ledger) = (court.plan, court.ledger);
        let from = plan.conditions.storm_ends + plan.unit;
        let within = plan.look_again() + plan.unit;
        if court.now < from + within || court.now >= plan.retired {
            return Ok(());
        }
        for (node, app) in court.apps.iter().enumerate() {
            for (election, office) in app.offices.iter().enumerate() {
                let leads = court.annals(election).leader(court.now);
                let leads = leads.is_some_and(|leader| leader.node == node);
                let waits = office.campaigning && !leads;
                let asked = ledger.asked[node][election];
                for (is_so, since, asked) in
                    [(waits, office.since, asked[0]), (office.observing, office.observed, asked[1])]
                {
                    let since = since.max(asked).max(from).max(ledger.since[node]);
                    if is_so && court.now >= since + within {
                        return Err(format!(
                            "{} has not looked who leads {} since {}",
                            court.name(node),
                            court.election(election),
                            seconds(since),
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
