//! Properties: their view of a world, and lists of them as one type.

use std::fmt::Debug;

use super::app::App;
use super::fact::Fact;
use super::history::{History, Leadership, Past};
use super::{PlanOf, Scenario};
use crate::violation::Violation;
use crate::world::clock::TRUE_RATE;

/// State that a property may read, in true time. No node knows this state.
#[derive(Debug)]
pub struct Check<'a, S: Scenario> {
    pub now: u64,
    pub plan: &'a PlanOf<S>,
    pub history: &'a History<S::Details>,
    pub apps: &'a [App],
    pub own: &'a S,
}

impl<'a, S: Scenario> Check<'a, S> {
    #[must_use]
    pub fn past(&self, election: usize) -> &'a Past<S::Details> {
        &self.history.elections[election]
    }

    #[must_use]
    pub fn election(&self, election: usize) -> &'a str {
        self.plan.elections[election].as_str()
    }

    #[must_use]
    pub fn name(&self, node: usize) -> &'a str {
        &self.plan.conditions.sites[node].name
    }

    /// The rate of a node's clock, for people.
    #[must_use]
    pub fn clock(&self, node: usize) -> String {
        let site = &self.plan.conditions.sites[node];
        let rate = site.clock.rate(self.now) as f64 / TRUE_RATE as f64;
        format!("clock of {} at {rate:.4}", site.name)
    }

    /// Whether claims end on wall clocks as well, so that a step of a wall clock moves the ends.
    #[must_use]
    pub fn compares_wall(&self) -> bool {
        S::compares_wall(self.plan)
    }

    /// The last leadership that a claim continues.
    #[inline]
    pub fn own(&self, claim: &super::Claim) -> Option<&'a Leadership<S::Details>> {
        let leaderships = self.past(claim.election).leaderships.iter();
        leaderships.rev().find(|led| self.own.continues(led, claim))
    }
}

/// True time for people.
#[must_use]
pub fn seconds(at: u64) -> String {
    format!("{:.6} s", at as f64 / 1e9)
}

/// A sentence that must hold.
pub trait Property<S: Scenario>: Debug + Default {
    const NAME: &'static str;
    /// The place of the sentence in its source, such as `ruling 4`.
    const SOURCE: &'static str;
    /// Whether the property needs clocks that keep to their bound.
    const NEEDS_BOUND: bool = true;

    /// Initializes the property before the world begins.
    fn begin(&mut self, _plan: &PlanOf<S>) {}

    /// Checks a fact before it is written into the history. An error describes the violation.
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String>;
}

/// A list of properties, made by [`checks!`](crate::checks).
pub trait Checks<S: Scenario>: Debug {
    /// Creates the list before the world begins.
    fn new(plan: &PlanOf<S>) -> Self;

    /// Passes a fact to each property in turn.
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), Box<Violation>>;

    /// The name and the source of each property.
    fn names() -> Vec<(&'static str, &'static str)>;
}

/// A list of properties as one type: `all![One, Another; Rest]`, where `Rest` is such a list.
#[macro_export]
macro_rules! all {
    ($first:ty $(, $next:ty)* $(; $rest:ty)? $(,)?) => {
        ($first, $crate::all!($($next),* $(; $rest)?))
    };
    (; $rest:ty) => { $rest };
    () => { () };
}

/// Declares the properties of a scenario, in the order in which they see a fact, and after a
/// semicolon a list of others, such as [`promises::All`](super::promises::All).
#[macro_export]
macro_rules! checks {
    ($(#[$of:meta])* $visible:vis $name:ident of $scenario:ty {
        $($property:ty),+ $(; $rest:ty)? $(,)?
    }) => {
        $(#[$of])*
        #[derive(Debug)]
        $visible struct $name($crate::all![$($property),+ $(; $rest)?]);

        impl $crate::scenario::Checks<$scenario> for $name {
            fn new(plan: &$crate::scenario::PlanOf<$scenario>) -> Self {
                Self($crate::scenario::Checks::<$scenario>::new(plan))
            }

            #[inline(always)]
            fn see(
                &mut self,
                check: &$crate::scenario::Check<'_, $scenario>,
                fact: $crate::scenario::Fact<'_, $scenario>,
            ) -> $crate::scenario::Verdict {
                self.0.see(check, fact)
            }

            fn names() -> Vec<(&'static str, &'static str)> {
                type All = $crate::all![$($property),+ $(; $rest)?];
                <All as $crate::scenario::Checks<$scenario>>::names()
            }
        }
    };
}

impl<S: Scenario> Checks<S> for () {
    fn new(_: &PlanOf<S>) -> Self {}

    #[inline(always)]
    fn see(&mut self, _: &Check<'_, S>, _: Fact<'_, S>) -> Result<(), Box<Violation>> {
        Ok(())
    }

    fn names() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// Makes a violation. This function and its callers up to the properties are cold, so that the
/// usual path stays short.
#[cold]
#[inline(never)]
fn wrong<S: Scenario, P: Property<S>>(at: u64, said: String) -> Box<Violation> {
    Box::new(Violation { property: P::NAME, source: P::SOURCE, at, said })
}

impl<S: Scenario, P: Property<S>, Rest: Checks<S>> Checks<S> for (P, Rest) {
    fn new(plan: &PlanOf<S>) -> Self {
        let mut first = P::default();
        first.begin(plan);
        (first, Rest::new(plan))
    }

    // Inlined with all its calls: the kind of a fact is known where the fact is made, so properties
    // that do not check this kind cost nothing. Facts are passed by value: otherwise each property
    // would copy the fact and read its kind again.
    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), Box<Violation>> {
        if check.plan.bounded || !P::NEEDS_BOUND {
            self.0.see(check, fact).map_err(|said| wrong::<S, P>(check.now, said))?;
        }
        self.1.see(check, fact)
    }

    fn names() -> Vec<(&'static str, &'static str)> {
        let mut names = vec![(P::NAME, P::SOURCE)];
        names.extend(Rest::names());
        names
    }
}
