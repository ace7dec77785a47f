//! A release on its way: when it is sent, to which grantors, and what it holds up.

use core::time::Duration;

use super::super::config::Checked;
use super::super::quorum::MemberSet;
use super::context::Context;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::Waiting;

/// A release that is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct PendingRelease {
    /// Everything up to this Start is given up.
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) next: Option<NodeName>,
    /// Not to be sent before: what a verification answer promised.
    pub(in crate::nerio) hold: Time,
    /// When the lease would have ended at every grantor, and the release no longer matters.
    pub(in crate::nerio) until: Time,
    /// When it is sent first.
    begins: Time,
    pub(in crate::nerio) again: Time,
    pub(in crate::nerio) pause: Duration,
    pub(in crate::nerio) arrived: MemberSet,
    pub(in crate::nerio) told: bool,
    /// Given up on purpose, so that others come first: nothing new may overtake it.
    on_purpose: bool,
}

impl PendingRelease {
    pub(in crate::nerio) fn new(
        now: Time,
        hold: Time,
        start: Time,
        (next, on_purpose): (Option<NodeName>, bool),
        context: &Context<'_>,
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

    /// No new attempt begins before: the release must have been sent, and if it was given on
    /// purpose a quorum must have it. A request that overtook it would take the grant back from
    /// those for whom it was given up.
    pub(in crate::nerio) fn not_before(&self) -> Time {
        if self.on_purpose && !self.told { self.until } else { self.hold.next() }
    }

    /// Whether this member is not to be asked before it has the release.
    pub(in crate::nerio) fn awaits(&self, member: usize) -> bool {
        self.on_purpose && !self.arrived.contains(member)
    }

    /// That no quorum has confirmed it, as long as that keeps the next attempt from beginning: once
    /// it has lasted so long that those who do not are likely to be silent.
    pub(in crate::nerio) fn hinders(&self, now: Time, config: &Checked) -> Option<Waiting> {
        let is_late = now >= self.begins.after(config.parked_for());
        if now >= self.not_before() || !is_late {
            return None;
        }
        let missing = MemberSet::first(config.members.len()).minus(self.arrived);
        Some(Waiting::GivingUp { missing: config.named(missing), until: self.until })
    }
}
