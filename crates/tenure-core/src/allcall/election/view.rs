//! What the application is told: who leads, and what a campaign waits for.

use alloc::format;
use alloc::vec::Vec;

use super::Election;
use super::claims::Heard;
use super::lead::{Campaign, Phase};
use super::presence::present_for;
use crate::allcall::context::Context;
use crate::allcall::event::Event;
use crate::time::Time;
use crate::view::{LeaderView, View};
use crate::waiting::{Obstacle, Waiting};

/// Somebody looks at the election.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Observed {
    /// What was told last.
    shown: Option<View>,
    /// Whether a round has ended, valid or void, so that something can be said.
    pub(super) rounds: bool,
}

impl Election {
    /// The application wants to know who leads, or wants to be told anew.
    pub(in crate::allcall) fn observe(&mut self) {
        let rounds = self.valid;
        self.observed = Some(Observed { shown: None, rounds });
    }

    /// It no longer does.
    pub(in crate::allcall) fn unobserve(&mut self) {
        self.observed = None;
    }

    /// Tells what has changed.
    pub(in crate::allcall) fn tell(&mut self, context: &mut Context<'_>) {
        self.tell_view(context);
        self.tell_waiting(context);
    }

    fn tell_view(&mut self, context: &mut Context<'_>) {
        let Some(observed) = &self.observed else { return };
        let since = match &observed.shown {
            Some(View::Unknown { since }) => *since,
            _ => context.boot(),
        };
        let Some(view) = self.view(observed.rounds, since, context) else { return };
        let same = observed.shown.as_ref().is_some_and(|shown| shown.is_same(&view));
        if let Some(observed) = self.observed.as_mut().filter(|_| !same) {
            observed.shown = Some(view.clone());
            self.emit(Event::View(view.into()), context);
        }
    }

    /// Who leads: this process, if it does, otherwise the greatest claim, the others after it.
    /// One that has not heard its own claim yet is no leader, and may never be. Vacant is what a
    /// valid round found, after every lease that may have been missed is over; one that was void
    /// says nothing, and neither does one in which somebody said that somebody leads and was not
    /// believed, as where one of the two clocks is wrong, or that went by other times, or while one
    /// that has stood may lead by now.
    fn view(&self, rounds: bool, since: Time, context: &Context<'_>) -> Option<View> {
        let now = context.boot();
        let own = self.campaign.as_ref().and_then(|campaign| own(campaign, context));
        let mut heard: Vec<&Heard> = self.claims.live(now).filter(|known| known.holds).collect();
        heard.sort_by_key(|known| (core::cmp::Reverse(known.claim.until), known.claim.rank));
        let mut leaders = own.into_iter().chain(heard.into_iter().map(seen));
        match leaders.next() {
            None if !rounds => None,
            None if self.valid && self.knows_all(context) && !self.may_be_led(now) => {
                Some(View::Vacant)
            }
            None => Some(View::Unknown { since }),
            Some(followed) => {
                let others: Vec<_> = leaders.collect();
                Some(match others.is_empty() {
                    true => View::Leader(followed),
                    false => View::Leaders { followed, others },
                })
            }
        }
    }

    /// Whether it would know of a leader, also of one that is stopped or cut off: it has listened
    /// for as long as one that stands, or has just been told by one that could stand. While the
    /// round after the last one is overdue, this process was stopped, and has not read what came.
    fn knows_all(&self, context: &Context<'_>) -> bool {
        let (now, span) = (context.boot(), present_for(context.config.heartbeat));
        let round = context.config.heartbeat.saturating_mul(3) / 2;
        if now.since(self.closed) > round {
            return false;
        }
        let told = self.vouched.is_some_and(|vouched| now.since(vouched) <= span);
        told || (self.has_listened(context) && self.held_off <= now)
    }

    /// Whether somebody has stood, and may have heard its own claim, or somebody says that it is
    /// led and is not believed.
    fn may_be_led(&self, now: Time) -> bool {
        let stood = self.claims.live(now).next().is_some();
        stood || self.doubts.are_there(now)
    }

    fn tell_waiting(&mut self, context: &mut Context<'_>) {
        let Some(waits) = self.waits(context) else { return };
        let Some(campaign) = &mut self.campaign else { return };
        // Each void round holds off a little longer.
        let slack = context.config.lease / 2;
        if campaign.waits.as_ref().is_none_or(|known| !known.is_as(&waits, slack)) {
            campaign.waits = Some(waits.clone());
            self.emit(Event::Waiting(waits), context);
        }
    }

    /// What the campaign waits for, unless it leads or is about to.
    fn waits(&self, context: &Context<'_>) -> Option<Waiting> {
        let campaign = self.campaign.as_ref()?;
        if campaign.phase != Phase::Waiting {
            return None;
        }
        if !context.connected {
            return Some(Waiting::Connecting { obstacles: Vec::new() });
        }
        if context.clock_off {
            let skew = context.config.max_clock_skew;
            let why = format!(
                "this machine's clock has stepped, or differs from those of most others by more \
                 than the max clock skew of {skew:?} allows: set it right"
            );
            let obstacle = Obstacle { by: "clock".into(), label: "clock-off", why: why.into() };
            return Some(Waiting::Refused { obstacles: [obstacle].into(), missing: Vec::new() });
        }
        if let Some(known) = self.claims.followed(context.boot()) {
            let who = known.claim.leader.id.clone().into();
            return Some(Waiting::Behind { who, leading: known.holds });
        }
        let until = self.listens.map_or(self.held_off, |listens| listens.max(self.held_off));
        if until > context.boot() {
            return Some(Waiting::Listening { until });
        }
        let who = self.better(context)?.id.into();
        Some(Waiting::Behind { who, leading: false })
    }
}

fn own(campaign: &Campaign, context: &Context<'_>) -> Option<LeaderView> {
    let until = campaign.ends().filter(|ends| *ends > context.boot())?;
    let claim = campaign.claim(context.me)?;
    Some(LeaderView {
        until: Some(until),
        incarnation: Some(claim.leader.incarnation),
        heard: Some(context.boot()),
        ..LeaderView::new(claim.leader.id.into(), claim.value.into())
    })
}

fn seen(known: &Heard) -> LeaderView {
    let claim = &known.claim;
    LeaderView {
        until: Some(known.certain),
        incarnation: Some(claim.leader.incarnation),
        // What others tell of it says nothing of when they heard it.
        heard: known.first_hand.then_some(known.last),
        ..LeaderView::new(claim.leader.id.clone().into(), claim.value.clone().into())
    }
}
