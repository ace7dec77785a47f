//! Giving up: the messages of a release, and their confirmations. `oqwbd.rs` decides when a release
//! is sent.

use super::super::body::{Leaving, Release, Released};
use super::super::context::Context;
use super::super::epoch::Membership;
use super::super::event::{Event, Ignored, OwnEvent};
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::words::{Out, send};
use super::Candidate;
use super::pending_release::PendingRelease;
use crate::time::Time;

impl Candidate {
    /// Reports to the grantors that the claim is over, before the release is sent.
    pub(in crate::nerio) fn say_that_it_leaves(&self, now: Time, context: &Context, out: &mut Out) {
        let Some(pending) = &self.pending else { return };
        let held = context.config.drift.real_at_most(pending.hold.since(now));
        for target in &pending.targets {
            for member in target.missing().iter() {
                let (election, start) = (self.election.clone(), pending.start);
                send(out, target.membership.to(member), Leaving { election, start, held });
            }
        }
    }

    pub(in crate::nerio) fn release_to(
        &self,
        members: MemberSet,
        start: Time,
        membership: &Membership,
        out: &mut Out,
    ) {
        let next = self.pending.as_ref().and_then(|pending| pending.next.clone());
        for member in members.iter() {
            let release = Release { election: self.election.clone(), start, next: next.clone() };
            send(out, membership.to(member), release);
        }
    }

    pub(in crate::nerio) fn on_released(
        &mut self,
        now: Time,
        from: &Sender,
        released: &Released,
        context: &mut Context,
        out: &mut Out,
    ) {
        self.run_due(now, context, out);
        let sent =
            |pending: &&mut PendingRelease| pending.start == released.start && now >= pending.hold;
        let Some(pending) = self.pending.as_deref_mut().filter(sent) else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        let tell = pending.arrives(from);
        let begin = pending.not_before().max(now);
        if pending.is_over() {
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
