//! What must hold, one file each, named after the sentence that it checks.
//!
//! A property sees every [`Fact`] before it is written into the [`Ledger`], and says what must
//! not be, with what it saw. It judges in true time and by what is in the store, which no process
//! knows.

mod a_claim_ends_before_its_key;
mod a_claim_never_lapses_and_returns;
mod at_most_one_leader;
mod bounded_memory;
mod claims_are_proven;
mod claims_stand_on_their_lease;
mod deadlines_pass;
mod eventual_leader;
mod fences_grow;
mod few_keep_alives;
mod few_requests;
mod gaps_are_told;
mod gone_leases;
mod handles_agree;
mod keys_of_their_campaign;
mod lives;
mod losses_stay_apart;
mod moves_get_on;
mod no_claim_on_older_state;
mod nothing_left_behind;
mod observers_see_what_is;
mod one_wake_up;
mod sound_requests;
mod stability;
mod values_are_what_was_said;
mod waits_look_again;
mod watches_follow_answers;
mod what_is_released_is_gone;
mod who_is_first_leads;
mod who_is_idle_left_no_lease;
mod who_waits_says_so;
mod wins_are_confirmed;

use tenure_core::etcd::{Act, Bytes, Txn};

use super::app::App;
use super::fact::Fact;
use super::ledger::{Annals, Leadership, Ledger};
use super::plan::Plan;
use super::store::note::Cause;
use crate::violation::Violation;

/// What a property may look at.
pub(super) struct Court<'a> {
    /// True time.
    pub(super) now: u64,
    /// What the world is like.
    pub(super) plan: &'a Plan,
    /// What was before.
    pub(super) ledger: &'a Ledger,
    /// What the applications hold and want.
    pub(super) apps: &'a [App],
}

impl Court<'_> {
    /// The annals of an election.
    fn annals(&self, election: usize) -> &Annals {
        &self.ledger.annals[election]
    }

    /// The name of an election.
    fn election(&self, election: usize) -> &str {
        self.plan.elections[election].as_str()
    }

    /// The name of a node.
    fn name(&self, node: usize) -> &str {
        &self.plan.nodes[node].name
    }

    /// Whether a key was taken away since then by somebody who may, or the store went back: that
    /// is outside the promise.
    fn is_robbed(&self, key: &Bytes, since: u64) -> bool {
        let taken = self.ledger.gone.get(key);
        let taken = taken.is_some_and(|(at, cause)| *at >= since && is_foul(*cause));
        taken || self.ledger.went_back(since)
    }
}

/// Whether a key or lease that went for this cause was taken away against the promise.
const fn is_foul(cause: Cause) -> bool {
    matches!(cause, Cause::Meddled)
}

/// The keys that a transaction moves.
fn moved(txn: &Txn) -> impl Iterator<Item = &Bytes> {
    txn.then.iter().filter(|act| matches!(act, Act::Move { .. })).map(Act::key)
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

    /// Before the world begins.
    fn new(plan: &Plan) -> Self;

    /// Judges a fact.
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String>;
}

macro_rules! properties {
    ($($file:ident :: $name:ident),+ $(,)?) => {
        /// All properties, with what each remembers.
        #[derive(Debug)]
        #[allow(non_snake_case)]
        pub(super) struct Properties { $($file: $file::$name),+ }

        impl Properties {
            pub(super) fn new(plan: &Plan) -> Self {
                Self { $($file: $file::$name::new(plan)),+ }
            }

            // Inlined with all that it asks: where a fact is told its kind is known, and those who
            // do not judge that kind cost nothing.
            #[inline(always)]
            pub(super) fn see(
                &mut self,
                court: &Court<'_>,
                fact: Fact<'_>,
            ) -> Result<(), Box<Violation>> {
                $(
                    self.$file.see(court, &{ fact }).map_err(|said| {
                        let property = <$file::$name as Property>::NAME;
                        let source = <$file::$name as Property>::SOURCE;
                        Box::new(Violation { property, source, at: court.now, said })
                    })?;
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
    at_most_one_leader::AtMostOneLeader,
    claims_stand_on_their_lease::ClaimsStandOnTheirLease,
    claims_are_proven::ClaimsAreProven,
    wins_are_confirmed::WinsAreConfirmed,
    a_claim_ends_before_its_key::AClaimEndsBeforeItsKey,
    a_claim_never_lapses_and_returns::AClaimNeverLapsesAndReturns,
    handles_agree::HandlesAgree,
    fences_grow::FencesGrow,
    losses_stay_apart::LossesStayApart,
    no_claim_on_older_state::NoClaimOnOlderState,
    gone_leases::GoneLeases,
    keys_of_their_campaign::KeysOfTheirCampaign,
    sound_requests::SoundRequests,
    few_requests::FewRequests,
    watches_follow_answers::WatchesFollowAnswers,
    moves_get_on::MovesGetOn,
    one_wake_up::OneWakeUp,
    what_is_released_is_gone::WhatIsReleasedIsGone,
    who_is_idle_left_no_lease::WhoIsIdleLeftNoLease,
    nothing_left_behind::NothingLeftBehind,
    observers_see_what_is::ObserversSeeWhatIs,
    gaps_are_told::GapsAreTold,
    waits_look_again::WaitsLookAgain,
    who_waits_says_so::WhoWaitsSaysSo,
    values_are_what_was_said::ValuesAreWhatWasSaid,
    stability::Stability,
    who_is_first_leads::WhoIsFirstLeads,
    eventual_leader::EventualLeader,
    few_keep_alives::FewKeepAlives,
    deadlines_pass::DeadlinesPass,
    bounded_memory::BoundedMemory,
}
