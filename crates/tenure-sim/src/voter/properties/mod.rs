//! Properties that only regional voters have, one file each, checked against [their promises and
//! records](super::account); [`promises`] checks the common properties.

mod claims_stand_on_promises;
mod one_endorsement;
mod promises_are_kept;
mod votes_stay;

use super::{Own, RegionalVoters};
use crate::scenario::{Property, Sentences, parts, promises, seconds};

type Check<'a> = crate::scenario::Check<'a, RegionalVoters>;
type Fact<'a> = crate::scenario::Fact<'a, RegionalVoters>;

/// Names of the common promises in regional voters.
pub(super) const SENTENCES: Sentences = Sentences {
    at_most_one: ("At most one leader", "guarantee (a)"),
    fences_grow: ("Fences increase", "guarantee (b)"),
    no_return: ("A claim that has lapsed does not return", "V6"),
    observers: ("Observers see what is", "the contract"),
    stability: ("A leader stays when nothing goes wrong", "V6"),
    leader_in_the_end: ("Every election has a leader in the end", "guarantee (c)"),
    bounded_memory: ("Memory is bounded", "guarantee (e)"),
    ..Sentences::NAMED
};

crate::checks! {
    /// All properties, in the order in which they see a fact.
    pub Properties of RegionalVoters {
        claims_stand_on_promises::ClaimsStandOnPromises,
        claims_stand_on_promises::WinnersStayed,
        promises_are_kept::PromisesAreKept,
        promises_are_kept::ReleasedAfterTheEnd,
        one_endorsement::OneEndorsement,
        votes_stay::VotesStay,
        parts::OneAfterAHeal,
        parts::InTime;
        promises::All
    }
}
