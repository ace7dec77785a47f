//! A candidate of a node that takes its own clock to be wrong.

use alloc::vec;

use super::super::context::Context;
use super::super::rates::wrong_clock;
use super::super::words::Out;
use super::{Candidate, Lease};
use crate::event::{End, Loss};
use crate::time::Time;
use crate::waiting::{Obstacle, Waiting};

impl Candidate {
    /// Ends the leadership, and asks for nothing more. The release waits for the end of the claim:
    /// work under it may last until then, and nothing frees the election before.
    pub(in crate::nerio) fn stop_for_clock(
        &mut self,
        now: Time,
        context: &mut Context,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        match campaign.lease {
            Some(Lease { until, office: Some(_), .. }) => {
                self.promise = self.promise.max(until);
                self.end(now, End::Lost(Loss::Clock), None, context, out);
            }
            // Grants without a leadership end by themselves.
            Some(_) | None => campaign.begin_anew(self.last_start, now),
        }
    }

    /// Reports why this candidate asks for nothing, and looks again after a refresh.
    pub(in crate::nerio) fn wait_for_clock(&mut self, now: Time, context: &Context, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        campaign.next_at = now.after(context.config.refresh);
        let apart = context.membership.named(context.rates.apart());
        let why = wrong_clock(&apart);
        let who = context.who.name.clone();
        let obstacles = vec![Obstacle::sentence(who, "wrong-clock", why)];
        self.say(now, Waiting::Refused { obstacles, missing: vec![] }, context, out);
    }
}
