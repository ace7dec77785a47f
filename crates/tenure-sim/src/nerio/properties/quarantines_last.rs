use super::{Court, Fact, Plan, Property};

/// Restart 1, to the nanosecond: a grantor that may have forgotten leases waits for (1 + ρ) times
/// the longest that it ever allowed, as far as its directory knows.
#[derive(Debug)]
pub(super) struct QuarantinesLast;

impl Property for QuarantinesLast {
    const NAME: &'static str = "A quarantine lasts (1 + ρ) times the longest lease";
    const SOURCE: &'static str = "restart 1";
    const NEEDS_BOUND: bool = false;

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Quarantined { grantor, until, local, ever } = fact else { return Ok(()) };
        let node = &court.plan.nodes[*grantor];
        let config = node.later.as_ref().unwrap_or(&node.config);
        let ever = (*ever).max(config.delta_max);
        let parts = 1_000_000_000 + u128::from(config.drift.parts_per_billion());
        let needed = (ever.as_nanos() * parts).div_ceil(1_000_000_000);
        let waits = until.since(*local);
        if waits.as_nanos() >= needed {
            return Ok(());
        }
        let name = &node.name;
        Err(format!("{name} waits for {waits:?} at {local}, and leases were up to {ever:?} long"))
    }
}
