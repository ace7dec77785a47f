//! A small made-up world with true time as the judge: three grantors and three candidates with
//! drifting clocks, on a network that loses, delays, repeats and reorders, on machines that
//! pause, crash and restart. The real core, byte for byte.
//!
//! A failure prints its seed; `TENURE_SEED=… cargo test -p tenure-core --test world one` runs
//! that world again, with its whole conversation when `TENURE_TRACE=1`.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]
#![allow(clippy::print_stdout, reason = "a failure shows its world")]
#![allow(clippy::disallowed_methods, reason = "seeds and counts come from the environment")]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "only the planted bugs are looked for"))]

mod clock;
mod disk;
mod judge;
mod rng;
mod run;
mod setting;

use run::World;
use setting::Faults;

/// How many worlds one test visits; the environment may ask for more.
fn worlds(otherwise: u64) -> u64 {
    std::env::var("TENURE_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn first_seed() -> u64 {
    std::env::var("TENURE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn visit(name: &str, faults: Faults, count: u64) -> judge::Counts {
    let mut total = judge::Counts::default();
    for seed in first_seed()..first_seed() + count {
        let mut world = World::new(seed, faults);
        if let Err(violation) = world.run() {
            panic!(
                "{name}: seed {seed}: {violation}\nreplay: TENURE_TRACE=1 TENURE_SEED={seed} \
                 TENURE_WORLDS=1 cargo test -p tenure-core --test world {name} -- --nocapture"
            );
        }
        total.add(&world.counts());
    }
    println!("{name}: {count} worlds, {total}");
    total
}

#[cfg(not(tenure_planted))]
#[test]
fn calm() {
    let total = visit("calm", Faults::none(), worlds(20));
    assert!(total.elected >= 20, "every calm world elects somebody: {total}");
    assert_eq!(total.expired, 0, "nobody loses a lease in a calm world: {total}");
}

#[cfg(not(tenure_planted))]
#[test]
fn stormy() {
    // The invariants are checked in debug builds too, which are ten times slower.
    let count = worlds(if cfg!(debug_assertions) { 40 } else { 400 });
    let total = visit("stormy", Faults::all(), count);
    let each = |number: u64| number / count;
    assert!(each(total.elected) > 2 && each(total.completions) > 12, "too little: {total}");
    assert!(total.crashes > count / 4 && total.expired > count / 4, "too few faults: {total}");
    assert!(total.verified > count / 4 && total.transfers > count / 40, "too little: {total}");
}

#[cfg(not(tenure_planted))]
#[test]
fn the_same_seed_twice_gives_the_same_bytes() {
    for seed in 1..5 {
        let trace = |_| {
            let mut world = World::new(seed, Faults::all()).keep_trace();
            world.run().expect("a good seed");
            world.into_trace()
        };
        let (first, second) = (trace(()), trace(()));
        assert!(first.len() > 10_000, "a trace worth comparing");
        assert!(first == second, "seed {seed} gave two different conversations");
    }
}

/// Every rule that is broken on purpose must be noticed.
#[cfg(tenure_planted)]
#[test]
fn planted_bugs_are_caught() {
    use tenure_core::nerio::planted::{DIRECTED, Rule, break_rule};
    std::panic::set_hook(Box::new(|_| {}));
    let mut survivors = Vec::new();
    for rule in Rule::ALL.iter().filter(|rule| !DIRECTED.contains(rule)) {
        let _broken = break_rule(*rule);
        let budget = worlds(1_000);
        let caught = (1..=budget).find_map(|seed| {
            let run = std::panic::catch_unwind(|| World::new(seed, Faults::all()).run());
            match run {
                Ok(Ok(())) => None,
                Ok(Err(violation)) => Some((seed, violation)),
                Err(_) => Some((seed, "a panic".to_owned())),
            }
        });
        match caught {
            Some((seed, violation)) => println!("{rule:?}: seed {seed}: {violation}"),
            None => survivors.push(*rule),
        }
    }
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}
