//! The suite for made-up worlds of every protocol.

use std::collections::BTreeSet;

use tenure_sim::explain;
use tenure_sim::shrink::{SmallFailure, shrink};
use tenure_sim::sweep::{CountsOf, Outcome, Source, Sweep};
use tenure_sim::world::fault::Kind;

/// Worlds from the first seed on, on two threads.
pub(crate) fn worlds<S: Source>(source: S, first: u64, worlds: u64) -> Sweep<S> {
    Sweep { first, worlds, events: u64::MAX, source, threads: 2 }
}

pub(crate) fn assert_none<S: Source>(sweep: &Sweep<S>) -> Outcome<CountsOf<S>> {
    let found = sweep.run();
    if let Some((seed, violation)) = &found.violation {
        panic!("{}\n{violation}", again(&sweep.source, *seed));
    }
    found
}

/// The command that replays a world.
fn again<S: Source>(source: &S, seed: u64) -> String {
    format!("cargo xtask replay --seed {seed}{}", source.flags())
}

pub(crate) fn same_seed_same_bytes<S: Source>(source: &S) {
    let mut kinds = BTreeSet::new();
    for seed in [17, 39, 40] {
        let again = || explain::replay(source, seed, None);
        let one = again();
        let two = again();
        assert!(one.lines.len() > 1_000, "a trace worth comparing: {}", one.lines.len());
        assert!(one.lines == two.lines, "seed {seed} gave two different traces");
        let draw = tenure_sim::timeline::svg::draw;
        assert!(draw(&one.timeline) == draw(&two.timeline), "and two different pictures");
        kinds.extend(one.struck.iter().map(|(_, fault)| fault.kind.name()));
    }
    let all = [Kind::Loss, Kind::VeryLate, Kind::Pause, Kind::Incident, Kind::Act];
    assert!(all.iter().all(|kind| kinds.contains(kind.name())), "little goes wrong: {kinds:?}");
}

/// Deliberately wrong worlds show a failure. The failure is noticed and made small, and its command
/// shows it again.
pub(crate) fn failures_are_made_small<S: Source>(
    sweep: &Sweep<S>,
    noticing: &[&str],
) -> SmallFailure {
    let (seed, violation) = sweep.run().violation.unwrap();
    assert!(noticing.contains(&violation.property), "{violation}");
    let small = shrink(&sweep.source, seed, violation, 3_000_000);
    let command = explain::command(&sweep.source, seed, &small.only);
    let only = command.split(" --only ").nth(1).unwrap();
    let only = only.split(',').map(|fault| fault.parse().unwrap()).collect();
    let account = explain::replay(&sweep.source, seed, Some(only));
    assert_eq!(account.violation.as_ref(), Some(&small.violation));
    let text = account.text(100);
    let violated = format!("violated: {}", small.violation.property);
    assert!(text.contains("legend:") && text.contains(&violated), "{text}");
    let picture = tenure_sim::timeline::svg::draw(&account.timeline);
    assert!(picture.contains("<title>leads "), "{picture}");
    small
}

/// Worlds that once showed a fault: a line each, with a seed and a sentence.
pub(crate) fn found_worlds_stay_mended<S: Source>(source: S, found: &str) {
    let mut known = 0;
    for line in found.lines().filter(|line| !line.starts_with('#')) {
        let (seed, sentence) = line.split_once(' ').unwrap();
        assert!(sentence.len() > 20, "say in a sentence what seed {seed} showed");
        if let Some((_, violation)) = worlds(source, seed.parse().unwrap(), 1).run().violation {
            panic!("again: {sentence}\n{}\n{violation}", again(&source, seed.parse().unwrap()));
        }
        known += 1;
    }
    assert!(known > 0);
}
