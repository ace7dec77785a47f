//! A pending release: its times, its addressees, and the attempts that it delays.

use core::time::Duration;

use super::super::context::Context;
use super::super::quorum::MemberSet;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct PendingRelease {
    /// The candidate gives up every instance up to this Start.
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) next: Option<NodeName>,
    /// Earliest time of sending: the end of a promise to a verifier.
    pub(in crate::nerio) hold: Time,
    /// Time at which the lease would have ended at every grantor, so that the release no longer
    /// matters.
    pub(in crate::nerio) until: Time,
    begins: Time,
    pub(in crate::nerio) again: Time,
    pub(in crate::nerio) pause: Duration,
    pub(in crate::nerio) arrived: MemberSet,
    pub(in crate::nerio) told: bool,
    /// Whether the candidate gave up on purpose, so that others come first: no new request may
    /// overtake the release.
    on_purpose: bool,
}

impl PendingRelease {
    pub(in crate::nerio) fn new(
        now: Time,
        hold: Time,
        start: Time,
        (next, on_purpose): (Option<NodeName>, bool),
        context: &Context,
    ) -> Self {
        let longest = context.config.lease.max(context.config.lease_first());
        Self {
            start,
            next,
            hold,
            until: now.after(context.config.drift.stretch(context.config.drift.stretch(longest))),
            begins: now.max(hold),
            again: now.max(hold),
            pause: context.retry(),
            arrived: MemberSet::EMPTY,
            told: false,
            on_purpose,
        }
    }

    pub(in crate::nerio) fn due(&self) -> Time {
        self.again.min(self.until)
    }

    /// The earliest time of a new attempt: the release must have been sent, and if the candidate
    /// gave up on purpose, a quorum must have it. A request that overtook the release would take
    /// the grant back from the rival for which it was given up.
    pub(in crate::nerio) fn not_before(&self) -> Time {
        if self.on_purpose && !self.told { self.until } else { self.hold.next() }
    }

    /// Whether this member must have the release before the next request.
    pub(in crate::nerio) fn awaits(&self, member: usize) -> bool {
        self.on_purpose && !self.arrived.contains(member)
    }

    /// The reason for waiting if the missing confirmations delay the next attempt, once they have
    /// been missing for so long that the members are probably silent.
    pub(in crate::nerio) fn hinders(&self, now: Time, context: &Context) -> Option<Waiting> {
        let is_late = now >= self.begins.after(context.config.parked_for());
        if now >= self.not_before() || !is_late {
            return None;
        }
        let missing = context.membership.everyone().minus(self.arrived);
        Some(Waiting::GivingUp { missing: context.membership.named(missing), until: self.until })
    }
}
