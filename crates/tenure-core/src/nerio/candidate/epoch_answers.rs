//! The answers of the members of one epoch to a campaign.

use alloc::vec::Vec;

use super::super::by_member::ByMember;
use super::super::epoch::Membership;
use super::super::identity::Who;
use super::super::quorum::MemberSet;
use super::Rival;
use super::instance::Answer;
use super::reach::Reach;
use super::waits::Hindrances;
use crate::time::Time;

/// Everything in a [campaign](super::Campaign) that counts members by position: in another epoch
/// the positions mean other members, and no answer of this one counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct EpochAnswers {
    /// For each member: the candidate drops answers to Starts up to this one for ever.
    pub(in crate::nerio) floors: Vec<Time>,
    pub(in crate::nerio) oks: ByMember<Answer>,
    pub(super) refusals: ByMember<Rival>,
    /// Members that the candidate does not ask before the time given, because it yielded their
    /// grant to the rival.
    pub(in crate::nerio) held_off: ByMember<(Who, Time)>,
    /// Reachability of members, while the candidate does not lead.
    pub(in crate::nerio) reach: Reach,
    /// Reasons why the campaign waits, while the candidate does not lead.
    pub(in crate::nerio) hindrances: Hindrances,
    /// Members whose last answer was that they give no lease as long as this candidate's.
    pub(in crate::nerio) too_long: MemberSet,
    /// Members that report the successor of the present [`Transfer`](super::Transfer) as waiting.
    pub(super) successor_waits: MemberSet,
}

impl EpochAnswers {
    /// No answer yet; answers to Starts up to `floor` are dropped for ever.
    pub(super) fn new(membership: &Membership, floor: Time) -> Self {
        Self {
            floors: alloc::vec![floor; membership.names().len()],
            oks: ByMember::default(),
            refusals: ByMember::default(),
            held_off: ByMember::default(),
            reach: Reach::default(),
            hindrances: Hindrances::default(),
            too_long: MemberSet::EMPTY,
            successor_waits: MemberSet::EMPTY,
        }
    }

    /// Drops answers to all requests so far for ever.
    pub(super) fn abort(&mut self, last_start: Time) {
        self.reach.forget();
        self.oks.clear();
        self.floors.fill(last_start);
    }
}
