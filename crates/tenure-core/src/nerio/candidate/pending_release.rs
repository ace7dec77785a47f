//! A pending release: its times, its addressees, and the attempts that it delays.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::super::context::Context;
use super::super::epoch::Membership;
use super::super::message::Sender;
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
    /// Time at which the release is sent again.
    pub(in crate::nerio) again: Time,
    pub(in crate::nerio) pause: Duration,
    /// The members that may have granted, for each epoch; the present epoch is the last.
    pub(in crate::nerio) targets: Vec<Target>,
    /// Whether a quorum of an epoch has confirmed the release, while that epoch was the present
    /// one.
    pub(in crate::nerio) told: bool,
    /// Whether the candidate gave up to let others lead. Then no new request may overtake the
    /// release.
    on_purpose: bool,
}

/// The members of one epoch, and those that have confirmed the release.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Target {
    pub(in crate::nerio) membership: Arc<Membership>,
    arrived: MemberSet,
}

impl Target {
    fn new(membership: &Arc<Membership>) -> Self {
        Self { membership: Arc::clone(membership), arrived: MemberSet::EMPTY }
    }

    pub(in crate::nerio) fn missing(&self) -> MemberSet {
        self.membership.everyone().minus(self.arrived)
    }
}

impl PendingRelease {
    pub(in crate::nerio) fn new(
        now: Time,
        hold: Time,
        start: Time,
        (next, on_purpose): (Option<NodeName>, bool),
        context: &Context,
    ) -> Self {
        let longest = context.longest_lease();
        // Release to the members of the previous epoch, too, whose leases may still last.
        let epochs = context.before(now).into_iter().chain([&context.membership]);
        Self {
            start,
            next,
            hold,
            until: now.after(context.config.given_up(longest)),
            begins: now.max(hold),
            again: now.max(hold),
            pause: context.retry(),
            targets: epochs.map(Target::new).collect(),
            told: false,
            on_purpose,
        }
    }

    pub(in crate::nerio) fn due(&self) -> Time {
        self.again.min(self.until)
    }

    /// The earliest time of a new attempt: after the first send of the release. A candidate that
    /// gave up to let others lead also waits until a quorum has confirmed the release, or the lease
    /// is over.
    pub(in crate::nerio) fn not_before(&self) -> Time {
        if self.on_purpose && !self.told { self.until } else { self.hold.next() }
    }

    /// Whether this member of the present epoch must receive the release before the next request.
    pub(in crate::nerio) fn awaits(&self, member: usize) -> bool {
        self.on_purpose && self.missing().contains(member)
    }

    /// Notes the confirmation of a member. True if the confirmations now reach a quorum of the
    /// present epoch for the first time.
    pub(super) fn arrives(&mut self, from: &Sender) -> bool {
        let is_its = |target: &&mut Target| target.membership.id() == from.epoch;
        if let Some(target) = self.targets.iter_mut().find(is_its)
            && let Some(member) = target.membership.position(&from.who.name)
        {
            target.arrived = target.arrived.with(member);
        }
        let present = self.targets.last();
        let told =
            present.is_some_and(|it| it.membership.quorums().is_quorum(it.arrived)) && !self.told;
        self.told |= told;
        told
    }

    /// Adds the members of another epoch, which becomes the present one. The previous epoch stays,
    /// since the candidate may hold grants there.
    pub(super) fn switch(&mut self, now: Time, membership: &Arc<Membership>) {
        if self.targets.len() > 1 {
            self.targets.remove(0);
        }
        self.targets.push(Target::new(membership));
        self.again = now.max(self.hold);
    }

    /// Whether every member has confirmed.
    pub(super) fn is_over(&self) -> bool {
        self.targets.iter().all(|target| target.missing().is_empty())
    }

    /// Members of the present epoch that have not confirmed.
    fn missing(&self) -> MemberSet {
        self.targets.last().map_or(MemberSet::EMPTY, Target::missing)
    }

    /// The reason for waiting, if the next attempt waits for confirmations of members that have
    /// probably fallen silent.
    pub(in crate::nerio) fn hinders(&self, now: Time, context: &Context) -> Option<Waiting> {
        let is_late = now >= self.begins.after(context.config.parked_for());
        if now >= self.not_before() || !is_late {
            return None;
        }
        let present = self.targets.last()?;
        let missing = present.membership.named(present.missing());
        Some(Waiting::GivingUp { missing, until: self.until })
    }
}
