use super::{Check, Fact, Own, Property, QuorumLeases, seconds};

/// Section 6 and erratum 2: a release is sent after its claim is lowered, and after every
/// verification's promise.
#[derive(Debug, Default)]
pub(super) struct ReleaseKeepsPromises;

impl Property<QuorumLeases> for ReleaseKeepsPromises {
    const NAME: &'static str = "A release comes after the claim and after every promise";
    const SOURCE: &'static str = "section 6; erratum 2";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Released { election, who, start }) = fact else { return Ok(()) };
        let leaderships = check.past(election).leaderships.iter().rev();
        let ended = leaderships.filter(|l| l.own.who == *who && l.own.first <= start).take(4);
        for leadership in ended {
            let until = leadership.until;
            let promised = leadership.own.promised;
            if until.max(promised) > check.now {
                return Err(format!(
                    "{who} gives {} up, leading until {} and promised until {}",
                    check.election(election),
                    seconds(until),
                    seconds(promised),
                ));
            }
        }
        Ok(())
    }
}
