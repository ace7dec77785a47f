//! Runs many worlds on the cores of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::scenario::{Counts, PlanOf, Run, Scenario};
use crate::violation::Violation;
use crate::world::fault::{Fault, Kind};
use crate::world::{System, World};

/// The source of a protocol's worlds.
pub trait Source: Copy + Sync {
    type Scenario: Scenario;

    /// Name on the command line.
    const NAME: &'static str;

    fn plan(&self, seed: u64) -> PlanOf<Self::Scenario>;

    /// Other flags of the command that replays a world.
    fn flags(&self) -> String {
        format!(" --protocol {}", Self::NAME)
    }

    /// The same source with clocks beyond their bound; `None` if the source has no such worlds.
    #[must_use]
    fn with_broken_clocks(self) -> Option<Self> {
        None
    }
}

/// Declares worlds that follow from a seed: the scenario, its name on the command line, and the
/// function that draws a plan.
#[macro_export]
macro_rules! worlds {
    ($(#[$of:meta])* $scenario:ty, $name:literal, $draw:path) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Worlds;

        impl $crate::sweep::Source for Worlds {
            type Scenario = $scenario;

            const NAME: &'static str = $name;

            fn plan(&self, seed: u64) -> $crate::scenario::PlanOf<$scenario> {
                $draw(seed)
            }
        }
    };
}

/// Event counts in worlds of a source.
pub type CountsOf<S> = Counts<<<S as Source>::Scenario as Scenario>::Counts>;

/// A sweep over worlds.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<S> {
    /// Seed of the first world; the others follow.
    pub first: u64,
    /// Largest number of worlds.
    pub worlds: u64,
    /// No world begins after this many events.
    pub events: u64,
    pub source: S,
    /// Number of threads, with one world at a time on each.
    pub threads: usize,
}

/// The outcome of a sweep, the same on any number of threads.
#[derive(Clone, Debug, Default)]
pub struct Outcome<C> {
    /// Number of worlds that ran to their end.
    pub worlds: u64,
    /// Seed after the last of these worlds.
    pub next: u64,
    pub events: u64,
    pub counts: C,
    pub faults: [u64; Kind::ALL.len()],
    /// The violation with the lowest seed.
    pub violation: Option<(u64, Violation)>,
}

/// The result of a world.
struct WorldOutcome<C> {
    events: u64,
    counts: C,
    faults: [u64; Kind::ALL.len()],
    violation: Option<Violation>,
}

/// The progress of all threads.
struct Progress<C> {
    found: Outcome<C>,
    /// Seed of the next world.
    begins: u64,
    /// Results of worlds that ended earlier than a world with a lower seed.
    early: BTreeMap<u64, WorldOutcome<C>>,
}

#[must_use]
pub fn world<S: Scenario>(plan: PlanOf<S>, only: Option<BTreeSet<Fault>>) -> World<Run<S>> {
    World::new(plan.conditions.clone(), Run::new(plan), only)
}

/// Runs a world to its end. A panic of a core also counts as a violation.
pub fn run<G: System<Violation = Box<Violation>>>(world: &mut World<G>) -> Result<(), Violation> {
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
    /// Runs the worlds until all are done, or one shows a violation.
    #[must_use]
    pub fn run(&self) -> Outcome<CountsOf<S>> {
        self.run_telling(|_| {})
    }

    /// Like `run`, and passes the findings so far to `tell` after each world.
    #[must_use]
    pub fn run_telling(&self, tell: impl Fn(&Outcome<CountsOf<S>>) + Sync) -> Outcome<CountsOf<S>> {
        let found = Outcome { next: self.first, ..Outcome::default() };
        let progress = Progress { found, begins: self.first, early: BTreeMap::new() };
        let progress = Mutex::new(progress);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| while self.next(&progress, &tell) {});
            }
        });
        progress.into_inner().map(|progress| progress.found).unwrap_or_default()
    }

    /// Runs one more world; returns false when no further world is wanted.
    fn next(
        &self,
        progress: &Mutex<Progress<CountsOf<S>>>,
        tell: &impl Fn(&Outcome<CountsOf<S>>),
    ) -> bool {
        let seed = {
            let Ok(mut progress) = progress.lock() else { return false };
            let all = progress.begins - self.first >= self.worlds;
            if all || self.is_over(&progress.found) {
                return false;
            }
            progress.begins += 1;
            progress.begins - 1
        };
        let mut world = world::<S::Scenario>(self.source.plan(seed), None);
        let violation = run(&mut world).err();
        let events = world.events();
        let faults = *world.fate().counts();
        let ran = WorldOutcome { events, counts: world.system.counts, faults, violation };
        let Ok(mut progress) = progress.lock() else { return false };
        let Progress { found, early, .. } = &mut *progress;
        early.insert(seed, ran);
        // Count worlds in the order of their seeds, so that the speed of threads changes no result.
        while !self.is_over(found)
            && let Some(ran) = early.remove(&found.next)
        {
            found.worlds += 1;
            found.events += ran.events;
            found.counts.add(&ran.counts);
            for (all, this) in found.faults.iter_mut().zip(ran.faults) {
                *all += this;
            }
            found.violation = ran.violation.map(|violation| (found.next, violation));
            found.next += 1;
            tell(found);
        }
        true
    }

    /// Whether the finished worlds suffice.
    fn is_over(&self, found: &Outcome<CountsOf<S>>) -> bool {
        found.events >= self.events || found.violation.is_some()
    }
}
