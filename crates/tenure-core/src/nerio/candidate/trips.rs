//! Round trips of requests: of single members, and of quorums as a leader waits for them.

use core::hash::{Hash, Hasher};

use super::super::context::Context;
use super::super::quorum::{MemberSet, Quorums};
use super::Campaign;
use super::oks::SentRequest;
use crate::time::Time;

const SENT_MAX: usize = 64;

/// The members that have answered a request since the last completion. Answers to requests that
/// waited for a rival say nothing about the network, and are not counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::nerio) struct Prompt(MemberSet);

/// Empty, because these members decide only what is reported: the model check in `tenure-sim`,
/// which compares hashes, need not tell them apart.
impl Hash for Prompt {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Prompt {
    fn is_quorum(&self, quorums: &Quorums) -> bool {
        quorums.is_quorum(self.0)
    }

    /// Adds `member`; true if the members become a quorum by it.
    fn completes(&mut self, member: usize, quorums: &Quorums) -> bool {
        let before = self.is_quorum(quorums);
        self.0 = self.0.with(member);
        !before && self.is_quorum(quorums)
    }
}

impl Campaign {
    pub(in crate::nerio) fn note_sent(&mut self, request: SentRequest) {
        if self.sent.len() == SENT_MAX {
            self.sent.remove(0);
        }
        self.sent.push(request);
    }

    /// Notes that `member` has answered the request of `start`, which is under way and did not wait
    /// for a rival. The trip of a quorum begins with the first request of a renewal, so it includes
    /// the pause before a lost request is repeated. A slow minority does not count.
    pub(in crate::nerio) fn observe_trip(
        &mut self,
        now: Time,
        member: usize,
        start: Time,
        context: &mut Context,
    ) {
        context.trips.observe(now.since(start));
        // Only a leader measures the trip of a quorum: a candidate that does not lead may wait for
        // hours.
        let Some(first) = self.sent.first().filter(|_| self.lease.is_some()) else { return };
        if self.answers.prompt.completes(member, context.membership.quorums()) {
            let trip = now.since(first.start);
            context.quorum_trips.observe(now, trip, &context.config);
        }
    }

    /// Notes that a lease ended at `until` before a quorum had answered its last renewal: the trip
    /// took at least that long. A lease that follows the network ignores this trip: otherwise two
    /// outages would lengthen the lease, and a later crash would cost a longer wait.
    pub(in crate::nerio) fn observe_silence(&self, now: Time, until: Time, context: &mut Context) {
        let Some(first) = self.sent.first().filter(|_| context.following.is_none()) else { return };
        if !self.answers.prompt.is_quorum(context.membership.quorums()) {
            let trip = until.since(first.start);
            context.quorum_trips.observe(now, trip, &context.config);
        }
    }
}
