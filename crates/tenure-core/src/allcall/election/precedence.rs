//! The order of candidates that wait, and the candidates that call and answer.

use alloc::vec::Vec;
use core::time::Duration;

use super::campaign::{Campaign, Phase};
use super::presence::speaks_for;
use super::state::Election;
use crate::allcall::config::Callers;
use crate::allcall::context::Context;
use crate::allcall::identity::{Participant, Rank};
use crate::time::Time;

/// At least this number of participants answer, so that each can compare its clock with two others
/// (ruling 4).
const ANSWER_LEAST: usize = 3;

/// The initial wait, `lease` + `max_clock_skew`: after it, each earlier claim was heard or is over.
pub(in crate::allcall) fn listening(context: &Context<'_>) -> Duration {
    let config = context.config;
    config.drift.stretch(config.lease.saturating_add(config.max_clock_skew))
}

impl Election {
    pub(in crate::allcall) fn has_listened(&self, context: &Context<'_>) -> bool {
        self.wait.listens.is_some_and(|listens| listens <= context.boot())
    }

    /// The end of the initial wait, while it lasts.
    pub(in crate::allcall) fn listens(&self, now: Time) -> Option<Time> {
        self.wait.listens.filter(|listens| *listens > now)
    }

    /// Holds a candidate off after a void or missing round, because it may have missed a claim
    /// (ruling 8).
    pub(in crate::allcall) fn hold_off(&mut self, context: &Context<'_>) {
        let leads = self.campaign.as_ref().is_some_and(Campaign::leads);
        if !leads && context.config.rejoin_wait {
            self.wait.held_off = context.boot().after(listening(context));
        }
    }

    /// Whether this process could lead now, other candidates aside (ruling 1).
    pub(in crate::allcall) fn is_eligible(&self, context: &Context<'_>) -> bool {
        let beaten = self.campaign.as_ref().is_none_or(Campaign::is_beaten);
        let waits = self.wait.held_off > context.boot() || !self.has_listened(context);
        let able = !context.clock_off && !context.undecided && context.connected;
        self.round.valid && !beaten && !waits && able
    }

    /// Whether this process calls in the round that it opens now (ruling 9).
    pub(in crate::allcall) fn calls(&self, context: &Context<'_>) -> bool {
        let Callers::Few(few) = context.config.callers else { return true };
        let waits = self.campaign.as_ref().is_some_and(|campaign| campaign.phase == Phase::Waiting);
        let able = self.is_left_vacant(context);
        // With only one other participant, compare clocks regularly: later comparisons then show
        // which of the two clocks has moved.
        let compares = context.clock_due && self.others.presence.others() <= 1;
        !waits
            || compares
            || self.others.presence.better_callers(able, context) < usize::from(few.get())
    }

    /// Whether this process answers calls and questions (ruling 9). If many could answer, only the
    /// best candidates do.
    pub(in crate::allcall) fn answers(&self, context: &Context<'_>) -> bool {
        let Callers::Few(few) = context.config.callers else { return true };
        let few = usize::from(few.get()).max(ANSWER_LEAST);
        let ended = self.others.tombstones.is_of(&context.me.who);
        self.speaks() || ended || self.others.presence.better_ones(context) < few
    }

    /// Whether the seat is vacant, or soon will be, although this process could have stood for some
    /// time: better candidates seem unable to stand.
    fn is_left_vacant(&self, context: &Context<'_>) -> bool {
        let now = context.boot();
        let span = speaks_for(context.config.heartbeat);
        let ready =
            self.wait.listens.is_some_and(|at| at.max(self.wait.held_off).after(span) <= now);
        // A living leader would have renewed before the claim came so close to its end.
        ready && !context.clock_off && self.others.claims.followed(now.after(span)).is_none()
    }

    /// The eligible candidates that come before this process when the seat is vacant: the successor
    /// that the last leader has named, and better ranks.
    pub(in crate::allcall) fn before(&self, context: &Context<'_>) -> Vec<Participant> {
        let named = |who: &Participant| self.vacancy.named.as_ref() == Some(who);
        if named(&context.me.who) {
            return Vec::new();
        }
        let goes_before =
            |rank: Rank, who: &Participant| named(who) || !context.me.goes_before(rank, who);
        let eligible = self.others.presence.eligible(context);
        eligible.filter(|(rank, who)| goes_before(*rank, who)).map(|(_, who)| who.clone()).collect()
    }

    pub(in crate::allcall) fn is_best(&self, context: &Context<'_>) -> bool {
        self.others.presence.eligible(context).all(|(rank, who)| context.me.goes_before(rank, who))
    }

    pub(in crate::allcall) fn best_other(
        &self,
        context: &Context<'_>,
    ) -> Option<(Rank, Participant)> {
        let best = self.others.presence.eligible(context).min_by_key(|(rank, who)| (*rank, *who));
        best.map(|(rank, who)| (rank, who.clone()))
    }

    pub(in crate::allcall) fn better(&self, context: &Context<'_>) -> Option<Participant> {
        let best = self.best_other(context);
        best.filter(|(rank, who)| !context.me.goes_before(*rank, who)).map(|(_, who)| who)
    }
}
