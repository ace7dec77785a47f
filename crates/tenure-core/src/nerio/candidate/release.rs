//! Releasing grants: after every promise, and again until it arrived or no longer matters.

use super::super::body::{Leaving, Release, Released};
use super::*;

/// A release that is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PendingRelease {
    /// Everything up to this Start is given up.
    start: Time,
    next: Option<NodeName>,
    /// Not to be sent before: what a verification answer promised.
    hold: Time,
    /// When the lease would have ended at every grantor, and the release no longer matters.
    until: Time,
    /// When it is sent first.
    begins: Time,
    again: Time,
    pause: Duration,
    arrived: MemberSet,
    told: bool,
    /// Given up on purpose, so that others come first: nothing new may overtake it.
    on_purpose: bool,
}

impl PendingRelease {
    pub(super) fn new(
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

    pub(super) fn due(&self) -> Time {
        self.again.min(self.until)
    }

    /// No new attempt begins before: the release must have been sent, and if it was given on
    /// purpose a quorum must have it. A request that overtook it would take the grant back from
    /// those for whom it was given up.
    pub(super) fn not_before(&self) -> Time {
        if self.on_purpose && !self.told { self.until } else { self.hold.next() }
    }

    /// Whether this member is not to be asked before it has the release.
    pub(super) fn awaits(&self, member: usize) -> bool {
        self.on_purpose && !self.arrived.contains(member)
    }

    /// That no quorum has confirmed it, as long as that keeps the next attempt from beginning: once
    /// it has lasted so long that those who do not are likely to be silent.
    fn hinders(&self, now: Time, config: &Checked) -> Option<Waiting> {
        let is_late = now >= self.begins.after(config.parked_for());
        if now >= self.not_before() || !is_late {
            return None;
        }
        let missing = MemberSet::first(config.members.len()).minus(self.arrived);
        Some(Waiting::GivingUp { missing: config.named(missing), until: self.until })
    }
}

impl Candidate {
    /// Sends the release if it is due, to those who have not confirmed it.
    pub(super) fn give_up_due(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        let everybody = MemberSet::first(context.config.members.len());
        let Some(pending) = &mut self.pending else { return };
        if now >= pending.until {
            let told = pending.told;
            self.pending = None;
            if !told {
                self.emit(Event::Released, out);
            }
            return;
        }
        if now < pending.again {
            return;
        }
        debug_assert!(now >= pending.hold, "I9: a release waits for what was promised");
        pending.again = now.after(pending.pause);
        pending.pause = pending.pause.saturating_mul(2);
        let (missing, start) = (everybody.minus(pending.arrived), pending.start);
        if let Some(waiting) = pending.hinders(now, context.config) {
            self.say(now, waiting, context, out);
        }
        self.release_to(missing, start, out);
    }

    /// What holds the release up, if a promise does: the next campaign waits for that.
    pub(super) fn say_what_was_promised(
        &mut self,
        now: Time,
        context: &Context<'_>,
        out: &mut Out,
    ) {
        let hold = self.pending.as_ref().map(|pending| pending.hold).filter(|hold| now < *hold);
        if let Some(until) = hold {
            let who = context.who.name.clone().into();
            self.say(now, Waiting::Promised { who, until }, context, out);
        }
    }

    /// Says what a campaign waits for, or the end of a leadership that is over, if it has changed.
    fn say(&mut self, now: Time, waiting: Waiting, context: &Context<'_>, out: &mut Out) {
        let said = match &mut self.campaign {
            Some(campaign) => campaign.hindrances.say(now, waiting, context.config.refresh),
            None => Some(waiting),
        };
        if let Some(waiting) = said {
            self.emit(Event::Waiting(waiting), out);
        }
    }

    /// Tells the grantors that the claim is over though the release is not sent yet.
    pub(super) fn say_that_it_leaves(&self, now: Time, context: &Context<'_>, out: &mut Out) {
        let Some(pending) = &self.pending else { return };
        let held = context.config.drift.real_at_most(pending.hold.since(now));
        for member in 0..context.config.members.len() {
            let leaving = Leaving { election: self.election.clone(), start: pending.start, held };
            send(out, To::Member(member), leaving);
        }
    }

    pub(super) fn release_to(&self, members: MemberSet, start: Time, out: &mut Out) {
        let next = self.pending.as_ref().and_then(|pending| pending.next.clone());
        for member in members.iter() {
            let release = Release { election: self.election.clone(), start, next: next.clone() };
            send(out, To::Member(member), release);
        }
    }

    /// A grantor has the release.
    pub(in super::super) fn on_released(
        &mut self,
        now: Time,
        member: usize,
        released: &Released,
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        self.work(now, context, out);
        let sent =
            |pending: &&mut PendingRelease| pending.start == released.start && now >= pending.hold;
        let Some(pending) = self.pending.as_mut().filter(sent) else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        pending.arrived = pending.arrived.with(member);
        let (arrived, told) = (pending.arrived, pending.told);
        pending.told |= context.config.quorums.is_quorum(arrived);
        let tell = pending.told && !told;
        let begin = pending.not_before().max(now);
        if arrived.len() == context.config.members.len() {
            self.pending = None;
        }
        if tell {
            self.emit(Event::Released, out);
            if let Some(campaign) = self.campaign.as_mut().filter(|c| c.first.is_none()) {
                campaign.next_at = begin;
            }
            self.work(now, context, out);
        }
    }
}
