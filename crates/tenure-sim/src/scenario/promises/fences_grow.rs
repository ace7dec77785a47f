use super::{Check, Fact, Property, Scenario, seconds};

/// The later of two leaderships has the higher fence, and no fence is used twice. Clocks do not
/// matter.
#[derive(Debug, Default)]
pub struct FencesGrow;

impl<S: Scenario> Property<S> for FencesGrow {
    const NAME: &'static str = S::SENTENCES.fences_grow.0;
    const SOURCE: &'static str = S::SENTENCES.fences_grow.1;
    const NEEDS_BOUND: bool = false;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Claimed(claim) = fact else { return Ok(()) };
        let Some(fence) = claim.fence.filter(|_| claim.until > check.now) else { return Ok(()) };
        // Skip renewals: the promise of at most one leader checks a deposed leader that renews.
        if check.own(&claim).is_some() {
            return Ok(());
        }
        let earlier = check.past(claim.election).leaderships.iter();
        let earlier = earlier.filter(|led| !S::may_exceed(check, &claim, led));
        match earlier.max_by_key(|led| led.fence) {
            Some(highest) if highest.fence >= Some(fence) => Err(format!(
                "{} got fence {fence} of {}, and {} led{} from {} on",
                S::life(check.plan, claim.node, claim.life),
                check.election(claim.election),
                S::life(check.plan, highest.node, highest.life),
                highest.under(),
                seconds(highest.from),
            )),
            Some(_) | None => Ok(()),
        }
    }
}
