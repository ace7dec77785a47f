//! Made-up worlds of NELE: one seed gives the same bytes, and the good core violates no property.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_core::nele::Mode;
use tenure_sim::nele::Worlds;
use tenure_sim::nele::plan::Plan;

use crate::suite::Altered;

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

/// Lets worlds of `at_least_one` be checked as if only one process of a group might lead.
fn as_at_most_one(plan: &mut Plan) {
    plan.own.mode = Mode::AtMostOne;
}

/// A partition that changes hands has two leaders for a while, which breaks the promise of one
/// leader. The failure is made small, and its faults show it again.
#[test]
fn two_leaders_are_noticed() {
    let one = "At most one process of a group leads a role";
    let of = |seed: u64| suite::worlds(Altered(Worlds, as_at_most_one), seed, 1);
    let overlaps = |seed: &u64| {
        let violation = of(*seed).run().violation;
        violation.is_some_and(|(_, violation)| violation.property == one)
    };
    let seed = (1..200).find(overlaps).unwrap();
    let small = suite::failures_are_made_small(&of(seed), &[one]);
    assert!(small.only.len() < small.before, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds, include_str!("found_nele.txt"));
}
