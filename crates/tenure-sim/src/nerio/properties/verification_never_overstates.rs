use tenure_core::nerio::Who;

use super::{Check, Details, Fact, Leadership, Own, Property, QuorumLeases, seconds};

/// Section 10.5: no verification lasts longer than its leadership.
#[derive(Debug, Default)]
pub(super) struct VerificationNeverOverstates;

impl Property<QuorumLeases> for VerificationNeverOverstates {
    const NAME: &'static str = "Verification never over-reports";
    const SOURCE: &'static str = "section 10.5, errata 1 and 2";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Verified { election, leader, until, fence }) = fact else {
            return Ok(());
        };
        if until <= check.now {
            return Ok(());
        }
        let election_name = check.election(election);
        let Some(led) = leaderships(check, election, leader).next() else {
            return Err(format!("{leader} is believed to lead {election_name}, and never did"));
        };
        let backed = backed(check, led);
        if until > backed {
            return Err(format!(
                "{leader} is believed to lead {election_name} until {}, but its grants end at {}; \
                 {}",
                seconds(until),
                seconds(backed),
                check.clock(led.node),
            ));
        }
        if !leaderships(check, election, leader).any(|led| led.fence == fence) {
            return Err(format!(
                "{leader} is believed to lead {election_name} with fence {fence:?}, and \
                 leads{}",
                led.under(),
            ));
        }
        if let Some(other) = check.past(election).leader(check.now)
            && other.own.who != *leader
        {
            return Err(format!(
                "{leader} is believed to lead {election_name} until {}, and {} leads{}",
                seconds(until),
                other.own.who,
                other.under(),
            ));
        }
        match led.own.released {
            Some(released) if until > released => Err(format!(
                "{leader} is believed to lead {election_name} until {}, but gave up at {}",
                seconds(until),
                seconds(released),
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// The latest end of its leadership that a leader may promise to a verification. A step of the
/// leader's wall clock may end the leadership earlier, but no other node leads before this end.
fn backed(check: &Check<'_>, led: &Leadership<Details>) -> u64 {
    if !check.compares_wall() {
        return led.backed;
    }
    let Details { alone, wall, read, .. } = &led.own;
    let conditions = &check.plan.conditions;
    let set_back = read.set_back(conditions, led.node, read.at, check.now);
    let by_wall = wall.map_or(u64::MAX, |wall| read.reaches(wall).saturating_add(set_back));
    by_wall.min(*alone)
}

/// The leaderships of a life, the last one first.
fn leaderships<'a>(
    check: &Check<'a>,
    election: usize,
    who: &'a Who,
) -> impl Iterator<Item = &'a Leadership<Details>> {
    let all = check.past(election).leaderships.iter().rev();
    all.filter(move |leadership| leadership.own.who == *who)
}
