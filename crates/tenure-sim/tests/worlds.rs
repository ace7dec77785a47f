//! The made-up world itself: one seed gives the same bytes, the good core violates no property,
//! clocks beyond their bound are noticed, and a failure is made small.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod suite;

use tenure_sim::nerio::Worlds;
use tenure_sim::nerio::focus::Focus;
use tenure_sim::nerio::plan::{Climate, Plan};
use tenure_sim::scenario::{Checks, Scenario};
use tenure_sim::sweep::Source;
use tenure_sim::world::fault::Kind;

use crate::suite::Altered;

#[test]
fn same_seed_same_bytes() {
    suite::same_seed_same_bytes(&Worlds::default());
}

#[test]
fn faults_within_the_model_violate_nothing() {
    let number = if cfg!(debug_assertions) { 60 } else { 300 };
    let found = suite::assert_none(&suite::worlds(Worlds::default(), 1, number));
    // A sweep with few events proves little.
    let counts = &found.counts.common;
    let own = &found.counts.own;
    let each = |number: u64| number / found.worlds;
    assert!(each(found.events) > 10_000 && each(counts.elected) > 5, "{found:?}");
    assert!(each(counts.lost) > 1 && each(own.edicts) > 100, "{found:?}");
    assert!(each(own.verified) > 1 && each(counts.views) > 100, "{found:?}");
    assert!(counts.crashes > found.worlds && counts.transferred > found.worlds / 2, "{found:?}");
    assert!(own.lost_disks > 3 && own.foreign_disks > 3, "{found:?}");
    assert_eq!(own.apart, 0, "{found:?}");
    for kind in Kind::ALL {
        assert!(found.faults[kind as usize] > 0, "no {}: {found:?}", kind.name());
    }
}

/// The members of these worlds change, in most worlds several times.
#[test]
fn changing_members_violate_nothing() {
    let number = if cfg!(debug_assertions) { 10 } else { 50 };
    let changes = |seed: &u64| Worlds::default().plan(*seed).own.focus == Focus::Change;
    let seeds = (1..10_000).filter(changes).take(number);
    let each = seeds.map(|seed| suite::assert_none(&suite::worlds(Worlds::default(), seed, 1)));
    let (mut entered, mut lost) = (0, 0);
    for found in each {
        entered += found.counts.own.entered;
        lost += found.counts.own.lost_disks;
    }
    assert!(entered > 2 * number as u64, "{number} worlds: epochs entered {entered} times");
    assert!(lost > 0, "no directory lost");
}

/// Members watch processes in these worlds. Reports of the processes' ends come late and twice,
/// other members and strangers forge reports, and promises of leaders outlast these leaders.
#[test]
fn reported_ends_violate_nothing() {
    let number = if cfg!(debug_assertions) { 20 } else { 100 };
    let watches = |seed: &u64| Worlds::default().plan(*seed).own.watches;
    let (mut buried, mut verified) = (0, 0);
    for seed in (1..10_000).filter(watches).take(number) {
        let found = suite::assert_none(&suite::worlds(Worlds::default(), seed, 1));
        buried += found.counts.own.buried;
        verified += found.counts.own.verified;
    }
    assert!(buried > number as u64 / 2, "{buried} grants ended by reports in {number} worlds");
    assert!(verified > number as u64, "{verified} promises in {number} worlds");
}

/// The members of these worlds replace lost directories by themselves, unless an operator is
/// faster. `TESTS_LONG` plays more, enough of them to count replacements.
#[test]
fn lost_members_return_without_operators() {
    let long = std::env::var_os("TESTS_LONG").is_some();
    let number = if long { 400 } else { 8 };
    let heals = |seed: &u64| Worlds::default().plan(*seed).config().replace.is_some();
    let seeds = (1..1_000_000).filter(heals).take(number);
    let (mut begun, mut events) = (0, 0);
    for seed in seeds {
        let found = suite::assert_none(&suite::worlds(Worlds::default(), seed, 1));
        begun += found.counts.own.replacing;
        events += found.events;
    }
    let enough = if long { number as u64 / 20 } else { 0 };
    assert!(begun >= enough, "members began {begun} replacements in {number} worlds");
    eprintln!("{number} worlds, {events} events, {begun} replacements begun");
}

/// Lets all members campaign, and no other node.
fn members_alone_campaign(plan: &mut Plan) {
    for node in &mut plan.nodes {
        node.campaigns = node.member;
    }
}

/// The members of these worlds stand on a ring. In half of the worlds only weak leaders may
/// campaign, and no other node campaigns in their place.
#[test]
fn rings_name_weak_leaders() {
    let number = if cfg!(debug_assertions) { 8 } else { 50 };
    let source = Altered(Worlds::default(), members_alone_campaign);
    let is_meant = |seed: &u64, only_weak_leader: bool| {
        let plan = Worlds::default().plan(*seed);
        let ring = plan.config().ring;
        let focus = [Focus::Broad, Focus::Grid, Focus::Crowd, Focus::Memory];
        ring.is_some_and(|ring| ring.only_weak_leader == only_weak_leader)
            && focus.contains(&plan.own.focus)
    };
    for only_weak_leader in [false, true] {
        let seeds = (1..100_000).filter(|seed| is_meant(seed, only_weak_leader)).take(number);
        let each = seeds.map(|seed| suite::assert_none(&suite::worlds(source, seed, 1)));
        let elected: u64 = each.map(|found| found.counts.common.elected).sum();
        assert!(elected > number as u64, "{number} worlds elected {elected} times");
    }
}

/// Clocks beyond the bound are outside the model: leaders may overlap, and fences hold.
#[test]
fn fences_hold_beyond_the_bound() {
    let broken = Worlds { climate: Climate::BrokenClocks };
    let found = suite::assert_none(&suite::worlds(broken, 1, 40));
    let apart = found.counts.own.apart;
    assert!(apart > found.worlds, "{apart} reports of clocks apart in {} worlds", found.worlds);
}

/// Lets worlds whose clocks break their bound be checked as if all clocks kept to it.
fn as_bounded(plan: &mut Plan) {
    plan.bounded = true;
}

/// An overlap of two leaders is reduced to fewer faults, and these faults show the overlap again.
#[test]
fn two_leaders_are_noticed() {
    let meant = ["Leader Uniqueness", "A claim stands on grants of a quorum"];
    let broken = Worlds { climate: Climate::BrokenClocks };
    let of = |seed: u64| suite::worlds(Altered(broken, as_bounded), seed, 1);
    let overlaps = |seed: &u64| {
        let violation = of(*seed).run().violation;
        violation.is_some_and(|(_, violation)| meant.contains(&violation.property))
    };
    let seed = (1..200).find(overlaps).unwrap();
    let small = suite::failures_are_made_small(&of(seed), &meant);
    assert!(small.only.len() * 2 < small.before, "{} of {}", small.only.len(), small.before);
}

/// Worlds that once showed a fault, each with a sentence.
#[test]
fn found_worlds_stay_mended() {
    suite::found_worlds_stay_mended(Worlds::default(), include_str!("found_nerio.txt"));
}

fn names<S: Source>(_: S) -> Vec<(&'static str, &'static str)> {
    <<S::Scenario as Scenario>::Checks as Checks<S::Scenario>>::names()
}

/// The page about properties names every property of each protocol.
#[test]
fn page_names_every_property() {
    let page = include_str!("../../../docs/internals/properties.md");
    let mut properties = Vec::new();
    macro_rules! collect {
        ($($module:ident $name:ident $about:literal;)+) => {$(
            properties.extend(names(tenure_sim::$module::Worlds::default()));
        )+};
    }
    tenure_sim::protocols!(collect);
    for (property, _) in properties {
        assert!(
            page.contains(&format!("| {property} |")),
            "docs/internals/properties.md lacks {property}"
        );
    }
}
