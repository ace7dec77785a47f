//! Refusals: a candidate learns who is in the way, and yields when no quorum is possible.

use super::super::body::{Holder, Refusal, Refused, Release};
use super::super::event::{Ignored, OwnEvent};
use super::super::grantor::{REACH, holder_rank};
use super::super::identity::Who;
use super::super::quorum::MemberSet;
use super::super::rank::Rank;
use super::super::words::{Out, To, send};
use super::context::Context;
use super::{Campaign, Candidate, Rival};
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::Time;

impl Candidate {
    /// A refusal. It tells who is in the way and for how long.
    pub(in super::super) fn on_refused(
        &mut self,
        now: Time,
        member: usize,
        refused: &Refused,
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
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
            context.trips.observe(now.since(refused.start));
        }
        let is_too_long = matches!(refused.refusal, Refusal::TooLong { .. });
        if is_too_long && !campaign.reach.is_news(member, refused.start) {
            return self.emit(OwnEvent::Ignored(Ignored::Stale), out);
        }
        campaign.reach.heard(member, refused.start);
        let able = matches!(refused.refusal, Refusal::Held { .. } | Refusal::FenceTooFar);
        if campaign.lease.is_none() {
            campaign.reach.answered(member, refused.start, able);
            campaign.hindrances.refused(now, member, refused, context.config);
        }
        let grantor = &context.config.members[member].name;
        if !is_too_long {
            campaign.too_long = campaign.too_long.minus(MemberSet::EMPTY.with(member));
        }
        match &refused.refusal {
            Refusal::Held { holder, .. } => {
                let rank = campaign.rank_of(&self.election, member, holder);
                let until = now.after(context.config.drift.stretch(holder.remaining));
                campaign.on_held(member, refused.start, holder, (rank, until));
                let settled = campaign.lease.as_ref().is_some_and(|lease| lease.settled);
                if settled && !holder.leading {
                    // Somebody who cannot win holds a grantor that should come back to us: wait
                    // there, so that its release reaches us and not the next one.
                    campaign.next_at = campaign.next_at.min(now.after(context.config.refresh));
                }
            }
            Refusal::Quarantine { .. } => {}
            refusal => {
                let too_far = *refusal == Refusal::FenceTooFar;
                let (grantor, refusal) = (grantor.clone(), refusal.clone());
                self.emit(OwnEvent::Obstacle { grantor, refusal }, out);
                if too_far {
                    self.on_too_far(refused.start, refused.seen);
                }
                if is_too_long {
                    self.on_too_long(now, member, context, out);
                }
            }
        }
        if let Some(other) = refused.name_shared {
            self.emit(OwnEvent::NameShared { grantor: grantor.clone(), other }, out);
        }
        self.yield_if_hopeless(now, context, out);
    }

    /// What was heard of the fences is too far above what this grantor has `seen`. It may have been
    /// a wrong word: this candidate begins again from there. If it was not, others repeat it. Then
    /// the highest fence that this grantor accepts is proposed, and it has seen more the next time:
    /// grantors far apart come together.
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

    /// `member` gives no lease as long as this one's. Once no quorum does, what the others granted
    /// is given back, and the places in their queues: another candidate may win with them.
    fn on_too_long(&mut self, now: Time, member: usize, context: &Context<'_>, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let before = campaign.too_long_for(now, context.config);
        campaign.too_long = campaign.too_long.with(member);
        let Some(unable) = campaign.too_long_for(now, context.config) else { return };
        let members = context.config.quorums.everyone().minus(unable);
        // That somebody is silent is news without a message.
        if before.is_some() && !campaign.oks.members().any(|granted| members.contains(granted)) {
            return;
        }
        for member in members.iter() {
            campaign.oks.remove(member);
            campaign.floors[member] = self.last_start;
        }
        self.release_to(members, self.last_start, out);
    }

    /// A split vote is undone by those who cannot win any more and rank below somebody in their
    /// way. A grantor that is silent, or cannot grant, is won by nobody: two that wait for it, each
    /// with the grant that the other needs, would wait for ever. Never by counting votes: views
    /// differ, and both would yield. Only the grants at hand are given up; what waits elsewhere
    /// goes on waiting. A refusal from before the last grant says nothing any more: that grant came
    /// because somebody left. Nor does one that names a leader of which no renewal was seen since:
    /// its grants may be what a dead one left behind.
    pub(in crate::nerio) fn yield_if_hopeless(
        &mut self,
        now: Time,
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        if campaign.lease.is_some() {
            return;
        }
        campaign.refusals.retain(|rival| now < rival.until);
        let oks = &campaign.oks;
        let news = oks.values().map(|ok| ok.news).max().unwrap_or(Time::ZERO);
        let blocks = |(member, rival): &&(usize, Rival)| {
            rival.start >= news && oks.get(*member).is_none_or(|ok| ok.start < rival.start)
        };
        let blocked: MemberSet =
            campaign.refusals.iter().filter(blocks).map(|(member, _)| *member).collect();
        let held: MemberSet = oks.members().filter(|m| !blocked.contains(*m)).collect();
        let lost = campaign.reach.lost(now, context.config.parked_for());
        if held.is_empty() || context.config.quorums.is_possible(blocked.or(lost)) {
            return;
        }
        let own = Rank::of(&self.election, context.who, campaign.priority, false, false);
        let rivals = campaign.refusals.iter().filter(|(member, _)| blocked.contains(*member));
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
            campaign.oks.remove(member);
            campaign.floors[member] = self.last_start;
            campaign.held_off.insert(member, (best.who.clone(), until));
        }
        for member in held.iter() {
            let (election, start) = (self.election.clone(), self.last_start);
            let next = Some(best.who.name.clone());
            let release = Release { election, start, next };
            send(out, To::Member(member), release);
        }
    }
}

impl Campaign {
    /// What waited at `member` was granted: who was in the way there has gone, and so, soon,
    /// elsewhere. Older refusals that name it are no reason to yield, and what was yielded to it
    /// is asked for again at once. Once for each time that it leaves, so not in circles.
    pub(in crate::nerio) fn on_left(&mut self, now: Time, member: usize) {
        let Some(gone) = self.refusals.remove(member) else { return };
        self.refusals.retain(|rival| rival.who != gone.who);
        let yielded = self.held_off.len();
        self.held_off.retain(|(rival, _)| *rival != gone.who);
        if self.held_off.len() < yielded {
            self.next_at = now;
        }
    }

    /// How the holder at `member` ranks. Mostly it is the one that is known there.
    fn rank_of(&self, election: &ElectionName, member: usize, holder: &Holder) -> Rank {
        match self.refusals.get(member).filter(|known| known.who == holder.who) {
            Some(known) => known.rank.again(holder.priority, holder.leading, holder.next),
            None => holder_rank(election, holder),
        }
    }

    /// `holder` is in the way at `member`, says the answer to the request of `start`.
    fn on_held(
        &mut self,
        member: usize,
        start: Time,
        holder: &Holder,
        (rank, until): (Rank, Time),
    ) {
        let granted = holder.start;
        if let Some(known) = self.refusals.get_mut(member) {
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
            // Where somebody else is in the way now, the one before has gone: what was yielded to
            // it is asked for with the next refresh.
            self.held_off.retain(|(rival, _)| *rival != known.who);
        }
        let (who, renewed) = (holder.who.clone(), Time::ZERO);
        self.refusals.insert(member, Rival { start, who, rank, until, granted, renewed });
    }
}
