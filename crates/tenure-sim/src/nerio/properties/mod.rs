//! What must hold, one file each, named after the sentence that it checks.
//!
//! A property sees every [`Fact`] before it is written into the [`Ledger`], and says what must
//! not be, with what it saw. It judges in true time, which no node knows.

mod bounded_memory;
mod candidates_ask_in_order;
mod claims_stand_on_grants;
mod deadlines_pass;
mod durable_before_visible;
mod edict_ordering;
mod edict_validity;
mod eventual_election;
mod failures_are_said;
mod fence_ends_at_a_lapse;
mod fence_reads_tell_all;
mod fences_grow;
mod grantors_serve;
mod grants_last;
mod grants_to_the_dead;
mod leader_stability;
mod leader_uniqueness;
mod leaving_is_told;
mod names_are_reported;
mod observers_say_what_they_heard;
mod observers_see_what_is;
mod places;
mod prompt_succession;
mod quarantines_last;
mod quorum_timestamps_order;
mod release_ends_only_its_own;
mod release_keeps_promises;
mod starts_in_order;
mod verification_is_answered;
mod verification_never_overstates;
mod waiting_is_so;
mod who_waits;
mod yields_are_due;

use tenure_core::ElectionName;

use super::fact::Fact;
use super::ledger::{Annals, Ledger};
use super::plan::Plan;
use crate::violation::Violation;

/// What a property may look at.
pub struct Court<'a> {
    /// True time.
    pub now: u64,
    /// What the world is like.
    pub plan: &'a Plan,
    /// What was before.
    pub ledger: &'a Ledger,
    /// Whether an application wants to lead an election.
    pub contended: &'a dyn Fn(usize) -> bool,
}

impl Court<'_> {
    /// The annals of an election.
    fn annals(&self, election: usize) -> &Annals {
        &self.ledger.annals[election]
    }

    /// Which election has this name.
    fn number(&self, name: &ElectionName) -> Option<usize> {
        self.plan.elections.iter().position(|election| election == name)
    }

    /// The name of an election.
    fn election(&self, election: usize) -> &str {
        self.plan.elections[election].as_str()
    }

    /// How the clock of a node runs, for people.
    fn clock(&self, node: usize) -> String {
        let site = &self.plan.conditions.sites[node];
        let rate = site.clock.rate(self.now) as f64 / crate::world::clock::TRUE_RATE as f64;
        format!("clock of {} at {rate:.4}", site.name)
    }

    /// Whether a grantor may remember a grant that it could not write, and so never gave.
    fn remembers_more(&self, grantor: usize) -> bool {
        let Some(at) = self.ledger.unwritten[grantor] else { return false };
        let config = &self.plan.nodes[grantor].config;
        let longest = config.drift.real_at_most(config.quarantine()).as_nanos() as u64;
        at + longest > self.now
    }

    /// The grantors whose grants to `who` last until `until`, for people.
    fn backers(&self, election: usize, who: &tenure_core::nerio::Who, until: u64) -> String {
        let name = |node: &usize| self.plan.nodes[*node].name.to_string();
        let grants = self.annals(election).grants.iter();
        let of = grants.filter(|(_, grant)| grant.to == *who && grant.finish >= until);
        let names: Vec<String> = of.map(|(node, _)| name(node)).collect();
        format!("{{{}}}", names.join(" "))
    }
}

/// True time as people read it.
fn seconds(at: u64) -> String {
    format!("{:.6} s", at as f64 / 1e9)
}

/// One sentence that must hold.
trait Property {
    /// The sentence.
    const NAME: &'static str;
    /// Where it is written.
    const SOURCE: &'static str;
    /// Whether it needs clocks that keep to ρ.
    const NEEDS_BOUND: bool = true;

    /// Before the world begins.
    fn new(plan: &Plan) -> Self;

    /// Judges a fact.
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String>;
}

/// What must not be, and is. Cold, and so is all that leads here: out of the way of what is right.
#[cold]
#[inline(never)]
fn wrong<P: Property>(at: u64, said: String) -> Box<Violation> {
    Box::new(Violation { property: P::NAME, source: P::SOURCE, at, said })
}

macro_rules! properties {
    ($($file:ident :: $name:ident),+ $(,)?) => {
        /// All properties, with what each remembers.
        #[derive(Debug)]
        #[allow(non_snake_case)]
        pub(super) struct Properties { bounded: bool, $($file: $file::$name),+ }

        impl Properties {
            pub(super) fn new(plan: &Plan) -> Self {
                Self { bounded: plan.bounded, $($file: $file::$name::new(plan)),+ }
            }

            // Inlined with all that it asks: where a fact is told its kind is known, and those who
            // do not judge that kind cost nothing. Facts go by value: where the address of one is
            // handed on, each property would copy it and look at its kind anew.
            #[inline(always)]
            pub(super) fn see(
                &mut self,
                court: &Court<'_>,
                fact: Fact<'_>,
            ) -> Result<(), Box<Violation>> {
                $(
                    if self.bounded || !<$file::$name as Property>::NEEDS_BOUND {
                        let seen = self.$file.see(court, fact);
                        seen.map_err(|said| wrong::<$file::$name>(court.now, said))?;
                    }
                )+
                Ok(())
            }
        }

        /// The name and the source of each property.
        pub const ALL: &[(&str, &str)] = &[
            $((<$file::$name as Property>::NAME, <$file::$name as Property>::SOURCE)),+
        ];
    };
}

properties! {
    leader_uniqueness::LeaderUniqueness,
    claims_stand_on_grants::ClaimsStandOnGrants,
    edict_validity::EdictValidity,
    edict_ordering::EdictOrdering,
    quorum_timestamps_order::QuorumTimestampsOrder,
    fences_grow::FencesGrow,
    fence_reads_tell_all::FenceReadsTellAll,
    fence_ends_at_a_lapse::FenceEndsAtALapse,
    verification_never_overstates::VerificationNeverOverstates,
    verification_is_answered::VerificationIsAnswered,
    release_keeps_promises::ReleaseKeepsPromises,
    release_ends_only_its_own::ReleaseEndsOnlyItsOwn,
    durable_before_visible::DurableBeforeVisible,
    grants_to_the_dead::GrantsToTheDead,
    grants_last::GrantsLast,
    quarantines_last::QuarantinesLast,
    starts_in_order::StartsInOrder,
    failures_are_said::FailuresAreSaid,
    candidates_ask_in_order::CandidatesAskInOrder,
    names_are_reported::NamesAreReported,
    who_waits::WhoWaits,
    yields_are_due::YieldsAreDue,
    observers_see_what_is::ObserversSeeWhatIs,
    observers_say_what_they_heard::ObserversSayWhatTheyHeard,
    leaving_is_told::LeavingIsTold,
    waiting_is_so::WaitingIsSo,
    leader_stability::LeaderStability,
    eventual_election::EventualElection,
    grantors_serve::GrantorsServe,
    prompt_succession::PromptSuccession,
    deadlines_pass::DeadlinesPass,
    bounded_memory::BoundedMemory,
}
