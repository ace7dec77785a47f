//! Properties that only ALLCALL has, one file each; [`promises`] checks the common properties.

mod far_clocks;
mod the_best_leads;

use super::scenario::LeasedLeaders;
use crate::scenario::{Property, Sentences, parts, promises, seconds};

type Check<'a> = crate::scenario::Check<'a, LeasedLeaders>;
type Fact<'a> = crate::scenario::Fact<'a, LeasedLeaders>;

/// Names of the common promises in ALLCALL.
pub(super) const SENTENCES: Sentences = Sentences {
    at_most_one: ("Connected nodes have at most one leader", "promise (a)"),
    no_return: ("A claim that has lapsed does not return", "ruling 2"),
    observers: ("Observers see what is", "promise (d)"),
    stability: ("A leader stays when nothing goes wrong", "ruling 2"),
    leader_in_the_end: ("Every election has a leader in the end", "promise (c)"),
    ..Sentences::NAMED
};

crate::checks! {
    /// All properties, in the order in which they see a fact.
    pub Properties of LeasedLeaders {
        parts::OneAfterAHeal,
        the_best_leads::TheBestInTheEnd,
        parts::InTime,
        far_clocks::FarClocksDoNotWin;
        promises::All
    }
}
