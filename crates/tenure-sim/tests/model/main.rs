//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores,
//! true time in ticks, clocks at both ends of ρ, and every order of what can happen.
//!
//! Each configuration allows some kinds of trouble, a few times each, and is explored to the
//! end. `TENURE_LONG=1` allows more of it:
//! `TENURE_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "a model is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "only the planted bugs are looked for"))]
#![allow(clippy::print_stdout, reason = "the number of states is a result")]
#![allow(clippy::disallowed_methods, reason = "how long it took is for people")]

mod cases;
mod clock;
mod disk;
mod judge;
mod known;
mod node;
#[cfg(tenure_planted)]
mod planted;
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

/// Everything that may happen happens, and nothing is violated.
#[cfg(not(tenure_planted))]
fn holds(case: fn(bool) -> Setting) {
    let long = std::env::var_os("TENURE_LONG").is_some();
    let setting = case(long);
    let most = if long { 50_000_000 } else { 5_000_000 };
    let (explored, violation) = visit(&setting, most);
    if let Some(violation) = violation {
        panic!("{}: {violation}", setting.name);
    }
    assert!(explored.complete, "{}: more than {most} states", setting.name);
    for mark in setting.must_show {
        let seen = explored.marks.contains_key(mark);
        assert!(seen, "{}: {mark} was never seen: nothing is proved", setting.name);
    }
}

#[cfg(not(tenure_planted))]
mod every_state {
    use super::{cases, holds};

    #[test]
    fn of_a_hand_over() {
        holds(cases::hand_over);
    }

    #[test]
    fn with_one_delay() {
        holds(cases::delay);
    }

    #[test]
    fn with_many_delays_of_one_candidate() {
        holds(cases::alone);
    }

    #[test]
    fn at_both_ends_of_the_drift() {
        holds(cases::drift);
    }

    #[test]
    fn with_a_crash_of_a_grantor() {
        holds(cases::crash);
    }

    #[test]
    fn with_a_reboot_of_a_grantor() {
        holds(cases::reboot);
    }

    #[test]
    fn with_a_lost_state_directory() {
        holds(cases::loss);
    }

    #[test]
    fn with_a_rebirth_of_a_candidate() {
        holds(cases::rebirth);
    }

    #[test]
    fn with_a_release_that_comes_again() {
        holds(cases::late_release);
    }

    #[test]
    fn with_a_request_that_comes_again() {
        holds(cases::late_request);
    }
}
