//! The request that follows a completion: for the fence, for the first lease of full length, or for
//! the renewal. Also the reports about renewals that do not complete.

use core::time::Duration;

use super::super::context::Context;
use super::super::words::{Out, emit};
use super::{Campaign, Candidate};
use crate::time::Time;

impl Candidate {
    /// Schedules the next request: for the fence, for the first lease of full length, or for the
    /// renewal. Grantors, and so observers, learn of the leader from the first request that
    /// announces the fence. So the leader sends this request at once, even if the lease has full
    /// length already.
    pub(in crate::nerio) fn after_completion(
        &mut self,
        now: Time,
        has_fence: bool,
        announced: bool,
        context: &mut Context,
        out: &mut Out,
    ) {
        let period = self.renewal_period(context);
        let Some(campaign) = &mut self.campaign else { return };
        let settled = campaign.lease.as_ref().is_some_and(|lease| lease.settled);
        let period = match &campaign.lease {
            // The present lease may be shorter than δ, which has grown since.
            Some(lease) if context.following.is_some() => period.min(lease.until.since(now) / 3),
            Some(_) | None => period,
        };
        if !has_fence {
            campaign.fence = self.best.next().unwrap_or(self.best);
            campaign.next_at = now.after(campaign.fence_pause(context));
            campaign.fence_rounds = campaign.fence_rounds.saturating_add(1);
        } else if settled && announced {
            campaign.next_at = align(now.after(period), context.config.renew_after() / 32);
        } else {
            campaign.next_at = now;
        }
        if campaign.transfer.is_some() {
            campaign.next_at = now.after(context.retry_of_transfer());
        } else if now >= campaign.next_at {
            self.request(now, context, out);
        }
    }

    /// Reports why a lease of full length is not renewed, once the renewal is overdue, and whether
    /// a spare member is left. Called at each request of a leader, when most grantors have answered
    /// the previous request.
    pub(super) fn say_what_is_missing(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        let (config, retry) = (&context.config, context.retry());
        let Some(campaign) = &self.campaign else { return };
        // If this request is itself late, answers to the previous request may still be unread.
        let is_late = now.since(campaign.next_at) >= retry;
        let settled = campaign.lease.as_ref().filter(|lease| lease.settled);
        let Some(lease) = settled.filter(|_| !is_late) else { return };
        let renewed = lease.until.before(config.drift.shrink(config.lease));
        if now >= renewed.after(config.overdue_after()) {
            // A member that has answered no request since the renewal was due is silent.
            let patience = config.overdue_after().saturating_sub(config.renew_after());
            let patience = patience.min(config.parked_for()).max(retry);
            let silent = context.silence.members.silent(now, patience);
            let waiting = campaign.answers.hindrances.waiting(silent, &context.membership);
            if let Some(waiting) = waiting {
                self.say(now, waiting, context, out);
            }
        }
        let Context { config, membership, silence, .. } = context;
        if let Some(event) = silence.news(now, config.lease, membership) {
            emit(out, None, event);
        }
    }

    /// The pause between renewals: 87.5 to 100 % of a third of the lease, constant for one
    /// election. The draw keeps elections that began together from renewing in one burst.
    fn renewal_period(&self, context: &Context) -> Duration {
        let longest = context.config.renew_after();
        longest - context.draw.span(longest / 8, self.election.as_str(), "renewal", 0)
    }
}

impl Campaign {
    /// The pause before the next proposal of the fence: none after the first round, then longer
    /// each time. A grantor that cannot write accepts no fence, so proposals may fail for long.
    fn fence_pause(&self, context: &Context) -> Duration {
        match self.fence_rounds {
            0 => Duration::ZERO,
            rounds => {
                let pause = context.round_trip().saturating_mul(1 << rounds.min(16));
                pause.min(context.config.refresh)
            }
        }
    }
}

/// Rounds `at` down to a grid, so that elections due at about the same time share their datagrams.
fn align(at: Time, grid: Duration) -> Time {
    let grid = u64::try_from(grid.as_nanos()).unwrap_or(u64::MAX).max(1);
    Time::from_nanos(at.as_nanos() - at.as_nanos() % grid)
}
