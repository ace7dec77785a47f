use super::{Check, Elections, Fact, Own, Property};

/// Without faults no lease is lost, whether a leader holds it or not.
#[derive(Debug, Default)]
pub(super) struct NoLeaseIsLost;

impl Property<Elections> for NoLeaseIsLost {
    const NAME: &'static str = super::NO_LEASE_IS_LOST.0;
    const SOURCE: &'static str = super::NO_LEASE_IS_LOST.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Closed { node, lease, lost: Some(lost) }) = fact else { return Ok(()) };
        if !check.plan.calm && check.now < check.plan.settled {
            return Ok(());
        }
        Err(format!("{} lost lease {lease}: {lost}", check.name(node)))
    }
}
