use super::{Check, Fact, Property, Scenario, seconds};

/// After the last fault, every wanted election has a leader within a bound, and keeps it.
#[derive(Debug, Default)]
pub struct LeaderInTheEnd;

impl<S: Scenario> Property<S> for LeaderInTheEnd {
    const NAME: &'static str = S::SENTENCES.leader_in_the_end.0;
    const SOURCE: &'static str = S::SENTENCES.leader_in_the_end.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let plan = check.plan;
        if check.now < plan.settled || check.now >= plan.retired {
            return Ok(());
        }
        for (election, name) in plan.elections.iter().enumerate() {
            if check.past(election).leader(check.now).is_some() {
                continue;
            }
            let mut apps = check.apps.iter().enumerate();
            if apps.any(|(node, app)| app[election].campaigning && S::can_lead(plan, node)) {
                return Err(format!(
                    "nobody leads {name}, and nothing has gone wrong since {}{}",
                    seconds(plan.conditions.storm_ends),
                    S::vacancy(check, election),
                ));
            }
        }
        Ok(())
    }
}
