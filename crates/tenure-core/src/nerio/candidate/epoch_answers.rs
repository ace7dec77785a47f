//! The answers of the members of one epoch to a campaign.

use smallvec::SmallVec;

use super::super::by_member::{ByMember, USUAL};
use super::super::epoch::Membership;
use super::super::identity::Who;
use super::super::quorum::MemberSet;
use super::Rival;
use super::oks::Answer;
use super::reach::Reach;
use super::trips::Prompt;
use super::waits::Hindrances;
use crate::time::Time;

/// The state of a [campaign](super::Campaign) that counts members by position. Each epoch begins
/// with an empty state, because a position names another member in another epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct EpochAnswers {
    /// For each member, the Start up to which the candidate drops answers for ever.
    pub(in crate::nerio) floors: SmallVec<[Time; USUAL]>,
    pub(in crate::nerio) oks: ByMember<Answer>,
    pub(super) refusals: ByMember<Rival>,
    /// Members whose grants the candidate gave back. Each entry has the rival to which the
    /// candidate yielded, if any, and the time before which the candidate does not ask the member.
    pub(in crate::nerio) held_off: ByMember<(Option<Who>, Time)>,
    /// Reachability of members, while the candidate does not lead.
    pub(in crate::nerio) reach: Reach,
    /// Members that have answered since the last completion.
    pub(super) prompt: Prompt,
    /// Reasons why the campaign waits, or the lease is not renewed.
    pub(in crate::nerio) hindrances: Hindrances,
    /// Members whose last answer refused a lease of this candidate's length.
    pub(in crate::nerio) too_long: MemberSet,
    /// Members that report the successor of the present [`Transfer`](super::Transfer) as waiting.
    pub(super) successor_waits: MemberSet,
    /// Whether the candidate has left the election to others, as no quorum was possible.
    pub(super) left: bool,
}

impl EpochAnswers {
    /// No answer yet; answers to Starts up to `floor` are dropped for ever.
    pub(super) fn new(membership: &Membership, floor: Time) -> Self {
        Self {
            floors: SmallVec::from_elem(floor, membership.names().len()),
            oks: ByMember::default(),
            refusals: ByMember::default(),
            held_off: ByMember::default(),
            reach: Reach::default(),
            prompt: Prompt::default(),
            hindrances: Hindrances::default(),
            too_long: MemberSet::EMPTY,
            successor_waits: MemberSet::EMPTY,
            left: false,
        }
    }

    /// Drops answers to all requests so far for ever.
    pub(super) fn abort(&mut self, last_start: Time) {
        self.reach.forget();
        self.prompt = Prompt::default();
        self.oks.clear();
        self.floors.fill(last_start);
        self.left = false;
    }
}
