//! Every state of a small cluster, visited: the real cores, true time in ticks, clocks at rates of
//! their own, and every order of what can happen.
//!
//! A protocol brings a [`Cluster`]: which nodes there are, what they lose when they start again,
//! and what must hold of it alone. A [`Setting`] allows some kinds of trouble, a few times each,
//! and is explored to the end: [`holds`] says that nothing was violated and that what the setting
//! is about was seen; [`finds`] says that something which is wrong on purpose is noticed.

mod clock;
mod cluster;
mod judge;
mod known;
mod node;
mod reaction;
mod search;
mod setting;
mod symmetry;
mod world;

pub use clock::{Clock, Rate};
pub use cluster::{Cluster, Looks, NowOf};
pub use judge::{Claim, Judge, Life};
pub use node::Node;
pub use search::{Exploration, Violation};
pub use setting::{Budget, Setting};

use world::World;

/// Explores a setting up to `most` states, and prints how far that went.
pub fn visit<C: Cluster>(setting: &Setting<C>, most: usize) -> (Exploration, Option<Violation>) {
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

/// Everything that may happen happens, and nothing is violated.
///
/// # Panics
///
/// If something is, or there are more than `most` states, or what the setting is about never
/// happens.
pub fn holds<C: Cluster>(setting: &Setting<C>, most: usize) {
    let (explored, violation) = visit(setting, most);
    if let Some(violation) = violation {
        panic!("{}: {violation}", setting.name);
    }
    assert!(explored.complete, "{}: more than {most} states", setting.name);
    for mark in setting.must_show {
        let seen = explored.marks.contains_key(mark);
        assert!(seen, "{}: {mark} was never seen: nothing is proved", setting.name);
    }
}

/// Whether a violation is found among `most` states, after printing the shortest way to it.
///
/// # Panics
///
/// If it is another one than that whose sentence begins with `why`.
pub fn finds<C: Cluster>(setting: &Setting<C>, most: usize, why: &str) -> bool {
    let Some(violation) = visit(setting, most).1 else { return false };
    println!("{} actions: {violation}", violation.steps.len());
    assert!(violation.why.starts_with(why), "{why:?} was to be seen: {}", violation.why);
    true
}
