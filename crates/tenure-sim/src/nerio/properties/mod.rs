//! Properties of Nerio alone, one file each; [`promises`](crate::scenario::promises) has the common
//! properties, under the paper's names.

mod answers_name_memories;
mod changes_end;
mod claims_stand_on_grants;
mod clocks_apart_are_wrong;
mod durable_before_visible;
mod edict_ordering;
mod edict_validity;
mod epochs_end_once;
mod foundings_are_by_all;
mod grantors_serve;
mod grants_last;
mod heard_members_stay;
mod leaders_are_announced;
mod lost_members_return;
mod lost_memories_are_read;
mod observers_see_what_is;
mod one_bound_at_a_time;
mod one_successor;
mod orders_end_what_they_name;
mod prompt_succession;
mod quorum_timestamps_order;
mod release_ends_only_its_own;
mod release_keeps_promises;
mod rests_cover_claims;
#[cfg(test)]
mod tests;
mod verification_never_overstates;
mod weak_leaders_agree;

use tenure_core::nerio::{MemberSet, Who};

use super::disk::Disk;
use super::epochs::Held;
use super::fact::Own;
use super::plan::Plan;
use super::quorum_leases::{Details, QuorumLeases};
use super::walls::Read;
use crate::scenario::promises::{
    AtMostOne, BoundedMemory, DeadlinesPass, EventsCome, FencesGrow, HandlesAgree, LeaderInTheEnd,
    NoReturn, Observers, Sentence, Stability,
};
use crate::scenario::{Claim, Leadership, Property, Sentences, seconds};

type Check<'a> = crate::scenario::Check<'a, QuorumLeases>;
type Fact<'a> = crate::scenario::Fact<'a, QuorumLeases>;

/// A sentence that a property of every protocol and a property of Nerio alone share.
const EDICT_VALIDITY: Sentence = ("Edict Validity", "section 1");
const OBSERVERS: Sentence = ("Observers see what is", "section 10.4; settings, wire, readings");

/// Names of the common promises in Nerio.
pub(super) const SENTENCES: Sentences = Sentences {
    at_most_one: ("Leader Uniqueness", "section 1"),
    handles_agree: EDICT_VALIDITY,
    fences_grow: ("Fences strictly grow and are unique", "the scalar fence"),
    no_return: ("A fence ends with the lapse of its leadership", "the scalar fence 2"),
    observers: OBSERVERS,
    stability: ("Leader Stability", "section 1"),
    leader_in_the_end: ("Eventual Election", "section 1"),
    deadlines_pass: ("No deadline stays in the past", "the contract; I10"),
    ..Sentences::NAMED
};

crate::checks! {
    /// All properties, in the order in which they see a fact.
    pub Properties of QuorumLeases {
        AtMostOne,
        claims_stand_on_grants::ClaimsStandOnGrants,
        one_successor::OneSuccessor,
        epochs_end_once::EpochsEndOnce,
        rests_cover_claims::RestsCoverClaims,
        HandlesAgree,
        edict_validity::EdictValidity,
        edict_ordering::EdictOrdering,
        quorum_timestamps_order::QuorumTimestampsOrder,
        FencesGrow,
        NoReturn,
        verification_never_overstates::VerificationNeverOverstates,
        release_keeps_promises::ReleaseKeepsPromises,
        release_ends_only_its_own::ReleaseEndsOnlyItsOwn,
        durable_before_visible::DurableBeforeVisible,
        one_bound_at_a_time::OneBoundAtATime,
        grants_last::GrantsLast,
        answers_name_memories::AnswersNameMemories,
        lost_memories_are_read::LostMemoriesAreRead,
        foundings_are_by_all::FoundingsAreByAll,
        orders_end_what_they_name::OrdersEndWhatTheyName,
        clocks_apart_are_wrong::ClocksApartAreWrong,
        Observers,
        observers_see_what_is::ObserversSeeWhatIs,
        leaders_are_announced::LeadersAreAnnounced,
        Stability,
        LeaderInTheEnd,
        grantors_serve::GrantorsServe,
        changes_end::ChangesEnd,
        weak_leaders_agree::WeakLeadersAgree,
        lost_members_return::LostMembersReturn,
        heard_members_stay::HeardMembersStay,
        prompt_succession::PromptSuccession,
        DeadlinesPass,
        BoundedMemory,
        EventsCome,
    }
}

impl Check<'_> {
    /// Whether a grantor may remember a grant that it could not write, and so never gave.
    fn remembers_more(&self, grantor: usize) -> bool {
        let Some(at) = self.own.unwritten[grantor] else { return false };
        let config = &self.plan.nodes[grantor].config;
        let longest = config.drift.real_at_most(config.quarantine()).as_nanos() as u64;
        at + longest > self.now
    }

    /// Whether a quorum of one epoch has granted to `who` until `until` or longer. Leaves out the
    /// present grant of `except`.
    pub(super) fn is_backed(
        &self,
        election: usize,
        who: &Who,
        until: u64,
        except: Option<usize>,
    ) -> bool {
        self.is_backed_by(election, who, except, |_, finish, _| finish >= until)
    }

    /// Whether the members of a quorum of one epoch have granted to `who`, each for long enough:
    /// `lasts` judges the grantor, the end of its grant, and its clocks at the decision.
    fn is_backed_by(
        &self,
        election: usize,
        who: &Who,
        except: Option<usize>,
        lasts: impl Fn(usize, u64, Read) -> bool,
    ) -> bool {
        if let Some(epochs) = &self.own.epochs {
            let of = |grantor| {
                let epoch = epochs.of(grantor);
                Some((epoch, epochs.seat(epoch, grantor)?))
            };
            let lasts = |held: &Held| lasts(held.grantor, held.finish, held.read);
            return epochs.backs(election, who, lasts, except.and_then(of), |_| true);
        }
        let grants = self.own.grants[election].iter();
        let held = grants.filter(|(grantor, grant)| {
            let lasts = || lasts(**grantor, grant.finish, grant.read);
            Some(**grantor) != except && grant.to == *who && lasts()
        });
        let held: MemberSet = held.map(|(grantor, _)| self.plan.place(*grantor)).collect();
        self.plan.membership().quorums().is_quorum(held)
    }

    /// The grantors whose grants to `who` last until `until`, for people.
    pub(super) fn backers(&self, election: usize, who: &Who, until: u64) -> String {
        let name = |node: &usize| self.name(*node);
        let grants = self.own.grants[election].iter();
        let of = grants.filter(|(_, grant)| grant.to == *who && grant.finish >= until);
        let names: Vec<&str> = of.map(|(node, _)| name(node)).collect();
        format!("{{{}}}", names.join(" "))
    }
}
