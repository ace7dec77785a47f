use super::{Court, Fact, Plan, Property, seconds};

/// Once nothing goes wrong any more, every election that somebody wants has a leader within a
/// bound, and keeps it.
#[derive(Debug)]
pub(super) struct EventualLeader;

impl Property for EventualLeader {
    const NAME: &'static str = "Every election has a leader in the end";
    const SOURCE: &'static str = "rulings 1 and 7: nothing waits for ever";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        // Where revisions come to an end, nobody leads with higher ones.
        let over = court.plan.exhausts;
        if over || court.now < court.plan.settled || court.now >= court.plan.retired {
            return Ok(());
        }
        for election in 0..court.plan.elections.len() {
            let wanted = court.apps.iter().any(|app| app.offices[election].campaigning);
            if wanted && court.annals(election).leader(court.now).is_none() {
                let first = court.annals(election).first();
                return Err(format!(
                    "nobody leads {}, and nothing has gone wrong since {}; the first is {}",
                    court.election(election),
                    seconds(court.plan.conditions.storm_ends),
                    first.map_or("nobody".to_owned(), ToString::to_string),
                ));
            }
        }
        Ok(())
    }
}
