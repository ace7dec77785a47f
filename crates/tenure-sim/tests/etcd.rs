//! Made-up worlds of elections on etcd: the same seed gives the same bytes, the good core violates
//! nothing, clocks beyond the bound are noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, unused_imports, reason = "the rules are broken"))]

use tenure_sim::etcd::plan::Plan;
use tenure_sim::etcd::{Counts, Elections, Worlds};
use tenure_sim::explain;
use tenure_sim::scenario;
use tenure_sim::shrink::shrink;
use tenure_sim::sweep::{Found, Source, Sweep};
use tenure_sim::world::fault::Kind;

fn worlds(first: u64, worlds: u64) -> Sweep<Worlds> {
    Sweep { first, worlds, events: u64::MAX, source: Worlds, threads: 2 }
}

fn assert_none(found: &Found<scenario::Counts<Counts>>) {
    if let Some((seed, violation)) = &found.violation {
        panic!("cargo xtask replay --seed {seed} --protocol etcd\n{violation}");
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_bytes() {
    for seed in [3, 11, 40] {
        let again = || explain::account(&Worlds, seed, None);
        let (one, two) = (again(), again());
        assert!(one.lines.len() > 1_000, "a trace worth comparing: {}", one.lines.len());
        assert!(one.lines == two.lines, "seed {seed} gave two different traces");
        let draw = tenure_sim::timeline::svg::draw;
        assert!(draw(&one.timeline) == draw(&two.timeline), "and two different pictures");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let sweep = worlds(100, 12);
    let (one, three) = (Sweep { threads: 1, ..sweep }.run(), Sweep { threads: 3, ..sweep }.run());
    assert_eq!((one.events, one.counts, one.faults), (three.events, three.counts, three.faults));
}

#[cfg(not(tenure_planted))]
#[test]
fn whatever_goes_wrong_within_the_model_violates_nothing() {
    let found = worlds(1, if cfg!(debug_assertions) { 400 } else { 2_000 }).run();
    assert_none(&found);
    // A sweep in which little happens proves little.
    let (counts, own) = (&found.counts.common, &found.counts.own);
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 4_000 && each(counts.elected) > 8, "{found:?}");
    assert!(each(counts.lost) > 3 && each(own.again) > 2, "{found:?}");
    assert!(each(own.troubles) > 5 && each(own.terms) > 2, "{found:?}");
    assert!(each(counts.views) > 5 && each(own.foreign) > 2, "{found:?}");
    assert!(each(own.unsure) > 30 && each(own.refused) > 1, "{found:?}");
    assert!(own.late_keys > 3 && own.restored > 10 && counts.gaps > 3, "{found:?}");
    // A connection delivers nothing twice, and there is no state directory.
    for kind in Kind::ALL
        .into_iter()
        .filter(|kind| !matches!(kind, Kind::Repeat | Kind::Write | Kind::Forged))
    {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Worlds in which the clocks of etcd's members run faster than ρ allows.
#[derive(Clone, Copy, Debug)]
struct FastServers;

impl Source for FastServers {
    type Scenario = Elections;

    const NAME: &'static str = "etcd";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds.plan(seed);
        plan.own.store.rates = plan.own.store.rates.map(|rate| rate * 2);
        plan
    }
}

/// Clocks beyond the bound are outside the model, and it is seen that they are; what is seen is
/// made small, and its faults show it again.
#[cfg(not(tenure_planted))]
#[test]
fn clocks_beyond_the_bound_are_noticed_and_a_failure_is_made_small() {
    let events = u64::MAX;
    let sweep = Sweep { first: 1, worlds: 20, events, source: FastServers, threads: 2 };
    let (seed, violation) = sweep.run().violation.unwrap();
    assert_eq!(violation.property, "A claim never outlasts its lease");
    let small = shrink(&FastServers, seed, violation, 3_000_000);
    assert!(small.only.len() * 3 < small.before + 9, "{} of {}", small.only.len(), small.before);

    let account = explain::account(&FastServers, seed, Some(small.only.clone()));
    assert_eq!(account.violation.as_ref(), Some(&small.violation));
    let command = explain::command(&Worlds, seed, &small.only, None);
    assert!(command.contains("--protocol etcd --only "), "{command}");
    let picture = tenure_sim::timeline::svg::draw(&account.timeline);
    assert!(picture.contains("leads"), "{picture}");
}

/// Worlds that once showed something, each with a sentence.
#[cfg(not(tenure_planted))]
#[test]
fn what_was_found_stays_mended() {
    for line in include_str!("found_etcd.txt").lines().filter(|line| !line.starts_with('#')) {
        let (seed, sentence) = line.split_once(' ').unwrap();
        assert!(sentence.len() > 20, "say in a sentence what seed {seed} showed");
        let found = worlds(seed.parse().unwrap(), 1).run();
        if let Some((seed, violation)) = found.violation {
            let again = format!("cargo xtask replay --seed {seed} --protocol etcd");
            panic!("again: {sentence}\n{again}\n{violation}");
        }
    }
}
