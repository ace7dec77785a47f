//! The end of a claim because a clock is wrong, or was set.

use alloc::vec;

use super::super::context::Context;
use super::super::rates::wrong_clock;
use super::super::words::Out;
use super::{Candidate, Lease};
use crate::event::{End, Loss};
use crate::time::Time;
use crate::waiting::{Obstacle, Waiting};

impl Candidate {
    /// Delays the next release until the end of the claim as it was raised: the work under the
    /// claim may use its grace until then.
    pub(in crate::nerio) fn wait_for_claim(&mut self, now: Time) {
        let lease = self.campaign.as_ref().and_then(|campaign| campaign.lease.as_ref());
        if let Some(shown) = lease.map(|lease| lease.shown).filter(|shown| now < *shown) {
            self.promise = self.promise.max(shown);
        }
    }

    /// Gives up a leadership after a handle has found that the claim has lapsed on the wall clock.
    /// The core may not see this lapse, if the wall clock is set back soon afterwards.
    pub(in crate::nerio) fn give_up_lapsed(
        &mut self,
        now: Time,
        context: &mut Context,
        out: &mut Out,
    ) {
        if context.config.clock_skew_max.is_some() {
            self.wait_for_claim(now);
        }
        self.resign(now, context, out);
    }

    /// Ends the leadership, and asks for no grant any more. The release waits for the end of the
    /// claim, because work under the claim may last until then.
    pub(in crate::nerio) fn stop_for_clock(
        &mut self,
        now: Time,
        context: &mut Context,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        match campaign.lease {
            Some(Lease { office: Some(_), .. }) => {
                self.wait_for_claim(now);
                self.end(now, End::Lost(Loss::Clock), None, context, out);
            }
            // The candidate has grants but does not lead: it releases nothing, and the grants end
            // by themselves.
            Some(_) | None => campaign.begin_anew(self.last_start, now),
        }
    }

    /// Reports why this candidate asks for no grant. The candidate looks again after a refresh
    /// interval.
    pub(in crate::nerio) fn wait_for_clock(&mut self, now: Time, context: &Context, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        campaign.next_at = now.after(context.config.refresh);
        let apart = context.membership.named(context.rates.faster());
        let why = wrong_clock(&apart);
        let who = context.who.name.clone();
        let obstacles = vec![Obstacle::sentence(who, "wrong-clock", why)];
        self.say(now, Waiting::Refused { obstacles, missing: vec![] }, context, out);
    }
}
