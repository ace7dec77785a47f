//! Made-up worlds of regional voters: one seed gives the same bytes, the good core violates no
//! property, a broken bound is noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_core::voter::Mode;
use tenure_sim::explain;
use tenure_sim::voter::Worlds;
use tenure_sim::voter::plan::{Kind, Plan};
use tenure_sim::world::fault::Kind as Fault;

use crate::suite::Altered;

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds);
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 80 } else { 600 };
    let found = suite::assert_none(&suite::worlds(Worlds, 1, number));
    // A sweep with few events proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 10_000 && each(counts.elected) > 4, "{found:?}");
    assert!(each(counts.claims) > 40 && each(counts.views) > 10, "{found:?}");
    assert!(each(own.ballots) > 10 && each(own.documents) > 10 && each(own.late) > 1, "{found:?}");
    assert!(own.ties > 5 && own.differ > 5 && own.dropped > 20 && own.breaches > 20, "{found:?}");
    assert!(
        own.lost > 5 && own.ways > 5 && counts.beside > 5 && each(counts.cuts) > 0,
        "{found:?}"
    );
    // Voters do not lie, so these worlds have no forged messages.
    for kind in Fault::ALL.into_iter().filter(|kind| *kind != Fault::Forged) {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Lets worlds in which each part has a leader be checked as if only one voter of all might lead.
fn as_one_part(plan: &mut Plan) {
    if plan.own.mode == Mode::Available && plan.own.kind == Kind::Parted {
        plan.own.mode = Mode::Majority;
        // Observers of one part would report the leader of another part as a vacancy.
        plan.nodes.iter_mut().for_each(|node| node.observes = false);
    }
}

/// Each part has a leader, which breaks the promise of one leader. The failure is made small, and
/// its faults show it again.
#[test]
fn two_leaders_are_noticed() {
    let sweep = suite::worlds(Altered(Worlds, as_one_part), 50, 200);
    let small = suite::failures_are_made_small(&sweep, &["At most one leader"]);
    let command = explain::command(&Worlds, 1, &small.only);
    assert!(command.contains("--protocol voter --only "), "{command}");
    assert!(small.only.len() * 2 < small.before, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds, include_str!("found_voter.txt"));
}
