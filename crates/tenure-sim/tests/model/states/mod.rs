//! Every state of Nerio's smallest cluster, visited: the real cores, true time in ticks, clocks at
//! rates of their own, and every order of what can happen.
//!
//! [`grantors`] says which nodes there are, what they lose when they start again, and what must
//! hold. A [`Setting`] allows some kinds of trouble, a few times each, and is explored to the end:
//! [`holds`] says that nothing was violated and that what the setting is about was seen; [`finds`]
//! says that something which is wrong on purpose is noticed.

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

/// Explores a setting up to `most` states, and prints how far that went.
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

/// Everything that may happen in a case happens, nothing is violated, and the case shows what it
/// is about.
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

/// Whether a violation is found among `most` states, after printing the shortest way to it: the
/// one whose sentence begins with `why`.
pub(crate) fn finds(setting: &Setting, most: usize, why: &str) -> bool {
    let Some(violation) = visit(setting, most).1 else { return false };
    println!("{} actions: {violation}", violation.steps.len());
    assert!(violation.why.starts_with(why), "{why:?} was to be seen: {}", violation.why);
    true
}
