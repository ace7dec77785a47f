//! Made-up worlds of regional voters: the same seed gives the same bytes, the good core violates
//! nothing, a bound that does not hold is noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, unused_imports, reason = "the rules are broken"))]

use tenure_core::voter::Mode;
use tenure_sim::explain;
use tenure_sim::scenario;
use tenure_sim::shrink::shrink;
use tenure_sim::sweep::{Found, Source, Sweep};
use tenure_sim::voter::plan::{Kind, Plan};
use tenure_sim::voter::{Counts, RegionalVoters, Worlds};
use tenure_sim::world::fault::Kind as Fault;

fn worlds(first: u64, worlds: u64) -> Sweep<Worlds> {
    Sweep { first, worlds, events: u64::MAX, source: Worlds, threads: 2 }
}

fn assert_none(found: &Found<scenario::Counts<Counts>>) {
    if let Some((seed, violation)) = &found.violation {
        panic!("cargo xtask replay --seed {seed} --protocol voter\n{violation}");
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
    let found = worlds(1, if cfg!(debug_assertions) { 120 } else { 600 }).run();
    assert_none(&found);
    // A sweep in which little happens proves little.
    let (counts, own) = (&found.counts.common, &found.counts.own);
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 10_000 && each(counts.elected) > 4, "{found:?}");
    assert!(each(counts.claims) > 40 && each(counts.views) > 10, "{found:?}");
    assert!(each(own.ballots) > 10 && each(own.documents) > 10 && each(own.late) > 1, "{found:?}");
    assert!(own.ties > 5 && own.differ > 5 && own.dropped > 20 && own.breaches > 20, "{found:?}");
    assert!(own.lost > 5 && own.ways > 5 && own.beside > 5 && each(own.cuts) > 0, "{found:?}");
    // Voters do not lie.
    for kind in Fault::ALL.into_iter().filter(|kind| *kind != Fault::Forged) {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Worlds in which each part has a leader, judged as if only one of all might.
#[derive(Clone, Copy, Debug)]
struct Overlapping;

impl Source for Overlapping {
    type Scenario = RegionalVoters;

    const NAME: &'static str = "voter";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds.plan(seed);
        if plan.own.mode == Mode::Available && plan.own.kind == Kind::Parted {
            plan.own.mode = Mode::Majority;
        }
        plan
    }
}

/// Each part has a leader, which the promise of one notices where it is asked; what it sees is made
/// small, and its faults show it again.
#[cfg(not(tenure_planted))]
#[test]
fn two_leaders_are_noticed_and_a_failure_is_made_small() {
    let source = Overlapping;
    let sweep = Sweep { first: 1, worlds: 200, events: u64::MAX, source, threads: 2 };
    let (seed, violation) = sweep.run().violation.unwrap();
    assert_eq!(violation.property, "At most one leader");
    let small = shrink(&source, seed, violation, 3_000_000);
    assert!(small.only.len() * 2 < small.before, "{} of {}", small.only.len(), small.before);

    let account = explain::account(&source, seed, Some(small.only.clone()));
    assert_eq!(account.violation.as_ref(), Some(&small.violation));
    let command = explain::command(&Worlds, seed, &small.only, None);
    assert!(command.contains("--protocol voter --only "), "{command}");
    let picture = tenure_sim::timeline::svg::draw(&account.timeline);
    assert!(picture.contains("leads"), "{picture}");
}
