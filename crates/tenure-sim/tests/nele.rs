//! Made-up worlds of NELE: one seed gives the same bytes, and the good core violates no property.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_core::nele::Mode;
use tenure_sim::nele::plan::Plan;
use tenure_sim::nele::{Emergence, Worlds};
use tenure_sim::sweep::Source;

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds);
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 40 } else { 600 };
    let found = suite::assert_none(&suite::worlds(Worlds, 1, number));
    // A sweep with few events proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 5_000 && each(counts.elected) > 8, "{found:?}");
    assert!(each(counts.claims) > 40 && each(counts.views) > 10, "{found:?}");
    assert!(each(counts.lost) > 1 && each(own.claims) > 5 && each(own.void) > 0, "{found:?}");
    assert!(each(own.assigned) > 5 && counts.beside > 10, "{found:?}");
}

/// Worlds of `at_least_one`, checked as if only one process of a group might lead.
#[derive(Clone, Copy, Debug)]
struct OverlappingWorlds;

impl Source for OverlappingWorlds {
    type Scenario = Emergence;

    const NAME: &'static str = "nele";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds.plan(seed);
        plan.own.mode = Mode::AtMostOne;
        plan
    }
}

/// A leader by news alone has no claim, which the property of proven claims notices. The failure
/// needs only a campaign: shrinking removes all else, and the rest shows the failure again.
#[test]
fn leaders_without_claims_are_noticed() {
    let sweep = suite::worlds(OverlappingWorlds, 1, 100);
    let small = suite::failures_are_made_small(&sweep, &["A claim is proven by the log"]);
    assert!(small.only.len() <= 2, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds, include_str!("found_nele.txt"));
}
