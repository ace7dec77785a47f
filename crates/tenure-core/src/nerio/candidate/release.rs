//! Giving up: a candidate sends releases until a quorum confirms.

use super::super::body::{Leaving, Release, Released};
use super::super::context::Context;
use super::super::event::{Event, Ignored, OwnEvent};
use super::super::quorum::MemberSet;
use super::super::words::{Out, send};
use super::Candidate;
use super::pending::PendingRelease;
use crate::time::Time;

impl Candidate {
    /// Reports to the grantors that the claim is over, before the release is sent.
    pub(in crate::nerio) fn say_that_it_leaves(&self, now: Time, context: &Context, out: &mut Out) {
        let Some(pending) = &self.pending else { return };
        let held = context.config.drift.real_at_most(pending.hold.since(now));
        for member in context.membership.everyone().iter() {
            let leaving = Leaving { election: self.election.clone(), start: pending.start, held };
            send(out, context.membership.to(member), leaving);
        }
    }

    pub(in crate::nerio) fn release_to(
        &self,
        members: MemberSet,
        start: Time,
        context: &Context,
        out: &mut Out,
    ) {
        let next = self.pending.as_ref().and_then(|pending| pending.next.clone());
        for member in members.iter() {
            let release = Release { election: self.election.clone(), start, next: next.clone() };
            send(out, context.membership.to(member), release);
        }
    }

    pub(in crate::nerio) fn on_released(
        &mut self,
        now: Time,
        member: usize,
        released: &Released,
        context: &mut Context,
        out: &mut Out,
    ) {
        self.run_due(now, context, out);
        let sent =
            |pending: &&mut PendingRelease| pending.start == released.start && now >= pending.hold;
        let Some(pending) = self.pending.as_mut().filter(sent) else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        pending.arrived = pending.arrived.with(member);
        let (arrived, told) = (pending.arrived, pending.told);
        pending.told |= context.membership.quorums().is_quorum(arrived);
        let tell = pending.told && !told;
        let begin = pending.not_before().max(now);
        if arrived == context.membership.everyone() {
            self.pending = None;
        }
        if tell {
            self.emit(Event::Released, out);
            if let Some(campaign) = self.campaign.as_mut().filter(|c| c.first.is_none()) {
                campaign.next_at = begin;
            }
            self.run_due(now, context, out);
        }
    }
}
