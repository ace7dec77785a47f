use super::{Check, Elections, Fact, Property, seconds};

/// A waiting candidate and an observer look again after a while, whatever its watch says.
#[derive(Debug, Default)]
pub(super) struct WaitsLookAgain;

impl Property<Elections> for WaitsLookAgain {
    const NAME: &'static str = "A waiting candidate and an observer look again";
    const SOURCE: &'static str = "rulings 1 and 7 (E6)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let plan = check.plan;
        let from = plan.conditions.storm_ends + plan.conditions.unit;
        let within = plan.look_again() + plan.conditions.unit;
        if check.now < from + within || check.now >= plan.retired {
            return Ok(());
        }
        for (node, app) in check.apps.iter().enumerate() {
            for (election, role) in app.iter().enumerate() {
                let leads = check.past(election).leader(check.now);
                let leads = leads.is_some_and(|leader| leader.node == node);
                let waits = role.campaigning && !leads;
                let asked = check.records().asked[node][election];
                for (is_so, since, asked) in
                    [(waits, role.since, asked[0]), (role.observing, role.observed, asked[1])]
                {
                    let since = since.max(asked).max(from).max(check.history.since[node]);
                    if is_so && check.now >= since + within {
                        return Err(format!(
                            "{} has not looked who leads {} since {}",
                            check.name(node),
                            check.election(election),
                            seconds(since),
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
