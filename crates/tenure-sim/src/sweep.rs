//! Many worlds, over the cores of the machine.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::nerio::driver::DriverRule;
use crate::nerio::plan::{Climate, Plan};
use crate::nerio::{Counts, Town};
use crate::violation::Violation;
use crate::world::World;
use crate::world::fault::{Fault, Kind};

/// What worlds are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// The seed of the first world; the others follow.
    pub first: u64,
    /// At most so many worlds.
    pub worlds: u64,
    /// No world begins after so many events.
    pub events: u64,
    /// What they are drawn from.
    pub climate: Climate,
    /// What their drivers do wrong.
    pub broken: Option<DriverRule>,
    /// On so many threads, one world at a time on each.
    pub threads: usize,
}

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Worlds that were run to their end.
    pub worlds: u64,
    /// The seed after the last world that was begun.
    pub next: u64,
    /// Everything that happened in them.
    pub events: u64,
    /// What happened, in the words of the protocol.
    pub counts: Counts,
    /// How many of each kind of fault.
    pub faults: [u64; Kind::ALL.len()],
    /// The violation with the lowest seed.
    pub violation: Option<(u64, Violation)>,
}

/// A world of a plan.
#[must_use]
pub fn world(plan: Plan, only: Option<BTreeSet<Fault>>) -> World<Town> {
    World::new(plan.conditions.clone(), Town::new(plan), only)
}

/// Runs a world to its end. A panic of a core is a violation, too.
pub fn run(world: &mut World<Town>) -> Result<(), Violation> {
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

impl Sweep {
    /// The plan of one of its worlds.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        let plan = Plan::draw(seed, self.climate);
        match self.broken {
            Some(rule) => plan.breaking(rule),
            None => plan,
        }
    }

    /// Runs the worlds until they are done, or one of them shows a violation.
    #[must_use]
    pub fn run(&self) -> Found {
        let found = Mutex::new(Found { next: self.first, ..Found::default() });
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| while self.next(&found) {});
            }
        });
        found.into_inner().unwrap_or_default()
    }

    /// Runs one more world; false if none is wanted any more.
    fn next(&self, found: &Mutex<Found>) -> bool {
        let seed = {
            let Ok(mut found) = found.lock() else { return false };
            let done = found.next - self.first >= self.worlds || found.events >= self.events;
            if done || found.violation.is_some() {
                return false;
            }
            found.next += 1;
            found.next - 1
        };
        let mut world = world(self.plan(seed), None);
        let violation = run(&mut world).err();
        let Ok(mut found) = found.lock() else { return false };
        found.worlds += 1;
        found.events += world.events();
        found.counts.add(world.guest.counts());
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
