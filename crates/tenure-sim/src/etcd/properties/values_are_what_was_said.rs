use super::{Court, Fact, Plan, Property, seconds};

/// What others read of a leader is what its application said last.
#[derive(Debug)]
pub(super) struct ValuesAreWhatWasSaid;

impl Property for ValuesAreWhatWasSaid {
    const NAME: &'static str = "A leader's value is what it said last";
    const SOURCE: &'static str = "wire facts: proclaim";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let (from, until) = (court.plan.settled, court.plan.retired);
        if court.now < from || court.now >= until {
            return Ok(());
        }
        for election in 0..court.plan.elections.len() {
            let Some(leader) = court.annals(election).leader(court.now) else { continue };
            // It may have said it just now.
            if court.now < leader.from.max(from) + court.plan.unit {
                continue;
            }
            let office = &court.apps[leader.node].offices[election];
            let Some(kv) = court.ledger.keys.get(&leader.key) else { continue };
            if office.campaigning && kv.value != office.value.as_str().into() {
                return Err(format!(
                    "the key of {} in {} says {:?} and its application {:?}, leader since {}",
                    court.name(leader.node),
                    court.election(election),
                    kv.value,
                    office.value,
                    seconds(leader.from),
                ));
            }
        }
        Ok(())
    }
}
