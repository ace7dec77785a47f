//! The made-up world itself: the same seed gives the same bytes, the good core violates nothing,
//! what is broken on purpose is noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_sim::explain;
use tenure_sim::nerio::driver::DriverRule;
use tenure_sim::nerio::plan::{self, Climate, Plan};
use tenure_sim::nerio::{Mistake, QuorumLeases, Worlds};
use tenure_sim::scenario::{Checks, Scenario};
use tenure_sim::sweep::{self, Source};
use tenure_sim::world::conditions::Incident;
use tenure_sim::world::fault::Kind;

fn of(climate: Climate) -> Worlds {
    Worlds { climate, broken: None }
}

fn breaking(rule: DriverRule) -> Worlds {
    Worlds { broken: Some(rule), ..Worlds::default() }
}

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds::default());
}

/// The same worlds with wall clocks that are off and step.
#[derive(Clone, Copy, Debug)]
struct Stepping;

impl Source for Stepping {
    type Scenario = QuorumLeases;

    const NAME: &'static str = "nerio";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Worlds::default().plan(seed);
        plan.conditions.draw_wall_clocks(60_000_000_000);
        plan
    }
}

#[test]
fn wall_clocks_change_nothing() {
    let steps = |line: &String| line.contains("its wall clock is set ");
    let mut stepped = 0;
    for seed in [3, 11, 40] {
        let one = explain::replay(&Worlds::default(), seed, None).lines;
        let mut two = explain::replay(&Stepping, seed, None).lines;
        stepped += two.iter().filter(|line| steps(line)).count();
        two.retain(|line| !steps(line));
        assert!(one == two, "seed {seed} gave two different traces");
    }
    assert!(stepped > 5, "{stepped}");
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 60 } else { 300 };
    let found = suite::assert_none(&suite::worlds(of(Climate::Any), 1, number));
    // A sweep in which little happens proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 10_000 && each(counts.elected) > 5, "{found:?}");
    assert!(each(counts.lost) > 1 && each(own.edicts) > 100, "{found:?}");
    assert!(each(own.verified) > 1 && each(counts.views) > 100, "{found:?}");
    assert!(counts.crashes > found.worlds && counts.transferred > found.worlds / 2, "{found:?}");
    assert!(own.lost_disks > 3 && own.foreign_disks > 3, "{found:?}");
    for kind in Kind::ALL {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// Whether an operator recovers most directories in the world of this seed.
fn is_recovered(seed: &u64) -> bool {
    let plan = Worlds::default().plan(*seed);
    let all = |(_, incident): &(u64, Incident)| matches!(incident, Incident::Together(_));
    plan.conditions.incidents.iter().any(all)
}

/// All is stopped, most directories are lost, and an operator recovers them as it should be.
#[test]
fn right_recoveries_violate_nothing() {
    let number = if cfg!(debug_assertions) { 20 } else { 150 };
    for seed in (1..).filter(is_recovered).take(number) {
        let found = suite::assert_none(&suite::worlds(Worlds::default(), seed, 1));
        assert!(found.counts.own.recovered_disks > 0, "seed {seed}: {found:?}");
    }
    let drawn = (1..1_000).filter(is_recovered).count();
    assert!((20..100).contains(&drawn), "{drawn} in a thousand");
}

/// Worlds show the cost of a mistake of an operator, which nothing can check.
#[test]
fn wrong_recoveries_are_noticed() {
    let two = ["Leader Uniqueness", "A claim stands on grants of a quorum"];
    let fences = ["Fences strictly grow and are unique"];
    for (mistake, meant) in
        [(Mistake::LeavesLeaders, &two[..]), (Mistake::SetsLowFloor, &fences[..])]
    {
        let mut sweep = suite::worlds(mistake, 1, 1_000);
        let mut seen = Vec::new();
        let noticed = (0..10).any(|_| match sweep.run().violation {
            Some((seed, violation)) => {
                sweep.first = seed + 1;
                seen.push(violation.to_string());
                meant.contains(&violation.property)
            }
            None => false,
        });
        assert!(noticed, "{mistake:?}: {seen:?}");
    }
}

/// Clocks beyond the bound are outside the model: leaders overlap, which is seen, and fences hold.
#[test]
fn fences_hold_beyond_the_bound() {
    suite::assert_none(&suite::worlds(of(Climate::BrokenClocks), 1, 40));
    let overlap = |seed: u64| {
        let plan = Plan { bounded: true, ..plan::draw(seed, Climate::BrokenClocks) };
        let violation = sweep::run(&mut sweep::world::<QuorumLeases>(plan, None)).err();
        let two = ["Leader Uniqueness", "A claim stands on grants of a quorum"];
        violation.is_some_and(|violation| two.contains(&violation.property))
    };
    assert!((1..200).any(overlap), "two leaders are noticed when clocks break their bound");
}

#[test]
fn broken_duties_are_noticed() {
    // The search begins at a world that shows it, where the first of these is far.
    let begins = |rule: DriverRule| match rule {
        DriverRule::LapsedClaimStays => 62,
        DriverRule::ClockAtTheQuestion => 111,
        DriverRule::OwnDirectory => 110,
        _ => 1,
    };
    for rule in DriverRule::ALL {
        let mut sweep = suite::worlds(breaking(rule), begins(rule), 1_000);
        // Another property may come first; it is the one meant that must come.
        let noticed = (0..10).any(|_| match sweep.run().violation {
            Some((seed, violation)) => {
                sweep.first = seed + 1;
                rule.meant().contains(&violation.property)
            }
            None => false,
        });
        assert!(noticed, "{rule:?}");
    }
}

#[test]
fn failures_are_made_small() {
    let rule = DriverRule::ClockCountsSleep;
    let sweep = suite::worlds(breaking(rule), 1, 9);
    let small = suite::failures_are_made_small(&sweep, rule.meant());
    assert!(small.only.len() * 10 < small.before, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed something, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(of(Climate::Any), include_str!("found_nerio.txt"));
}

/// The properties of the worlds of a source.
fn names<S: Source>(_: S) -> Vec<(&'static str, &'static str)> {
    <<S::Scenario as Scenario>::Checks as Checks<S::Scenario>>::names()
}

/// The page about simulation names every property of each protocol, and every duty of a driver that
/// can be left undone, whose properties exist.
#[test]
fn the_page_is_complete() {
    let page = include_str!("../../../docs/simulation.md");
    let mut properties = Vec::new();
    let mut duties = Vec::new();
    macro_rules! collect {
        ($($module:ident $name:ident $about:literal;)+) => {$(
            properties.extend(names(tenure_sim::$module::Worlds::default()));
            let of_driver = tenure_sim::$module::Worlds::default().duties().into_iter();
            duties.extend(of_driver.map(|duty| (duty.name, duty.meant)));
        )+};
    }
    tenure_sim::protocols!(collect);
    for (property, _) in &properties {
        assert!(page.contains(&format!("| {property} |")), "docs/simulation.md lacks {property}");
    }
    for (name, meant) in duties {
        assert!(page.contains(&format!("| `{name}` |")), "docs/simulation.md lacks {name}");
        for noticing in meant {
            let known = properties.iter().any(|(known, _)| known == noticing);
            assert!(known, "{noticing} is no property");
        }
    }
}
