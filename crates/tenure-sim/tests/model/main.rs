//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores,
//! true time in ticks, clocks at both ends of ρ, and every order of what can happen.
//!
//! Each configuration allows some kinds of trouble, a few times each, and is explored to the
//! end. `TENURE_LONG=1` allows more of it:
//! `TENURE_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "a model is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]
#![allow(clippy::print_stdout, reason = "the number of states is a result")]
#![allow(clippy::disallowed_methods, reason = "how long it took is for people")]

mod cases;
mod clock;
mod disk;
mod judge;
mod known;
mod node;
mod reaction;
mod search;
mod setting;
mod symmetry;
mod world;

use search::{Explored, Violation, explore};
use setting::Setting;
use world::World;

/// Explores a configuration and tells how far that went.
fn visit(setting: &Setting, most: usize) -> (Explored, Option<Violation>) {
    let begun = std::time::Instant::now();
    let mut world = World::new(setting.clone());
    let (explored, violation) = explore(&mut world, most);
    let (nodes, calls) = world.work();
    let Explored { states, reached, depth, .. } = explored;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{}: {states} states, reached {reached} times, at most {depth} actions deep, from {nodes} \
         states of single nodes and {calls} calls of the core, in {seconds:.1} s; {:?}",
        setting.name, explored.marks
    );
    (explored, violation)
}

/// Survey
#[test]
fn survey() {
    let long = std::env::var_os("TENURE_LONG").is_some();
    let only = std::env::var("ONLY").ok();
    #[cfg(tenure_planted)]
    let rules: Vec<_> = {
        use tenure_core::nerio::planted::*;
        CAUGHT_BY_WORLD.iter().chain(CAUGHT_BY_STORY).copied().collect()
    };
    #[cfg(not(tenure_planted))]
    let rules = [()];
    for rule in rules {
        #[cfg(tenure_planted)]
        let _broken = tenure_core::nerio::planted::break_rule(rule);
        println!("RULE {rule:?}");
        for case in cases::ALL {
            let setting = case(long);
            if only.as_ref().is_some_and(|only| *only != setting.name) { continue; }
            let result = std::panic::catch_unwind(|| {
            let (_, violation) = visit(&setting, 5_000_000);
            if let Some(violation) = violation {
                println!("  CAUGHT {rule:?} by {} in {} steps: {}", setting.name, violation.steps.len(), violation.why);
            }});
            if result.is_err() { println!("  PANIC {rule:?} {}", setting.name); }
        }
    }
}
