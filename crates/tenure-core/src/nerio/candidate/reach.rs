//! The grantors for which a candidate need not wait: silent grantors, and grantors that cannot
//! grant.

use core::time::Duration;

use super::super::by_member::{ByMember, USUAL};
use super::super::quorum::MemberSet;
use super::silence::Silence;
use crate::time::Time;

/// The members that answer, whatever they answer, and the members that cannot grant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Reach {
    pub(in crate::nerio) silence: Silence,
    /// Members whose last answer was that they can grant to no candidate, or not to this candidate.
    unable: MemberSet,
    /// Highest Start that each member has answered.
    latest: ByMember<Time, USUAL>,
}

impl Reach {
    /// Drops all answers so far and keeps the allocation: a leader calls this at each renewal.
    pub(in crate::nerio) fn forget(&mut self) {
        self.silence = Silence::default();
        self.unable = MemberSet::EMPTY;
        self.latest.clear();
    }

    /// Whether the answer of `member` to the request of `start` is newer than the member's earlier
    /// answers.
    pub(in crate::nerio) fn is_news(&self, member: usize, start: Time) -> bool {
        self.latest.get(member).is_none_or(|latest| *latest < start)
    }

    pub(in crate::nerio) fn heard(&mut self, member: usize, start: Time) {
        let latest = self.latest.get_or_insert(member, start);
        *latest = (*latest).max(start);
    }

    /// Notes that `member` answered the request of `start`, and whether the member was `able` to
    /// grant or park the request.
    pub(in crate::nerio) fn answered(&mut self, member: usize, start: Time, able: bool) {
        self.silence.answered(member, start);
        let this = MemberSet::EMPTY.with(member);
        self.unable = if able { self.unable.minus(this) } else { self.unable.or(this) };
    }

    /// The members not worth waiting for: silent for `patience`, or unable.
    pub(in crate::nerio) fn lost(&self, now: Time, patience: Duration) -> MemberSet {
        self.silence.silent(now, patience).or(self.unable)
    }
}
