//! Standing: who may lead next, and when.

use alloc::vec::Vec;
use core::time::Duration;

use super::lead::{Campaign, Phase};
use super::presence::speaks_for;
use super::{Election, Vacancy};
use crate::allcall::config::Callers;
use crate::allcall::context::Context;
use crate::allcall::identity::{Participant, Rank};
use crate::time::Time;

/// At least so many answer: each of them hears the clocks of two others (ruling 4).
const ANSWER_LEAST: usize = 3;

/// L + K: every claim that was granted before is over after that, or was heard.
pub(super) fn listening(context: &Context<'_>) -> Duration {
    let config = context.config;
    config.drift.stretch(config.lease.saturating_add(config.max_clock_skew))
}

impl Election {
    /// Whether its initial wait is over.
    pub(super) fn has_listened(&self, context: &Context<'_>) -> bool {
        self.listens.is_some_and(|listens| listens <= context.boot())
    }

    /// When its initial wait is over, if it is not.
    pub(in crate::allcall) fn listens(&self, now: Time) -> Option<Time> {
        self.listens.filter(|listens| *listens > now)
    }

    /// After a void round, or one that never was: it may have missed a claim (ruling 8).
    pub(super) fn hold_off(&mut self, context: &Context<'_>) {
        let leads = self.campaign.as_ref().is_some_and(Campaign::leads);
        if !leads && context.config.rejoin_wait {
            self.held_off = context.boot().after(listening(context));
        }
    }

    /// Whether it could lead now, but for others (ruling 1).
    pub(super) fn is_eligible(&self, context: &Context<'_>) -> bool {
        let beaten = self
            .campaign
            .as_ref()
            .is_none_or(|campaign| matches!(campaign.phase, Phase::Leading { beaten: true, .. }));
        let waits = self.held_off > context.boot() || !self.has_listened(context);
        self.valid && !beaten && !waits && !context.clock_off && context.connected
    }

    /// Whether it calls in the round that is opened now (ruling 9).
    pub(super) fn calls(&self, context: &Context<'_>) -> bool {
        let Callers::Few(few) = context.config.callers else { return true };
        let waits = self.campaign.as_ref().is_some_and(|campaign| campaign.phase == Phase::Waiting);
        let able = self.is_left_vacant(context);
        // Of two clocks nobody knows which has moved but by what was compared before.
        let compares = context.clock_due && self.presence.others() <= 1;
        !waits || compares || self.presence.better_callers(able, context) < usize::from(few.get())
    }

    /// Whether it answers calls and questions (ruling 9): of many that have the same to say only
    /// the best do.
    pub(in crate::allcall) fn answers(&self, context: &Context<'_>) -> bool {
        let Callers::Few(few) = context.config.callers else { return true };
        let few = usize::from(few.get()).max(ANSWER_LEAST);
        let ended = self.tombstones.is_of(&context.me.who);
        self.speaks() || ended || self.presence.better_ones(context) < few
    }

    /// Whether nobody leads, or is about to lead no more, although this process could have stood:
    /// those that go before it may be unable to.
    fn is_left_vacant(&self, context: &Context<'_>) -> bool {
        let (now, span) = (context.boot(), speaks_for(context.config.heartbeat));
        let ready = self.listens.is_some_and(|at| at.max(self.held_off).after(span) <= now);
        // A leader would have renewed long before.
        ready && !context.clock_off && self.claims.followed(now.after(span)).is_none()
    }

    /// A round has ended, one heartbeat after its call: `valid` if the own call was heard in time,
    /// `None` if it said nothing of this election.
    pub(in crate::allcall) fn close(&mut self, valid: Option<bool>, context: &mut Context<'_>) {
        (self.valid, self.closed) = (valid == Some(true), context.boot());
        if valid == Some(false) {
            self.hold_off(context);
        }
        self.tombstones.expire(context.boot());
        self.doubts.expire(context.boot());
        if let Some(observed) = &mut self.observed {
            observed.rounds |= valid.is_some();
        }
        if self.valid {
            self.renew(context);
        }
        if self.may_stand(context) {
            self.grant(context);
        }
        self.presence.forget(context);
    }

    /// Whether it stands now: after a full valid round in which it announced that it is eligible
    /// (ruling 1), and one of the better ones after the other (ruling 6).
    fn may_stand(&mut self, context: &Context<'_>) -> bool {
        let now = context.boot();
        let waits = self.campaign.as_ref().is_some_and(|campaign| campaign.phase == Phase::Waiting);
        if !waits || !self.announced || !self.is_eligible(context) {
            // Whatever keeps it from standing may keep the better ones from it, too (ruling 6).
            self.vacancy.waits = None;
            return false;
        }
        if self.claims.live(now).next().is_some() {
            self.vacancy = Vacancy::default();
            return false;
        }
        let before = self.before(context);
        let places = u32::try_from(before.len()).unwrap_or(u32::MAX);
        // Each of them has had a round since this process knew of it: not since the seat became
        // vacant, when it may not have been there, or may have listened still.
        let since = match &self.vacancy.waits {
            Some((since, known)) if *known == before => *since,
            _ => {
                self.vacancy.waits = Some((now, before));
                now
            }
        };
        let config = context.config;
        // By the fastest clock and the slowest, of two that began to listen at once the one ends so
        // much before the other.
        let listens = config.lease.saturating_add(config.max_clock_skew);
        let apart = config.drift.stretch(listens).saturating_sub(config.drift.shrink(listens));
        let each = config.heartbeat.saturating_add(config.max_clock_skew).saturating_mul(2);
        let each = each.saturating_add(apart);
        now.since(since) >= each.saturating_mul(places)
    }

    /// Those of the eligible that go before this process when the seat is vacant: the one that it
    /// was handed over to, and the better ranks.
    fn before(&self, context: &Context<'_>) -> Vec<Participant> {
        let named = |who: &Participant| self.vacancy.named.as_ref() == Some(who);
        if named(&context.me.who) {
            return Vec::new();
        }
        let goes_before =
            |rank: Rank, who: &Participant| named(who) || !context.me.goes_before(rank, who);
        let eligible = self.presence.eligible(context);
        eligible.filter(|(rank, who)| goes_before(*rank, who)).map(|(_, who)| who.clone()).collect()
    }

    /// Whether nobody that could lead goes before this process.
    pub(super) fn is_best(&self, context: &Context<'_>) -> bool {
        self.presence.eligible(context).all(|(rank, who)| context.me.goes_before(rank, who))
    }

    /// The best of the others that could lead.
    pub(super) fn best_other(&self, context: &Context<'_>) -> Option<(Rank, Participant)> {
        let best = self.presence.eligible(context).min_by_key(|(rank, who)| (*rank, *who));
        best.map(|(rank, who)| (rank, who.clone()))
    }

    /// The one of the others that is expected to lead next, if it goes before this process.
    pub(super) fn better(&self, context: &Context<'_>) -> Option<Participant> {
        let best = self.best_other(context);
        best.filter(|(rank, who)| !context.me.goes_before(*rank, who)).map(|(_, who)| who)
    }
}
