//! Properties that only NELE has, one file each; [`promises`] checks the common properties.

mod claims_are_proven;
mod no_gap;
mod shown_vacancies;
mod vacancies;
mod within_t;

use super::scenario::{Emergence, Own};
use crate::scenario::{Property, Sentences, promises};

type Check<'a> = crate::scenario::Check<'a, Emergence>;
type Fact<'a> = crate::scenario::Fact<'a, Emergence>;

/// Names of the common promises in NELE.
pub(super) const SENTENCES: Sentences = Sentences {
    at_most_one: ("At most one process of a group leads a role", "guarantee (a)"),
    fences_grow: ("Fences strictly grow and are unique", "guarantee (b)"),
    no_return: ("A claim that has lapsed does not return", "N1"),
    observers: ("Observers see what is", "the module document"),
    stability: ("A leader stays when nothing goes wrong", "guarantee (c), ruling 8"),
    leader_in_the_end: ("Every election has a leader in the end", "S1"),
    ..Sentences::NAMED
};

crate::checks! {
    /// All properties, in the order in which they see a fact.
    pub Properties of Emergence {
        claims_are_proven::ClaimsAreProven,
        shown_vacancies::ShownVacancies,
        within_t::WithinT,
        no_gap::NoGap,
        vacancies::Vacancies;
        promises::All
    }
}
