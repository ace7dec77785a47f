//! Made-up worlds of elections on etcd: one seed gives the same bytes, the good core violates no
//! property, clocks beyond the bound are noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_sim::etcd::Worlds;
use tenure_sim::etcd::plan::Plan;
use tenure_sim::explain;
use tenure_sim::sweep::Sweep;
use tenure_sim::world::fault::Kind;

use crate::suite::Altered;

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds);
}

#[test]
fn thread_count_changes_nothing() {
    let all = suite::worlds(Worlds, 18, 12);
    let some = Sweep { events: 60_000, ..all };
    for sweep in [all, some] {
        let [one, three] = [1, 3].map(|threads| {
            let found = Sweep { threads, ..sweep }.run();
            (found.worlds, found.next, found.events, found.counts, found.faults)
        });
        assert_eq!(one, three);
        assert_eq!(one.0 == all.worlds, sweep.events == all.events, "{} worlds", one.0);
    }
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 110 } else { 2_000 };
    let found = suite::assert_none(&suite::worlds(Worlds, 1, number));
    // A sweep with few events proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 4_000 && each(counts.elected) > 8, "{found:?}");
    assert!(each(counts.lost) > 3 && each(own.again) > 2, "{found:?}");
    assert!(each(own.troubles) > 5 && each(own.terms) > 2, "{found:?}");
    assert!(each(counts.views) > 5 && each(own.foreign) > 2, "{found:?}");
    assert!(each(own.unsure) > 30 && each(own.refused) > 1, "{found:?}");
    assert!(own.late_keys > 3 && own.restored > 10 && counts.gaps > 3, "{found:?}");
    // A connection delivers no message twice, and these worlds have no state directory.
    for kind in Kind::ALL
        .into_iter()
        .filter(|kind| !matches!(kind, Kind::Repeat | Kind::Write | Kind::Forged))
    {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Lets the clocks of etcd's members run faster than ρ allows.
fn with_fast_servers(plan: &mut Plan) {
    plan.own.store.rates = plan.own.store.rates.map(|rate| rate * 2);
}

/// Clocks beyond the bound are outside the model, and the checks notice them; the failure is made
/// small, and its faults show it again.
#[test]
fn fast_servers_are_noticed() {
    let sweep = suite::worlds(Altered(Worlds, with_fast_servers), 1, 20);
    let small = suite::failures_are_made_small(&sweep, &["A claim never outlasts its lease"]);
    let command = explain::command(&Worlds, 1, &small.only);
    assert!(command.contains("--protocol etcd --only "), "{command}");
    assert!(small.only.len() * 3 < small.before + 9, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds, include_str!("found_etcd.txt"));
}
