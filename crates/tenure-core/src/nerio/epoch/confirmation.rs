//! The answers of members about the epoch of a node without a grantor.
//!
//! The node begins with the epoch of its settings, whose list may be incomplete or old. Any single
//! member may be a *stray*, a member that an operator started with an empty directory and another
//! list. So a single answer neither confirms an epoch nor moves the node to another cluster.
//!
//! - *A quorum confirms.* A node and the stray member c have an old list. If the answer of c
//!   confirmed the epoch of that list, the node would ignore all other members for ever.
//! - *A quorum that agrees on another epoch 0 moves the node.* The stray member c is a cluster by
//!   itself. If its answer sufficed, the node would lead by c alone, beside a leader of a and b. In
//!   a list of two members, the answer of c alone does not suffice either.
//! - 3.11: *The answer of a blank confirms nothing.* A candidate asks before the founding, and all
//!   members answer that they wait. If these answers confirmed the list, the candidate would ignore
//!   the founded epoch for ever.
//! - *Only a member's latest answer is used*, by the Start of its question. The member may have
//!   left the cluster that a delayed answer names.

use super::super::by_member::ByMember;
use super::super::quorum::MemberSet;
use super::Membership;
use crate::time::Time;

/// The state of confirmation of one epoch. Each epoch begins with an empty state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Confirmation {
    is_confirmed: bool,
    /// Time at which the node entered the epoch. Answers to earlier questions are ignored.
    since: Time,
    /// Members that have answered in the epoch.
    answered: MemberSet,
    /// Members whose latest answer names another epoch 0, with its digest.
    elsewhere: ByMember<u64>,
    /// Start of the latest question that each member has answered.
    latest: ByMember<Time>,
}

impl Confirmation {
    /// The state of an epoch that the node enters at `now`.
    pub(in crate::nerio) fn new(now: Time) -> Self {
        Self { since: now, ..Self::default() }
    }

    pub(in crate::nerio) const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Notes that the epoch is confirmed, and forgets the answers of members.
    pub(in crate::nerio) fn confirm(&mut self) {
        *self = Self { is_confirmed: true, ..Self::new(self.since) };
    }

    /// Whether the question of `start` is the latest that `member` has answered in this epoch.
    pub(in crate::nerio) fn is_latest(&self, member: usize, start: Time) -> bool {
        let is_later = self.latest.get(member).is_none_or(|latest| start >= *latest);
        start >= self.since && is_later
    }

    /// Notes that `member` answers the question of `start` in the epoch of `membership`.
    pub(in crate::nerio) fn answers(
        &mut self,
        member: usize,
        start: Time,
        membership: &Membership,
    ) {
        if self.is_confirmed || start < self.since {
            return;
        }
        if self.is_latest(member, start) {
            self.latest.insert(member, start);
            self.elsewhere.remove(member);
        }
        self.answered = self.answered.with(member);
        if membership.quorums().is_quorum(self.answered) {
            self.confirm();
        }
    }

    /// Notes that `member` names another epoch 0, with this digest, in its
    /// [latest](Self::is_latest) answer, to the question of `start`. An earlier answer of the
    /// member in this epoch stays valid: a candidate may lead by it.
    pub(in crate::nerio) fn names(&mut self, member: usize, start: Time, founding: u64) {
        if !self.is_confirmed {
            self.latest.insert(member, start);
            self.elsewhere.insert(member, founding);
        }
    }

    /// Whether a quorum of `membership` names this other epoch 0. False in a confirmed epoch.
    pub(in crate::nerio) fn is_named_by_quorum(
        &self,
        founding: u64,
        membership: &Membership,
    ) -> bool {
        membership.quorums().agreed(self.elsewhere.iter().as_slice()) == Some(founding)
    }
}
