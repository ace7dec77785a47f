//! Every state of Nerio's smallest cluster: the real cores, true time in ticks, clocks with their
//! own rates, and every order of events.
//!
//! [`grantors`] has the nodes, their losses at restarts, and their properties. A [`Setting`] allows
//! some kinds of faults, a few times each, and is explored to the end: [`holds`] asserts that no
//! property was violated and that the setting showed its marks; [`finds`] asserts that a deliberate
//! fault is noticed.

pub(crate) mod cases;
pub(crate) mod grantors;
mod judge;
mod known;
mod node;
mod reaction;
mod search;
pub(crate) mod setting;
mod symmetry;
mod world;

use search::{Exploration, Violation};
use setting::Setting;
use world::World;

/// Explores a setting up to `most` states, and prints its progress.
fn visit(setting: &Setting, most: usize) -> (Exploration, Option<Violation>) {
    let mut world = World::new(setting);
    let (explored, violation) = search::explore(&mut world, most);
    let (nodes, calls) = world.work();
    let Exploration { states, reached, depth, marks, .. } = &explored;
    println!(
        "{}: {states} states, reached {reached} times, at most {depth} actions deep, from {nodes} \
         states of single nodes and {calls} calls of the core; {marks:?}",
        setting.name
    );
    (explored, violation)
}

/// Asserts that a case is explored completely, violates no property, and shows its marks.
pub(crate) fn holds(case: fn(bool) -> Setting) {
    let long = std::env::var_os("TESTS_LONG").is_some();
    let most = if long { 50_000_000 } else { 5_000_000 };
    let setting = case(long);
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

/// Whether `most` states show a violation whose sentence begins with `why`; prints the shortest way
/// to it.
pub(crate) fn finds(setting: &Setting, most: usize, why: &str) -> bool {
    let Some(violation) = visit(setting, most).1 else { return false };
    println!("{} actions: {violation}", violation.steps.len());
    assert!(violation.why.starts_with(why), "{why:?} was to be seen: {}", violation.why);
    true
}
