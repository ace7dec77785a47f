//! Refusals: a candidate learns of its rivals, and yields when no quorum is possible.

use super::super::body::{Holder, Refusal, Refused, Release};
use super::super::context::Context;
use super::super::event::{Ignored, OwnEvent};
use super::super::grantor::{REACH, holder_rank};
use super::super::identity::Who;
use super::super::quorum::MemberSet;
use super::super::rank::Rank;
use super::super::words::{Out, emit, send};
use super::{Campaign, Candidate, Rival};
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::Time;

impl Candidate {
    /// Handles a refusal. A refusal may name a rival, and the rest of the rival's grant.
    pub(in super::super) fn on_refused(
        &mut self,
        now: Time,
        member: usize,
        refused: &Refused,
        context: &mut Context,
        out: &mut Out,
    ) {
        context.silence.members.answered(member, refused.start);
        self.hear_fence(refused.seen);
        self.run_due(now, context, out);
        let Some(campaign) = &mut self.campaign else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        let asked = campaign.first.is_some_and(|first| refused.start >= first);
        if refused.start > self.last_start || !asked {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        }
        if campaign.sent.iter().any(|sent| sent.start == refused.start) {
            campaign.observe_trip(now, member, refused.start, context);
        }
        let is_too_long = matches!(refused.refusal, Refusal::TooLong { .. });
        if is_too_long && !campaign.answers.reach.is_news(member, refused.start) {
            return self.emit(OwnEvent::Ignored(Ignored::Stale), out);
        }
        campaign.answers.reach.heard(member, refused.start);
        if self.follows(now, &refused.refusal, context, out) {
            return self.run_due(now, context, out);
        }
        let Some(campaign) = &mut self.campaign else { return };
        let able = matches!(refused.refusal, Refusal::Held { .. } | Refusal::FenceTooFar);
        if campaign.lease.is_none() {
            campaign.answers.reach.answered(member, refused.start, able);
        }
        campaign.answers.hindrances.refused(now, member, refused, &context.config);
        let grantor = context.membership.name(member);
        let (this, too_long) = (MemberSet::EMPTY.with(member), campaign.answers.too_long);
        campaign.answers.too_long =
            if is_too_long { too_long.or(this) } else { too_long.minus(this) };
        match &refused.refusal {
            Refusal::Held { holder, .. } => {
                let rank = campaign.rank_of(&self.election, member, holder);
                let until = now.after(context.config.drift.stretch(holder.remaining));
                campaign.on_held(member, refused.start, holder, (rank, until));
                let settled = campaign.lease.as_ref().is_some_and(|lease| lease.settled);
                if settled && !holder.leading {
                    // The rival cannot win, and will give this grant back. Ask again soon, so that
                    // our request already waits at the grantor by then.
                    campaign.next_at = campaign.next_at.min(now.after(context.config.refresh));
                }
            }
            Refusal::Quarantine { .. } | Refusal::Wedged { .. } => {}
            refusal => {
                let too_far = *refusal == Refusal::FenceTooFar;
                let (grantor, refusal) = (grantor.clone(), refusal.clone());
                self.emit(OwnEvent::Obstacle { grantor, refusal }, out);
                if too_far {
                    self.on_too_far(refused.start, refused.seen);
                }
            }
        }
        if let Some(other) = refused.name_shared {
            self.emit(OwnEvent::NameShared { grantor: grantor.clone(), other }, out);
        }
        self.yield_if_hopeless(now, context, out);
    }

    /// Whether the refused lease follows the network, and this candidate now asks for a shorter
    /// lease. This refusal, or an earlier refusal of another grantor, has then shortened the lease.
    fn follows(
        &mut self,
        now: Time,
        refusal: &Refusal,
        context: &mut Context,
        out: &mut Out,
    ) -> bool {
        let Refusal::TooLong { lease, delta_max } = refusal else { return false };
        if context.following.is_none() {
            return false;
        }
        if let Some(event) = context.follow_refusal(now, *delta_max) {
            emit(out, None, event);
            if let Some(campaign) = &mut self.campaign {
                campaign.next_at = now;
            }
        }
        *lease > context.config.lease
    }

    /// Handles a refusal of a fence too far above `seen`, the highest fence that this grantor has
    /// seen. A wrong report may have misled the candidate, so it begins again from `seen`. If other
    /// grantors repeat the high fence, the candidate proposes the highest fence that this grantor
    /// accepts. Each such proposal raises `seen`, so grantors that are far apart converge.
    fn on_too_far(&mut self, start: Time, seen: Fence) {
        let Some(campaign) = &mut self.campaign else { return };
        let first = *campaign.too_far.get_or_insert(self.last_start);
        let reach = Fence::new(seen.number().saturating_add(REACH - 1));
        self.best = if start > first { self.best.min(reach).max(seen) } else { seen };
        let fence = self.best.next().unwrap_or(self.best);
        if campaign.lease.as_ref().is_none_or(|lease| lease.office.is_none()) {
            campaign.fence = fence;
        }
    }

    /// Undoes a split vote: if this candidate cannot win any more, it yields to a rival that ranks
    /// above it. The candidate gives its grants back; its requests at other grantors go on waiting.
    ///
    /// - A grantor that is silent or cannot grant counts for no candidate. Otherwise two
    ///   candidates, each with a grant that the other needs, would wait for this grantor for ever.
    /// - Ranks decide, never numbers of votes: candidates see different numbers, and both would
    ///   yield.
    /// - Refusals from before the last grant do not count, because a rival may have left since.
    /// - A refusal that names a leader counts only after a renewal of this leader: a dead leader
    ///   may still hold grants.
    pub(in crate::nerio) fn yield_if_hopeless(
        &mut self,
        now: Time,
        context: &mut Context,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        if campaign.lease.is_some() {
            return;
        }
        campaign.return_if_possible(now, context);
        campaign.answers.refusals.retain(|rival| now < rival.until);
        let oks = &campaign.answers.oks;
        let news = oks.values().map(|ok| ok.news).max().unwrap_or(Time::ZERO);
        let blocks = |(member, rival): &&(usize, Rival)| {
            rival.start >= news && oks.get(*member).is_none_or(|ok| ok.start < rival.start)
        };
        let blocked: MemberSet =
            campaign.answers.refusals.iter().filter(blocks).map(|(member, _)| *member).collect();
        let held: MemberSet = oks.members().filter(|m| !blocked.contains(*m)).collect();
        let lost = campaign.answers.reach.lost(now, context.config.parked_for());
        if held.is_empty() || context.membership.quorums().is_possible(blocked.or(lost)) {
            return;
        }
        let own = Rank::of(&self.election, &context.who, campaign.priority, false, false);
        let rivals =
            campaign.answers.refusals.iter().filter(|(member, _)| blocked.contains(*member));
        let rivals = rivals.map(|(_, rival)| rival);
        let renews =
            |who: &Who| rivals.clone().any(|rival| rival.who == *who && rival.renewed >= news);
        let contends = |rival: &&Rival| !rival.rank.leading || renews(&rival.who);
        let best = rivals.clone().filter(contends).max_by_key(|rival| rival.rank);
        let Some(best) = best.filter(|rival| rival.rank > own).cloned() else { return };
        let base = if best.rank.leading { context.config.refresh } else { best.until.since(now) };
        let until = now.after(base + self.draw(context.config.refresh, "yield", context));
        let Some(campaign) = &mut self.campaign else { return };
        for member in held.iter() {
            campaign.answers.oks.remove(member);
            campaign.answers.floors[member] = self.last_start;
            campaign.answers.held_off.insert(member, (Some(best.who.clone()), until));
        }
        for member in held.iter() {
            let (election, start) = (self.election.clone(), self.last_start);
            let next = Some(best.who.name.clone());
            let release = Release { election, start, next };
            send(out, context.membership.to(member), release);
        }
    }
}

impl Campaign {
    /// Handles a grant to a request that waited at `member`: the rival there has left, and other
    /// grantors soon know. Older refusals that name this rival are no reason to yield any more. The
    /// candidate asks again at once for the grants that it yielded to the rival, once for each
    /// departure.
    pub(in crate::nerio) fn on_left(&mut self, now: Time, member: usize) {
        let Some(gone) = self.answers.refusals.remove(member) else { return };
        self.answers.refusals.retain(|rival| rival.who != gone.who);
        let yielded = self.answers.held_off.len();
        self.answers.held_off.retain(|(rival, _)| rival.as_ref() != Some(&gone.who));
        if self.answers.held_off.len() < yielded {
            self.next_at = now;
        }
    }

    /// The rank of `holder`. If `holder` is the known rival at `member`, keeps the parts of the
    /// known rank that do not change.
    fn rank_of(&self, election: &ElectionName, member: usize, holder: &Holder) -> Rank {
        match self.answers.refusals.get(member).filter(|known| known.who == holder.who) {
            Some(known) => known.rank.again(holder.priority, holder.leading, holder.next),
            None => holder_rank(election, holder),
        }
    }

    /// Notes `holder` as the rival at `member`, from the refusal of the request of `start`.
    fn on_held(
        &mut self,
        member: usize,
        start: Time,
        holder: &Holder,
        (rank, until): (Rank, Time),
    ) {
        let granted = holder.start;
        if let Some(known) = self.answers.refusals.get_mut(member) {
            if known.start > start {
                return;
            }
            if known.who == holder.who {
                if known.granted < granted {
                    known.renewed = start;
                }
                (known.start, known.rank, known.until, known.granted) =
                    (start, rank, until, granted);
                return;
            }
            // Another rival holds this grant now, so the earlier rival has gone. With the next
            // refresh, ask again for the grants that this candidate yielded to the earlier rival.
            self.answers.held_off.retain(|(rival, _)| rival.as_ref() != Some(&known.who));
        }
        let (who, renewed) = (holder.who.clone(), Time::ZERO);
        self.answers.refusals.insert(member, Rival { start, who, rank, until, granted, renewed });
    }
}
