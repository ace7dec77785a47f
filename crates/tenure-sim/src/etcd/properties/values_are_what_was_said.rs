use tenure_core::Value;

use super::{Check, Elections, Fact, Property, seconds};

/// Observers read the last value that a leader's application proclaimed.
#[derive(Debug, Default)]
pub(super) struct ValuesAreWhatWasSaid;

impl Property<Elections> for ValuesAreWhatWasSaid {
    const NAME: &'static str = "A leader's value is what it said last";
    const SOURCE: &'static str = "wire facts: proclaim";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let from = check.plan.settled;
        let until = check.plan.retired;
        if check.now < from || check.now >= until {
            return Ok(());
        }
        for election in 0..check.plan.elections.len() {
            let Some(leader) = check.past(election).leader(check.now) else { continue };
            // The application may have proclaimed the value just now.
            if check.now < leader.from.max(from) + check.plan.conditions.unit {
                continue;
            }
            let role = &check.apps[leader.node][election];
            let said = role.value.as_ref().map(Value::as_str);
            let Some(kv) = check.records().keys.get(&leader.own.key) else { continue };
            if role.campaigning && said.is_some_and(|said| kv.value != said.into()) {
                return Err(format!(
                    "the key of {} in {} says {:?} and its application {:?}, leader since {}",
                    check.name(leader.node),
                    check.election(election),
                    kv.value,
                    said.unwrap_or_default(),
                    seconds(leader.from),
                ));
            }
        }
        Ok(())
    }
}
