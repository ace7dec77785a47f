use super::{Court, Fact, Plan, Property, seconds};

/// Section 1: once a quorum is in touch, every election has a leader within a bound.
#[derive(Debug)]
pub(super) struct EventualElection;

impl Property for EventualElection {
    const NAME: &'static str = "Eventual Election";
    const SOURCE: &'static str = "section 1";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        if court.now < court.plan.settled || court.now >= court.plan.retired {
            return Ok(());
        }
        for election in 0..court.plan.elections.len() {
            let empty = court.annals(election).leader(court.now).is_none();
            if empty && (court.contended)(election) {
                return Err(format!(
                    "nobody leads {}, and nothing has gone wrong since {}",
                    court.election(election),
                    seconds(court.plan.conditions.storm_ends),
                ));
            }
        }
        Ok(())
    }
}
