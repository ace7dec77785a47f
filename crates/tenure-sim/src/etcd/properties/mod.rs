//! Properties of elections on etcd alone, one file each, judged by the contents of the store, which
//! no process knows. [`promises`](crate::scenario::promises) has the common properties.

mod a_claim_ends_before_its_key;
mod claims_stand_on_their_lease;
mod fences_have_room;
mod first_candidates_lead;
mod lives;
mod losses_stay_apart;
mod no_claim_on_older_state;
mod no_lease_is_lost;
mod nothing_left_behind;
mod observers_see_what_is;
mod one_wake_up;
mod values_are_what_was_said;
mod what_is_released_is_gone;
mod wins_are_confirmed;

use tenure_core::etcd::Bytes;

use super::elections::Elections;
use super::fact::Own;
use super::plan::Plan;
use super::records::{Details, Records};
use super::store::note::Cause;
use crate::scenario::promises::{
    AtMostOne, BoundedMemory, DeadlinesPass, EventsCome, FencesGrow, HandlesAgree, LeaderInTheEnd,
    NoReturn, Observers, Sentence, Stability,
};
use crate::scenario::{Claim, Property, Sentences, seconds};

type Check<'a> = crate::scenario::Check<'a, Elections>;
type Fact<'a> = crate::scenario::Fact<'a, Elections>;
type Leadership = crate::scenario::Leadership<Details>;

/// A sentence that a property of every protocol and a property of etcd alone share. The next
/// sentences are shared, too.
const FENCES: Sentence = ("Fences strictly grow and are unique", "the promise; ruling 8 (E7)");
const OBSERVERS: Sentence = ("Observers see what is", "ruling 9 (E8)");
const NO_LEASE_IS_LOST: Sentence =
    ("No lease is lost in calm worlds", "ruling 3 (E2): renewed at a third of its length");

/// Names of the common promises in elections on etcd.
pub(super) const SENTENCES: Sentences = Sentences {
    no_return: ("A claim that has lapsed does not return", "ruling 3 (E2)"),
    fences_grow: FENCES,
    observers: OBSERVERS,
    stability: NO_LEASE_IS_LOST,
    leader_in_the_end: (
        "Every election has a leader in the end",
        "rulings 1 and 7: nothing waits for ever",
    ),
    ..Sentences::NAMED
};

crate::checks! {
    /// All properties, in the order in which they see a fact.
    pub Properties of Elections {
        AtMostOne,
        claims_stand_on_their_lease::ClaimsStandOnTheirLease,
        wins_are_confirmed::WinsAreConfirmed,
        a_claim_ends_before_its_key::AClaimEndsBeforeItsKey,
        NoReturn,
        HandlesAgree,
        FencesGrow,
        fences_have_room::FencesHaveRoom,
        losses_stay_apart::LossesStayApart,
        no_claim_on_older_state::NoClaimOnOlderState,
        one_wake_up::OneWakeUp,
        what_is_released_is_gone::WhatIsReleasedIsGone,
        nothing_left_behind::NothingLeftBehind,
        observers_see_what_is::ObserversSeeWhatIs,
        Observers,
        values_are_what_was_said::ValuesAreWhatWasSaid,
        no_lease_is_lost::NoLeaseIsLost,
        Stability,
        first_candidates_lead::FirstCandidatesLead,
        LeaderInTheEnd,
        DeadlinesPass,
        BoundedMemory,
        EventsCome,
    }
}

impl Check<'_> {
    fn records(&self) -> &Records {
        &self.own.records
    }

    /// Whether this is the life of a running node.
    fn runs(&self, node: usize, life: u64) -> bool {
        self.history.lives[node].is_some_and(|runs| runs as u64 == life)
    }

    /// Whether an authorized stranger has removed a key since `since`, or the store went back: both
    /// are outside the promise.
    fn is_robbed(&self, key: &Bytes, since: u64) -> bool {
        let taken = self.records().gone.get(key);
        let taken = taken.is_some_and(|(at, cause)| *at >= since && is_foul(*cause));
        taken || self.records().went_back(since)
    }
}

/// Whether this cause removes a key or lease outside the promise.
const fn is_foul(cause: Cause) -> bool {
    matches!(cause, Cause::Meddled)
}
