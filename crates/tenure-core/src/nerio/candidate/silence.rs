//! The members that leave the requests of this node's leaders unanswered.

use core::hash::{Hash, Hasher};
use core::time::Duration;

use super::super::by_member::ByMember;
use super::super::config::Checked;
use super::super::event::OwnEvent;
use super::super::quorum::MemberSet;
use crate::time::Time;

/// Silence of members, as all leaders of a node see it: a member that answers in one election is
/// not silent in another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::nerio) struct Silence {
    /// First Start of a leader's request that a member has left unanswered.
    unanswered: ByMember<Time>,
    /// Members of the last [`OwnEvent::NoSpare`]; none if a spare member is left.
    told: MemberSet,
}

/// Silence decides only what is reported: a search through all states, which compares their hashes,
/// need not distinguish it.
impl Hash for Silence {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Silence {
    pub(in crate::nerio) fn asked(&mut self, member: usize, start: Time) {
        self.unanswered.get_or_insert(member, start);
    }

    /// `member` answered the request of `start`, whatever it said.
    pub(in crate::nerio) fn answered(&mut self, member: usize, start: Time) {
        if self.unanswered.get(member).is_some_and(|since| *since <= start) {
            self.unanswered.remove(member);
        }
    }

    /// The members that have not answered for `patience`.
    pub(in crate::nerio) fn silent(&self, now: Time, patience: Duration) -> MemberSet {
        let silent = self.unanswered.iter().filter(|(_, since)| now.since(*since) >= patience);
        silent.map(|(member, _)| *member).collect()
    }

    /// The report, if it has changed, of whether one more silent member ends the leaderships of
    /// this node. A member counts as silent after a lease.
    pub(in crate::nerio) fn news(&mut self, now: Time, config: &Checked) -> Option<OwnEvent> {
        let quorums = &config.quorums;
        let silent = self.silent(now, config.lease);
        if !quorums.is_possible(silent) {
            // No renewal completes, and the leader reports that.
            return None;
        }
        let is_needed = |member: usize| !quorums.is_possible(silent.with(member));
        let has_spare = !quorums.everyone().minus(silent).iter().any(is_needed);
        let told = if has_spare { MemberSet::EMPTY } else { silent };
        if told == self.told {
            return None;
        }
        self.told = told;
        if told.is_empty() {
            return Some(OwnEvent::SpareAgain);
        }
        let members = self.unanswered.iter().filter(|(member, _)| told.contains(*member));
        let since = members.map(|(_, since)| *since).max().unwrap_or(now);
        Some(OwnEvent::NoSpare { silent: config.named(told), since })
    }
}
