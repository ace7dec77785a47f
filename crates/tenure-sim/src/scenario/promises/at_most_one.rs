use super::super::history::under;
use super::{Check, Fact, Property, Scenario, seconds};

/// At any time at most one process leads, in true time; except for overlaps that the scenario
/// allows.
#[derive(Debug, Default)]
pub struct AtMostOne;

impl<S: Scenario> Property<S> for AtMostOne {
    const NAME: &'static str = S::SENTENCES.at_most_one.0;
    const SOURCE: &'static str = S::SENTENCES.at_most_one.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Claimed(claim) = fact else { return Ok(()) };
        if claim.until <= check.now {
            return Ok(());
        }
        let mut others = check.past(claim.election).leaderships.iter().rev().filter(|led| {
            S::ends(led) > check.now
                && !check.own.continues(led, &claim)
                && !S::may_overlap(check, &claim, led)
        });
        let Some(other) = others.next() else { return Ok(()) };
        let life = |node, life| S::life(check.plan, node, life);
        let on = |node, life, until| S::backing(check, claim.election, node, life, until);
        let promised = match S::ends(other) {
            ends if ends == other.until => String::new(),
            ends => format!(", promised until {}", seconds(ends)),
        };
        Err(format!(
            "{} leads {}{} until {}{}; and {} leads{} since {} until {}{promised}{}",
            life(claim.node, claim.life),
            check.election(claim.election),
            under(claim.fence),
            seconds(claim.until),
            on(claim.node, claim.life, claim.until),
            life(other.node, other.life),
            other.under(),
            seconds(other.from),
            seconds(other.until),
            on(other.node, other.life, other.until),
        ))
    }
}
