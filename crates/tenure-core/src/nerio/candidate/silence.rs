//! The members that leave requests unanswered.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use super::super::by_member::{ByMember, USUAL};
use super::super::epoch::Membership;
use super::super::event::OwnEvent;
use super::super::quorum::MemberSet;
use crate::name::NodeName;
use crate::time::Time;

/// The first request that each member has left unanswered.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Silence {
    /// Start of that request.
    since: ByMember<Time, USUAL>,
}

impl Silence {
    pub(in crate::nerio) fn asked(&mut self, member: usize, start: Time) {
        self.since.get_or_insert(member, start);
    }

    /// Notes that `member` answered the request of `start`, whatever it said.
    pub(in crate::nerio) fn answered(&mut self, member: usize, start: Time) {
        if self.since.get(member).is_some_and(|since| *since <= start) {
            self.since.remove(member);
        }
    }

    /// The members that have not answered for `patience`.
    pub(in crate::nerio) fn silent(&self, now: Time, patience: Duration) -> MemberSet {
        let silent = self.since.iter().filter(|(_, since)| now.since(*since) >= patience);
        silent.map(|(member, _)| *member).collect()
    }
}

/// The silence of members toward all leaders of a node: a member that answers in one election
/// counts as heard in all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::nerio) struct LeaderSilence {
    pub(in crate::nerio) members: Silence,
    /// Members of the last [`OwnEvent::NoSpare`]; none if a spare member is left.
    told: Vec<NodeName>,
}

/// Empty, because silence decides only what is reported: the model check in `tenure-sim`, which
/// compares hashes, need not tell states apart by silence.
impl Hash for LeaderSilence {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl LeaderSilence {
    /// Goes on in another epoch, in which members have other positions. The silence of a member of
    /// both epochs goes on.
    pub(in crate::nerio) fn switch(&mut self, before: &Membership, membership: &Membership) {
        let mut since = ByMember::default();
        for (member, start) in self.members.since.iter() {
            if let Some(member) = membership.position(before.name(*member)) {
                since.insert(member, *start);
            }
        }
        self.members = Silence { since };
    }

    /// Reports whether one more silent member would end the leaderships of this node, when this
    /// changes. A member counts as silent after a `lease`.
    pub(in crate::nerio) fn news(
        &mut self,
        now: Time,
        lease: Duration,
        membership: &Membership,
    ) -> Option<OwnEvent> {
        let quorums = membership.quorums();
        let silent = self.members.silent(now, lease);
        if !quorums.is_possible(silent) {
            // No renewal completes, and the leader reports the overdue renewal instead.
            return None;
        }
        let is_needed = |member: usize| !quorums.is_possible(silent.with(member));
        let has_spare = !quorums.everyone().minus(silent).iter().any(is_needed);
        let told: Vec<NodeName> = if has_spare { Vec::new() } else { membership.named(silent) };
        if told == self.told {
            return None;
        }
        self.told.clone_from(&told);
        if told.is_empty() {
            return Some(OwnEvent::SpareAgain);
        }
        let members = self.members.since.iter().filter(|(member, _)| silent.contains(*member));
        let since = members.map(|(_, since)| *since).max().unwrap_or(now);
        Some(OwnEvent::NoSpare { silent: told, since })
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::super::super::config::{Config, Member};
    use super::*;

    fn membership(names: [&str; 3]) -> Arc<Membership> {
        let member = |name: &str| {
            let address = ([127, 0, 0, 1], u16::from(name.as_bytes()[0])).into();
            Member::at(name.parse().unwrap(), address)
        };
        let config = Config::new("x".parse().unwrap(), names.map(member).to_vec());
        Arc::clone(config.check().unwrap().membership())
    }

    /// Member c is silent. In the next epoch c has another position, and still counts as silent.
    #[test]
    fn silence_survives_switch() {
        let (before, next) = (membership(["b", "c", "d"]), membership(["c", "d", "e"]));
        let (at, lease) = (Time::from_nanos, Duration::from_nanos(10));
        let mut silence = LeaderSilence::default();
        silence.members.asked(1, at(1));
        let c: Vec<NodeName> = [NodeName::new("c").unwrap()].into();
        let told = OwnEvent::NoSpare { silent: c, since: at(1) };
        assert_eq!(silence.news(at(11), lease, &before), Some(told));
        silence.switch(&before, &next);
        assert_eq!(silence.news(at(12), lease, &next), None, "no repetition");
        silence.members.answered(0, at(12));
        assert_eq!(silence.news(at(13), lease, &next), Some(OwnEvent::SpareAgain));
    }
}
