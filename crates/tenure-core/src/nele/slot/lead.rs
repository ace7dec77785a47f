//! Leading: what is known of a partition, as its roles see it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Hold, Slot};
use crate::event::{End, Loss};
use crate::fence::Fence;
use crate::name::Value;
use crate::nele::context::Context;
use crate::nele::event::Event;
use crate::nele::identity::Role;
use crate::nele::words::Effect;
use crate::time::Time;
use crate::waiting::Waiting;

/// What the application stands with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) struct Campaign {
    pub(in crate::nele) value: Value,
    pub(in crate::nele) phase: Phase,
    /// What it was last said to wait for.
    pub(super) waits: Option<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) enum Phase {
    /// It does not lead.
    Waiting,
    /// It leads.
    Leading {
        until: Time,
        /// Its own: others of the partition may have an earlier one.
        fence: Option<Fence>,
        /// From which end on its lease is of full length; none once that was told.
        full: Option<Time>,
    },
}

impl Campaign {
    pub(in crate::nele) const fn new(value: Value) -> Self {
        Self { value, phase: Phase::Waiting, waits: None }
    }

    pub(in crate::nele) const fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }
}

impl Slot {
    /// Until when the partition is led by what is known now, whether or not it may be yet.
    pub(super) fn until(&self, context: &Context<'_>) -> Option<Time> {
        match context.by_claims() {
            true => self.held.and_then(|held| held.until(context)),
            false => Some(self.news?.after(context.config.takeover)),
        }
    }

    /// Whether the partition is led now.
    fn hold(&self, context: &Context<'_>) -> Option<Hold> {
        if context.by_claims() {
            self.assigned?;
            let held = self.held?;
            return Some(Hold { until: held.leads(context)?, fence: Some(held.fence()) });
        }
        let until = self.until(context).filter(|until| context.now < *until)?;
        Some(Hold { until, fence: None })
    }

    /// Roles are won, go on, and are lost, as the partition is.
    pub(super) fn settle(&mut self, context: &mut Context<'_>) {
        self.lapse(context);
        if let Some(held) = &mut self.held {
            held.wait_for_all(context);
        }
        let hold = self.hold(context);
        let waits = self.held.is_some_and(|held| held.begins() > context.now);
        let roles: Vec<Role> = self.campaigns.keys().copied().collect();
        for role in roles {
            let spent = self.held.is_some_and(|held| held.spent);
            let Some(campaign) = self.campaigns.get_mut(&role) else { continue };
            match (&mut campaign.phase, hold) {
                (Phase::Waiting, Some(_)) if waits => {}
                (Phase::Waiting, Some(hold)) if !spent => {
                    // What is led on after a loss ends, and nothing begins by it.
                    if self.assigned.is_some() {
                        self.win(role, hold, context);
                    }
                }
                (Phase::Leading { until, fence, .. }, Some(hold)) if hold.until > *until => {
                    *until = hold.until;
                    let (until, fence) = (*until, *fence);
                    let election = context.config.election_of(role);
                    context.out.push(Effect::Raise { election, until, fence });
                    self.tell_settled(role, context);
                }
                (Phase::Leading { .. }, None) => self.end(role, End::Lost(self.loss), context),
                (Phase::Waiting | Phase::Leading { .. }, _) => {}
            }
        }
    }

    /// News that are older than T count no more.
    fn lapse(&mut self, context: &mut Context<'_>) {
        let over = self.until(context).is_some_and(|until| until <= context.now);
        if !over {
            return;
        }
        if self.news.is_some_and(|news| news.after(context.config.takeover) <= context.now) {
            self.news = None;
            self.loss = match self.assigned {
                Some(_) => Loss::Expired,
                None if context.leaves => Loss::Resigned,
                None => Loss::Reassigned,
            };
        }
        let ends = self.campaigns.values().any(Campaign::leads);
        if context.by_claims() && ends {
            // One that was stopped should hear first what has happened meanwhile.
            self.pause(context);
            self.loss = Loss::Expired;
        }
    }

    fn win(&mut self, role: Role, hold: Hold, context: &mut Context<'_>) {
        let Hold { until, fence } = hold;
        let Some(campaign) = self.campaigns.get_mut(&role) else { return };
        // By a record that came a while ago little may be left. One that comes now gives all there
        // is, however long it was on its way.
        let beats = context.config.publish_interval.saturating_mul(2);
        let full = Some(context.now.after(context.config.takeover.saturating_sub(beats)));
        (campaign.phase, campaign.waits) = (Phase::Leading { until, fence, full }, None);
        let election = context.config.election_of(role);
        context.out.push(Effect::Raise { election, until, fence });
        let id: Arc<str> = context.config.id.clone().into();
        self.emit(role, Event::Elected { id, fence }, context);
        self.tell_settled(role, context);
    }

    /// Says it once, as soon as the lease of `role` is of full length.
    fn tell_settled(&mut self, role: Role, context: &mut Context<'_>) {
        let Some(campaign) = self.campaigns.get_mut(&role) else { return };
        let Phase::Leading { until, full, .. } = &mut campaign.phase else { return };
        if full.take_if(|full| *until >= *full).is_some() {
            self.emit(role, Event::Settled, context);
        }
    }

    /// A campaign or a leadership is over. Says whether it led.
    pub(in crate::nele) fn finish(
        &mut self,
        role: Role,
        end: End,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(campaign) = self.campaigns.remove(&role) else { return false };
        let led = campaign.leads();
        if led {
            let election = context.config.election_of(role);
            context.out.push(Effect::Lower { election });
            if let Some(held) = &mut self.held {
                held.spent = true;
            }
        }
        self.emit(role, Event::Ended(end), context);
        led
    }

    /// The same of one of which others need not be told.
    fn end(&mut self, role: Role, end: End, context: &mut Context<'_>) {
        self.finish(role, end, context);
        self.emit(role, Event::Released, context);
    }
}
