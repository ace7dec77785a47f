use super::{Court, Fact, Plan, Property, seconds};

/// Section 6 and erratum 2: the claim is lowered before a release is sent, and what a
/// verification promised has run out.
#[derive(Debug)]
pub(super) struct ReleaseKeepsPromises;

impl Property for ReleaseKeepsPromises {
    const NAME: &'static str = "A release comes after the claim and after every promise";
    const SOURCE: &'static str = "section 6; erratum 2";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Released { election, who, start } = fact else { return Ok(()) };
        let leaderships = court.annals(election).leaderships.iter().rev();
        let ended = leaderships.filter(|l| l.who == *who && l.first <= start).take(4);
        for leadership in ended {
            let (until, promised) = (leadership.until, leadership.promised);
            if until.max(promised) > court.now {
                return Err(format!(
                    "{who} gives {} up, leading until {} and promised until {}",
                    court.election(election),
                    seconds(until),
                    seconds(promised),
                ));
            }
        }
        Ok(())
    }
}
