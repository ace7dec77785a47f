//! Made-up worlds of ALLCALL: one seed gives the same bytes, the right core violates no property, a
//! broken bound is noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_sim::allcall::Worlds;
use tenure_sim::allcall::plan::{Kind, Plan};
use tenure_sim::explain;
use tenure_sim::world::conditions::Incident;
use tenure_sim::world::fault::Kind as Fault;

use crate::suite::Altered;

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds);
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 30 } else { 600 };
    let found = suite::assert_none(&suite::worlds(Worlds, 1, number));
    // A sweep with few events proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 10_000 && each(counts.elected) > 8, "{found:?}");
    assert!(each(counts.claims) > 40 && each(counts.transferred) > 1, "{found:?}");
    assert!(each(counts.lost) > 1 && each(counts.views) > 20, "{found:?}");
    assert!(each(own.void) > 5 && each(own.unconfirmed) > 0 && each(counts.cuts) > 1, "{found:?}");
    assert!(own.beaten > 10 && counts.beside > 10 && own.far > 10 && own.off > 5, "{found:?}");
    // These worlds have no state directory, and no forged messages.
    for kind in Fault::ALL.into_iter().filter(|kind| !matches!(kind, Fault::Write | Fault::Forged))
    {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Lets worlds with cuts be checked as if all nodes were connected.
fn as_connected(plan: &mut Plan) {
    if plan.own.kind == Kind::Parted {
        plan.own.kind = Kind::Connected;
    }
}

/// Each part has a leader, which breaks the promise for connected nodes. The failure is made small,
/// and its faults show it again.
#[test]
fn two_leaders_are_noticed() {
    let sweep = suite::worlds(Altered(Worlds, as_connected), 1, 60);
    let one = "Connected nodes have at most one leader";
    let small = suite::failures_are_made_small(&sweep, &[one]);
    let command = explain::command(&Worlds, 1, &small.only);
    assert!(command.contains("--protocol allcall --only "), "{command}");
    assert!(small.only.len() * 2 < small.before, "{} of {}", small.only.len(), small.before);
}

/// Connects several servers for good: no message is lost, and each takes less than H/2 (H is
/// `heartbeat`).
fn without_cuts(plan: &mut Plan) {
    if plan.own.kind == Kind::Parted {
        let step = |incident: &Incident| matches!(incident, Incident::Step { .. });
        plan.conditions.incidents.retain(|(_, incident)| step(incident));
        plan.own.kind = Kind::Connected;
    }
}

/// Runs the first of 2,000 such worlds in which two participants that had listened together both
/// led.
#[test]
fn connected_servers_have_one_leader() {
    suite::assert_none(&suite::worlds(Altered(Worlds, without_cuts), 1_921, 1));
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds, include_str!("found_allcall.txt"));
}
