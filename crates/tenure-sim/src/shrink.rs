//! Makes a failure small: the same violation with as few faults as possible.

use std::collections::BTreeSet;

use crate::sweep::{Source, run, world};
use crate::violation::Violation;
use crate::world::fault::{Fault, Kind};

/// A failure, and the faults that the failure needs.
#[derive(Clone, Debug)]
pub struct SmallFailure {
    /// Faults and commands of the smaller failure; no others strike.
    pub only: BTreeSet<Fault>,
    pub violation: Violation,
    /// Number of faults and commands before shrinking.
    pub before: usize,
    /// Number of tried worlds.
    pub tried: usize,
}

struct Shrinker<'a, S> {
    source: &'a S,
    seed: u64,
    /// Faults in the order in which they struck.
    kept: Vec<Fault>,
    violation: Violation,
    tried: usize,
    /// Remaining budget of events.
    events: u64,
}

/// Removes faults from the world of `seed` as long as the same property is still violated, the
/// earliest faults first, within about `events` events.
#[must_use]
pub fn shrink<S: Source>(source: &S, seed: u64, violation: Violation, events: u64) -> SmallFailure {
    let mut first = world::<S::Scenario>(source.plan(seed), None);
    let _ = run(&mut first);
    let kept: Vec<Fault> = first.fate().struck().iter().map(|(_, fault)| *fault).collect();
    let before = kept.len();
    let mut this = Shrinker { source, seed, kept, violation, tried: 0, events };
    for kind in Kind::ALL {
        this.without(|fault| fault.kind == kind);
    }
    this.halve();
    let Shrinker { kept, violation, tried, .. } = this;
    SmallFailure { only: kept.into_iter().collect(), violation, before, tried }
}

impl<S: Source> Shrinker<'_, S> {
    /// Removes the faults that `drop` names, if the violation stays.
    fn without(&mut self, drop: impl Fn(&Fault) -> bool) -> bool {
        let rest: Vec<Fault> = self.kept.iter().copied().filter(|fault| !drop(fault)).collect();
        rest.len() < self.kept.len() && self.holds(rest)
    }

    fn holds(&mut self, faults: Vec<Fault>) -> bool {
        if self.events == 0 {
            return false;
        }
        self.tried += 1;
        let only = faults.iter().copied().collect();
        let mut world = world::<S::Scenario>(self.source.plan(self.seed), Some(only));
        let done = run(&mut world);
        self.events = self.events.saturating_sub(world.events());
        match done {
            Err(violation) if violation.resembles(&self.violation) => {
                // Keep only faults that have struck before the violation.
                let struck: BTreeSet<Fault> =
                    world.fate().struck().iter().map(|(_, fault)| *fault).collect();
                self.kept = faults.into_iter().filter(|fault| struck.contains(fault)).collect();
                self.violation = violation;
                true
            }
            _ => false,
        }
    }

    /// Removes ever smaller pieces, down to single faults, until none can be removed.
    fn halve(&mut self) {
        let mut size = self.kept.len().div_ceil(2);
        while size > 0 && self.events > 0 {
            let mut at = 0;
            let mut shrunk = false;
            while at < self.kept.len() && self.events > 0 {
                let mut rest = self.kept.clone();
                rest.drain(at..(at + size).min(rest.len()));
                if self.holds(rest) {
                    shrunk = true;
                } else {
                    at += size;
                }
            }
            if size == 1 && !shrunk {
                break;
            }
            size = if size == 1 { 1 } else { size / 2 };
        }
    }
}
