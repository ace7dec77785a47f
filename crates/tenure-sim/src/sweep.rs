//! Many worlds, over the cores of the machine.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::timeline::{Lane, Span};
use crate::violation::Violation;
use crate::world::conditions::Conditions;
use crate::world::fault::{Fault, Kind};
use crate::world::{Guest, World};

/// What worlds of one protocol are drawn from, and how they are told to people.
pub trait Source: Copy + Sync {
    /// A world that is about to begin.
    type Plan: Clone + Display;
    /// Who lives in it.
    type Guest: Guest<Wrong = Box<Violation>>;
    /// How much has happened, in the words of the protocol.
    type Counts: Clone + Default + Debug + Send;

    /// What it is called on the command line.
    const NAME: &'static str;

    /// The plan of a seed.
    fn plan(&self, seed: u64) -> Self::Plan;

    /// Everything of a plan that does not depend on the protocol.
    fn conditions(plan: &Self::Plan) -> Conditions;

    /// A guest that has not moved in.
    fn guest(plan: Self::Plan) -> Self::Guest;

    /// One that keeps shapes for a picture.
    fn drawn(guest: Self::Guest) -> Self::Guest;

    /// The shapes.
    fn spans(guest: &mut Self::Guest) -> Vec<Span>;

    /// Adds what has happened.
    fn count(guest: &Self::Guest, counts: &mut Self::Counts);

    /// The nodes, for a picture.
    fn lanes(plan: &Self::Plan) -> Vec<Lane>;

    /// What addresses are called by people.
    fn names(plan: &Self::Plan) -> Vec<(String, String)>;

    /// What has happened, a line each.
    fn told(counts: &Self::Counts) -> Vec<String>;

    /// What ended of processes, in a few words.
    fn ends(counts: &Self::Counts) -> String;

    /// What else the command that shows a world again needs to be told.
    fn flags(&self) -> &'static str {
        ""
    }
}

/// What worlds are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<S> {
    /// The seed of the first world; the others follow.
    pub first: u64,
    /// At most so many worlds.
    pub worlds: u64,
    /// No world begins after so many events.
    pub events: u64,
    /// What they are drawn from.
    pub source: S,
    /// On so many threads, one world at a time on each.
    pub threads: usize,
}

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub struct Found<C> {
    /// Worlds that were run to their end.
    pub worlds: u64,
    /// The seed after the last world that was begun.
    pub next: u64,
    /// Everything that happened in them.
    pub events: u64,
    /// What happened, in the words of the protocol.
    pub counts: C,
    /// How many of each kind of fault.
    pub faults: [u64; Kind::ALL.len()],
    /// The violation with the lowest seed.
    pub violation: Option<(u64, Violation)>,
}

/// A world of a plan.
#[must_use]
pub fn world<S: Source>(plan: S::Plan, only: Option<BTreeSet<Fault>>) -> World<S::Guest> {
    World::new(S::conditions(&plan), S::guest(plan), only)
}

/// Runs a world to its end. A panic of a core is a violation, too.
pub fn run<G: Guest<Wrong = Box<Violation>>>(world: &mut World<G>) -> Result<(), Violation> {
    match catch_unwind(AssertUnwindSafe(|| world.run())) {
        Ok(done) => done.map_err(|violation| *violation),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(Violation {
                property: "Nothing panics",
                source: "the contract",
                at: world.now(),
                said: text.unwrap_or_else(|| "a panic".to_owned()),
            })
        }
    }
}

impl<S: Source> Sweep<S> {
    /// Runs the worlds until they are done, or one of them shows a violation.
    #[must_use]
    pub fn run(&self) -> Found<S::Counts> {
        let found = Mutex::new(Found { next: self.first, ..Found::default() });
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| while self.next(&found) {});
            }
        });
        found.into_inner().unwrap_or_default()
    }

    /// Runs one more world; false if none is wanted any more.
    fn next(&self, found: &Mutex<Found<S::Counts>>) -> bool {
        let seed = {
            let Ok(mut found) = found.lock() else { return false };
            let done = found.next - self.first >= self.worlds || found.events >= self.events;
            if done || found.violation.is_some() {
                return false;
            }
            found.next += 1;
            found.next - 1
        };
        let mut world = world::<S>(self.source.plan(seed), None);
        let violation = run(&mut world).err();
        let Ok(mut found) = found.lock() else { return false };
        found.worlds += 1;
        found.events += world.events();
        S::count(&world.guest, &mut found.counts);
        for (all, this) in found.faults.iter_mut().zip(world.fate().counts()) {
            *all += this;
        }
        if let Some(violation) = violation
            && found.violation.as_ref().is_none_or(|(earlier, _)| seed < *earlier)
        {
            found.violation = Some((seed, violation));
        }
        true
    }
}
