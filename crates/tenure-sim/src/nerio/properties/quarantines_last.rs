use std::collections::BTreeMap;

use tenure_core::Time;

use super::{Check, Fact, Own, Property, QuorumLeases};

/// Restart 1, to the nanosecond: a grantor that may have forgotten leases waits for (1 + ρ) times
/// the longest that it ever allowed, as far as its directory knows. One that hears of longer ones
/// waits again, and what it has waited in this life counts.
#[derive(Debug, Default)]
pub(super) struct QuarantinesLast {
    /// Since when each waits in its present life.
    since: BTreeMap<usize, Time>,
}

impl Property<QuorumLeases> for QuarantinesLast {
    const NAME: &'static str = "A quarantine lasts (1 + ρ) times the longest lease";
    const SOURCE: &'static str = "restart 1";
    const NEEDS_BOUND: bool = false;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if let Fact::Crashed { node } = fact {
            self.since.remove(&node);
        }
        let Fact::Own(Own::Quarantined { grantor, until, local, ever }) = fact else {
            return Ok(());
        };
        let since = *self.since.entry(grantor).or_insert(local);
        let node = &check.plan.nodes[grantor];
        let config = node.later.as_ref().unwrap_or(&node.config);
        let ever = ever.max(config.delta_max);
        let parts = 1_000_000_000 + u128::from(config.drift.parts_per_billion());
        let needed = (ever.as_nanos() * parts).div_ceil(1_000_000_000);
        let waits = until.since(since);
        if waits.as_nanos() >= needed {
            return Ok(());
        }
        let name = &node.name;
        Err(format!(
            "{name} waits for {waits:?} from {since} on, and leases were up to {ever:?} long"
        ))
    }
}
