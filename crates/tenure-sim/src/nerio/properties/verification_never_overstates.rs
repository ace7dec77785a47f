use super::{Court, Fact, Plan, Property, seconds};

/// Section 10.5: nobody believes in a leader longer than it leads.
#[derive(Debug)]
pub(super) struct VerificationNeverOverstates;

impl Property for VerificationNeverOverstates {
    const NAME: &'static str = "Verification never over-reports";
    const SOURCE: &'static str = "section 10.5, errata 1 and 2";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Verified { election, leader, until, fence, .. } = fact else { return Ok(()) };
        if until <= court.now {
            return Ok(());
        }
        let election_name = court.election(election);
        let Some(led) = court.annals(election).last_of(leader) else {
            return Err(format!("{leader} is believed to lead {election_name}, and never did"));
        };
        if until > led.backed {
            return Err(format!(
                "{leader} is believed to lead {election_name} until {}, but its grants end at {}; \
                 {}",
                seconds(until),
                seconds(led.backed),
                court.clock(led.node),
            ));
        }
        let leaderships = court.annals(election).leaderships.iter();
        if !leaderships.rev().any(|l| l.who == *leader && Some(l.fence) == fence) {
            return Err(format!(
                "{leader} is believed to lead {election_name} with fence {fence:?}, and \
                 leads with {}",
                led.fence,
            ));
        }
        match led.released {
            Some(released) if until > released => Err(format!(
                "{leader} is believed to lead {election_name} until {}, but gave up at {}",
                seconds(until),
                seconds(released),
            )),
            Some(_) | None => Ok(()),
        }
    }
}
