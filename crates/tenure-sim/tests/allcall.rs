//! Made-up worlds of ALLCALL: the same seed gives the same bytes, the good core violates nothing,
//! a bound that does not hold is noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, unused_imports, reason = "the rules are broken"))]

use tenure_sim::allcall::plan::{Kind, Plan};
use tenure_sim::allcall::{Counts, LeasedLeaders, Worlds};
use tenure_sim::explain;
use tenure_sim::scenario;
use tenure_sim::shrink::shrink;
use tenure_sim::sweep::{Found, Source, Sweep};
use tenure_sim::world::conditions::Incident;
use tenure_sim::world::fault::Kind as Fault;

fn worlds(first: u64, worlds: u64) -> Sweep<Worlds> {
    Sweep { first, worlds, events: u64::MAX, source: Worlds, threads: 2 }
}

fn assert_none(found: &Found<scenario::Counts<Counts>>) {
    if let Some((seed, violation)) = &found.violation {
        panic!("cargo xtask replay --seed {seed} --protocol allcall\n{violation}");
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
    assert!(each(found.events) > 10_000 && each(counts.elected) > 8, "{found:?}");
    assert!(each(counts.claims) > 40 && each(counts.transferred) > 1, "{found:?}");
    assert!(each(counts.lost) > 1 && each(counts.views) > 20, "{found:?}");
    assert!(each(own.void) > 5 && each(own.unconfirmed) > 0 && each(own.cuts) > 1, "{found:?}");
    assert!(own.beaten > 10 && own.beside > 10 && own.far > 10 && own.off > 5, "{found:?}");
    // There is no state directory, and nobody forges.
    for kind in Fault::ALL.into_iter().filter(|kind| !matches!(kind, Fault::Write | Fault::Forged))
    {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Worlds with cuts that are judged as if all were connected.
#[derive(Clone, Copy, Debug)]
struct Cuts;

impl Source for Cuts {
    type Scenario = LeasedLeaders;

    const NAME: &'static str = "allcall";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds.plan(seed);
        if plan.own.kind == Kind::Parted {
            plan.own.kind = Kind::Connected;
        }
        plan
    }
}

/// Each part has a leader, which the promise for connected nodes notices where it is asked; what it
/// sees is made small, and its faults show it again.
#[cfg(not(tenure_planted))]
#[test]
fn two_leaders_are_noticed_and_a_failure_is_made_small() {
    let sweep = Sweep { first: 1, worlds: 60, events: u64::MAX, source: Cuts, threads: 2 };
    let (seed, violation) = sweep.run().violation.unwrap();
    assert_eq!(violation.property, "Connected nodes have at most one leader");
    let small = shrink(&Cuts, seed, violation, 3_000_000);
    assert!(small.only.len() * 2 < small.before, "{} of {}", small.only.len(), small.before);

    let account = explain::account(&Cuts, seed, Some(small.only.clone()));
    assert_eq!(account.violation.as_ref(), Some(&small.violation));
    let command = explain::command(&Worlds, seed, &small.only, None);
    assert!(command.contains("--protocol allcall --only "), "{command}");
    let picture = tenure_sim::timeline::svg::draw(&account.timeline);
    assert!(picture.contains("leads"), "{picture}");
}

/// Worlds with several servers, none of which is ever apart: all are connected, nothing is lost,
/// and a message takes less than H/2.
#[derive(Clone, Copy, Debug)]
struct Routed;

impl Source for Routed {
    type Scenario = LeasedLeaders;

    const NAME: &'static str = "allcall";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds.plan(seed);
        if plan.own.kind == Kind::Parted {
            let step = |incident: &Incident| matches!(incident, Incident::Step { .. });
            plan.conditions.incidents.retain(|(_, incident)| step(incident));
            plan.own.kind = Kind::Connected;
        }
        plan
    }
}

/// Of 2,000 such worlds the first one in which two led that had listened together.
#[cfg(not(tenure_planted))]
#[test]
fn several_servers_that_are_never_apart_have_one_leader() {
    let sweep = Sweep { first: 1_921, worlds: 1, events: u64::MAX, source: Routed, threads: 1 };
    assert_none(&sweep.run());
}
