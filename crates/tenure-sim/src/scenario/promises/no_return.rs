use super::super::history::under;
use super::{Check, Fact, Property, Scenario, seconds};

/// A lapsed or lowered claim is never raised again: the next leadership is new, with a new fence
/// where fences exist.
#[derive(Debug, Default)]
pub struct NoReturn;

impl<S: Scenario> Property<S> for NoReturn {
    const NAME: &'static str = S::SENTENCES.no_return.0;
    const SOURCE: &'static str = S::SENTENCES.no_return.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Claimed(claim) = fact else { return Ok(()) };
        let Some(last) = check.own(&claim).filter(|_| claim.until > check.now) else {
            return Ok(());
        };
        if last.until > check.now || S::may_return(check, &claim, last) {
            return Ok(());
        }
        Err(format!(
            "{} claims {} again{} until {}, though that leadership ended at {}",
            S::life(check.plan, claim.node, claim.life),
            check.election(claim.election),
            under(claim.fence),
            seconds(claim.until),
            seconds(last.until),
        ))
    }
}
