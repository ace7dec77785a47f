//! What must hold, one file each, named after the sentence that it checks.
//!
//! What every protocol promises is judged by [`promises`]; here is what only ALLCALL has: its own
//! promises in true time, and its rulings by [what each participant said and heard](super::account).

mod better_ones_go_first;
mod claims_are_heard;
mod in_time;
mod known_claims;
mod one_after_a_heal;
mod ranks_are_kept;
mod tombstones;
mod who_stands_has_waited;

use super::account::{Life, Role};
use super::scenario::{LeasedLeaders, Own};
use crate::scenario::{Checks, Property, Sentences, promises, seconds};

type Check<'a> = crate::scenario::Check<'a, LeasedLeaders>;
type Fact<'a> = crate::scenario::Fact<'a, LeasedLeaders>;

/// What the common promises are called.
pub(super) const SENTENCES: Sentences = Sentences {
    at_most_one: ("Connected nodes have at most one leader", "promise (a)"),
    no_return: ("A claim that has lapsed does not return", "ruling 2"),
    observers: ("Observers see what is", "promise (d)"),
    stability: ("A leader stays when nothing goes wrong", "ruling 2"),
    leader_in_the_end: ("Every election has a leader in the end", "promise (c)"),
    ..Sentences::NAMED
};

crate::checks! {
    /// All of them, in the order in which they see a fact.
    pub Properties of LeasedLeaders {
        claims_are_heard::ClaimsAreHeard,
        claims_are_heard::NoTermIsLonger,
        who_stands_has_waited::WhoStandsHasWaited,
        who_stands_has_waited::WhoMissedClaimsWaits,
        better_ones_go_first::BetterOnesGoFirst,
        known_claims::OnlyLeadersBeat,
        known_claims::KnownClaims,
        tombstones::Tombstones,
        ranks_are_kept::RanksAreKept,
        one_after_a_heal::OneAfterAHeal,
        one_after_a_heal::TheBestInTheEnd,
        in_time::InTime,
        in_time::FarClocksDoNotWin;
        promises::All
    }
}

/// The name and the source of each.
#[must_use]
pub fn all() -> Vec<(&'static str, &'static str)> {
    <Properties as Checks<LeasedLeaders>>::names()
}

impl<'a> Check<'a> {
    fn life_of(&self, node: usize) -> &'a Life {
        &self.own.lives[node]
    }

    fn role(&self, node: usize, election: usize) -> &'a Role {
        &self.own.lives[node].roles[election]
    }

    /// Whether a node campaigns in an election, and can lead.
    fn contends(&self, node: usize, election: usize) -> bool {
        self.history.lives[node].is_some()
            && self.apps[node][election].campaigning
            && self.plan.own.odd != Some(node)
    }

    /// Whether two nodes reach each other.
    fn reach(&self, one: usize, other: usize) -> bool {
        self.own.side(one, self.now) == self.own.side(other, self.now)
    }

    /// The nodes that lead an election now.
    fn leaders(&self, election: usize) -> impl Iterator<Item = (usize, u64)> + 'a {
        let now = self.now;
        let led = self.past(election).leaderships.iter().rev().take(16);
        led.filter(move |led| led.holds(now)).map(|led| (led.node, led.from))
    }
}
