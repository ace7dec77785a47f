//! One instance of OQwBD: requests out, oks in, and the completion.

use super::super::body::{Granted, Request};
use super::super::identity::{Instance, Mark, Stamp};
use super::super::roster::replaced;
use super::*;
use crate::drift::Drift;

/// How many unanswered requests a candidate remembers.
const SENT_MAX: usize = 64;

/// A request that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sent {
    pub(super) start: Time,
    pub(super) delta: Duration,
    pub(super) fence: Fence,
}

/// The ok of one grantor that counts: the one with the highest Start, everything from that one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Answer {
    pub(super) start: Time,
    pub(super) instance: Instance,
    /// Which memories its grantor has written down.
    pub(super) memories: Vec<Mark>,
    pub(super) stamp: Stamp,
    /// The fence that it accepted for this leadership.
    pub(super) accepted: Option<Fence>,
    /// What others said before this grant is out of date: its Start, or when it arrived if the
    /// request had waited for somebody to leave.
    pub(super) news: Time,
    /// `Start + (1 − ρ)δ`: what this grantor's word is good for.
    pub(super) good_until: Time,
}

impl Answer {
    /// What an ok to `sent` counts for: all of it comes from this one, nothing from one before
    /// (parked requests 4, 5). What it is good for counts from the send (section 3, step 8).
    pub(super) fn of(now: Time, granted: &Granted, sent: &Sent, drift: Drift) -> Self {
        Self {
            start: sent.start,
            instance: granted.instance,
            memories: granted.memories.clone(),
            stamp: granted.stamp,
            accepted: granted.accepted.then_some(sent.fence),
            news: if granted.waited { now } else { sent.start },
            good_until: sent.start.after(drift.shrink(sent.delta)),
        }
    }
}

impl Candidate {
    /// Steps 1 to 3: samples Start, chooses δ, asks every grantor.
    pub(super) fn request(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        if now <= self.last_start {
            campaign.next_at = self.last_start.next();
            return;
        }
        self.last_start = now;
        let promised = self.pending.as_ref().is_some_and(|pending| now < pending.not_before());
        debug_assert!(!promised, "I9: no attempt between E := C and the release");
        let leading = campaign.lease.is_some();
        if !leading {
            self.say_what_it_waits_for(now, context, out);
        }
        let Some(campaign) = &mut self.campaign else { return };
        // The first lease is short (who is next 3).
        let delta = if leading { context.config.lease } else { context.config.lease_first() };
        campaign.first.get_or_insert(now);
        if !leading && self.best >= campaign.fence {
            // While it waits others lead: propose what the next leader needs.
            campaign.fence = self.best.next().unwrap_or(self.best);
        }
        if campaign.sent.len() == SENT_MAX {
            campaign.sent.remove(0);
        }
        campaign.sent.push(Sent { start: now, delta, fence: campaign.fence });
        campaign.held_off.retain(|(_, until)| now < *until);
        let transfer = campaign.transfer.as_ref().map(|transfer| transfer.to.clone());
        let request = Request {
            election: self.election.clone(),
            start: now,
            delta,
            lease: context.config.lease,
            first: campaign.first.unwrap_or(now),
            fence: campaign.fence,
            announced: campaign.announced(),
            priority: campaign.priority,
            leading,
            next: transfer.or_else(|| campaign.successor(now, context.config).cloned()),
            value: campaign.value.clone(),
        };
        let too_long = campaign.too_long_for(now, context.config);
        for member in 0..context.config.members.len() {
            if too_long.is_some_and(|asked| !asked.contains(member)) {
                continue;
            }
            let pending = self.pending.as_ref().is_some_and(|pending| pending.awaits(member));
            if pending || campaign.held_off.contains(member) {
                continue;
            }
            if !leading {
                campaign.reach.asked(member, now);
            }
            send(out, To::Member(member), request.clone());
        }
        campaign.next_at = match (leading, &campaign.transfer) {
            (false, _) => now.after(context.config.refresh),
            (true, Some(_)) => now.after(context.retry().min(context.config.refresh)),
            (true, None) => now.after(context.retry()),
        };
    }

    /// Says what the campaign waits for, if that has changed: when it asks again, so that those who
    /// answer at once have answered.
    fn say_what_it_waits_for(&mut self, now: Time, context: &Context<'_>, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let config = context.config;
        let silent = campaign.reach.silent(now, config.parked_for());
        let limits = (config.refresh, config);
        if let Some(waiting) = campaign.hindrances.news(now, silent, limits) {
            self.emit(Event::Waiting(waiting), out);
        }
    }

    /// Steps 7 and 8: completes if oks of a quorum are at hand and still good.
    pub(super) fn try_complete(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let announced = campaign.lease.as_ref().is_some_and(|lease| lease.office.is_some());
        let with_fence = if announced { None } else { campaign.best_quorum(now, true, context) };
        let completed = match with_fence {
            Some(found) => Some((found, true)),
            None => campaign.best_quorum(now, false, context).map(|found| (found, announced)),
        };
        let Some(((members, until), has_fence)) = completed else { return };
        // By the memory that gave them: a lost directory is another grantor (restart: instances).
        let stamps = members.iter().filter_map(|member| {
            let ok = campaign.oks.get(member)?;
            Some((ok.instance, ok.stamp))
        });
        let timestamp = QuorumTimestamp::new(stamps);
        debug_assert!(context.config.quorums.is_quorum(members), "I6: a quorum completes");
        debug_assert!(now < until, "I6: in time");
        campaign.abort(self.last_start);
        let renewed = campaign.lease.is_some();
        let lease = campaign.lease.get_or_insert(Lease { until, office: None, settled: false });
        lease.until = lease.until.max(until);
        let settles = renewed && has_fence && !lease.settled;
        lease.settled |= settles;
        if has_fence {
            self.claim(announced, timestamp, context, out);
        }
        if settles {
            self.emit(Event::Settled, out);
        }
        self.after_completion(now, has_fence, announced, context, out);
    }

    /// Raises the claim; the first time it also says what was won.
    fn claim(
        &mut self,
        announced: bool,
        timestamp: QuorumTimestamp,
        context: &Context<'_>,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some(lease) = &mut campaign.lease else { return };
        let fence = match &lease.office {
            Some((fence, _)) => *fence,
            None => campaign.fence,
        };
        lease.office.get_or_insert_with(|| (fence, timestamp.clone()));
        let (election, until) = (self.election.clone(), lease.until);
        self.best = self.best.max(fence);
        out.push(Effect::Raise { election, until, fence: Some(fence) });
        if !announced {
            self.emit(OwnEvent::Stamped { fence, timestamp }, out);
            let id = context.who.name.clone().into();
            self.emit(Event::Elected { id, fence: Some(fence) }, out);
        }
    }

    /// What comes next: the fence, the first lease of full length, or the next renewal. After a
    /// second round for the fence the lease has its full length already; but the grantors, and so
    /// those who ask them, learn who leads from the first request that is sent with the fence
    /// `announced`.
    fn after_completion(
        &mut self,
        now: Time,
        has_fence: bool,
        announced: bool,
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        let period = self.renewal_period(context);
        let Some(campaign) = &mut self.campaign else { return };
        let settled = campaign.lease.as_ref().is_some_and(|lease| lease.settled);
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
            campaign.next_at = now.after(context.retry().min(context.config.refresh));
        } else if now >= campaign.next_at {
            self.request(now, context, out);
        }
    }

    /// Between three quarters of a third of the lease and all of it, always the same for one
    /// election: elections that began together drift apart instead of renewing in one burst.
    fn renewal_period(&self, context: &Context<'_>) -> Duration {
        let longest = context.config.renew_after();
        longest - context.draw.span(longest / 4, self.election.as_str(), "renewal", 0)
    }
}

impl Campaign {
    /// The fence with which the claim was raised: before that this is a candidate, whatever it was
    /// granted.
    fn announced(&self) -> Option<Fence> {
        let (fence, _) = self.lease.as_ref()?.office.as_ref()?;
        Some(*fence)
    }

    /// How long to wait before the fence is proposed again: not at all after the first round,
    /// and then ever longer, because a grantor that cannot write accepts none.
    fn fence_pause(&self, context: &Context<'_>) -> Duration {
        match self.fence_rounds {
            0 => Duration::ZERO,
            rounds => {
                let pause = context.round_trip().saturating_mul(1 << rounds.min(16));
                pause.min(context.config.refresh)
            }
        }
    }

    /// The members whose oks do not count, because another one that is good names another memory of
    /// theirs; and one of them, with who does.
    pub(super) fn replaced(
        &self,
        now: Time,
        config: &Checked,
    ) -> Option<(MemberSet, (usize, usize))> {
        let live = self.oks.iter().filter(move |(_, ok)| now < ok.good_until);
        replaced(live.map(|(member, ok)| (*member, ok.instance, &ok.memories[..])), config)
    }

    /// The members whose oks complete the instance, and the E that they give: the latest instant
    /// before which all oks of some quorum are good. No ok of one memory counts together with one
    /// that names another memory of the same member.
    fn best_quorum(
        &self,
        now: Time,
        accepted: bool,
        context: &Context<'_>,
    ) -> Option<(MemberSet, Time)> {
        // Together they have accepted one fence (scalar fence 2).
        let same = |ok: &Answer| ok.accepted == Some(self.fence);
        let good = |ok: &Answer| now < ok.good_until && (!accepted || same(ok));
        let replaced = self.replaced(now, context.config);
        let replaced = replaced.map_or(MemberSet::EMPTY, |(members, _)| members);
        let oks = self.oks.iter().filter(|(member, ok)| good(ok) && !replaced.contains(*member));
        context.config.quorums.longest(oks.map(|(member, ok)| (ok.good_until, *member)))
    }
}

/// Rounds `at` down to a grid, so that elections that are due at about the same time share their
/// datagrams.
fn align(at: Time, grid: Duration) -> Time {
    let grid = u64::try_from(grid.as_nanos()).unwrap_or(u64::MAX).max(1);
    Time::from_nanos(at.as_nanos() - at.as_nanos() % grid)
}
