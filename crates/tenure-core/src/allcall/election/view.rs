//! Reports to the application: leaders, and the reason why a campaign waits.

use alloc::format;
use alloc::vec::Vec;

use super::campaign::{Campaign, Phase};
use super::claims::KnownClaim;
use super::presence::present_for;
use super::state::Election;
use crate::allcall::context::Context;
use crate::allcall::event::Event;
use crate::time::Time;
use crate::view::{LeaderView, View};
use crate::waiting::{Obstacle, Waiting};

impl Election {
    pub(in crate::allcall) fn tell(&mut self, context: &mut Context<'_>) {
        self.tell_view(context);
        self.tell_waiting(context);
    }

    fn tell_view(&mut self, context: &mut Context<'_>) {
        let Some(observation) = &self.observation else { return };
        let since = match &observation.shown {
            Some(View::Unknown { since }) => *since,
            _ => context.boot(),
        };
        let Some(view) = self.view(observation.rounds, since, context) else { return };
        let every = context.config.heartbeat;
        let shown = observation.shown.as_ref();
        let news = shown.is_none_or(|shown| shown.is_outdated_by(&view, every));
        if let Some(observation) = self.observation.as_mut().filter(|_| news) {
            observation.shown = Some(view.clone());
            self.emit(Event::View(view.into()), context);
        }
    }

    /// The leaders: this process, if it leads, then others by their claims, the greatest first. A
    /// candidate that has not heard its own claim is left out.
    ///
    /// The seat is vacant if a valid round found no leader, once every lease that this process may
    /// have missed is over. The leader stays unknown after a void round, and while a candidate that
    /// has stood may lead by now. The leader also stays unknown while a participant names a leader
    /// whose claim is not believed: clocks may be wrong, or times may differ.
    fn view(&self, rounds: bool, since: Time, context: &Context<'_>) -> Option<View> {
        let now = context.boot();
        let own = self.campaign.as_ref().and_then(|campaign| own_view(campaign, context));
        let live = self.others.claims.live(now);
        let mut heard: Vec<&KnownClaim> = live.filter(|known| known.holds).collect();
        heard.sort_by_key(|known| (core::cmp::Reverse(known.claim.until), known.claim.rank));
        let mut leaders = own.into_iter().chain(heard.into_iter().map(other_view));
        match leaders.next() {
            None if !rounds => None,
            None if self.round.valid && self.knows_all(context) && !self.may_be_led(now) => {
                Some(View::Vacant)
            }
            None => Some(View::Unknown { since }),
            Some(followed) => {
                let others: Vec<_> = leaders.collect();
                Some(if others.is_empty() {
                    View::Leader(followed)
                } else {
                    View::Leaders { followed, others }
                })
            }
        }
    }

    /// Whether this process would know of a leader that is stopped or cut off. The process must
    /// have listened as long as a candidate listens before it stands. The recent statement of such
    /// a candidate that there is no leader is enough, too. A process with an overdue round was
    /// stopped, has unread packets, and knows nothing.
    fn knows_all(&self, context: &Context<'_>) -> bool {
        let now = context.boot();
        let span = present_for(context.config.heartbeat);
        let round = context.config.heartbeat.saturating_mul(3) / 2;
        if now.since(self.round.closed) > round {
            return false;
        }
        let vouched = self.others.vouched.is_some_and(|vouched| now.since(vouched) <= span);
        vouched || (self.has_listened(context) && self.wait.held_off <= now)
    }

    /// Whether there may be a leader whose claim does not count here. A candidate may have heard
    /// its own claim by now, or a participant states that there is a leader.
    fn may_be_led(&self, now: Time) -> bool {
        let stood = self.others.claims.live(now).next().is_some();
        stood || self.others.doubts.are_there(now)
    }

    fn tell_waiting(&mut self, context: &mut Context<'_>) {
        let Some(waits) = self.waits(context) else { return };
        let Some(campaign) = &mut self.campaign else { return };
        // The end of the wait moves with each void round: count a small move as no change.
        let slack = context.config.lease / 2;
        if campaign.waits.as_ref().is_none_or(|known| !known.is_as(&waits, slack)) {
            campaign.waits = Some(waits.clone());
            self.emit(Event::Waiting(waits), context);
        }
    }

    /// The reason why the campaign waits; `None` if it leads or stands.
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
                "this machine's wall clock has stepped, or differs from the clocks of most other \
                 participants by more than the max clock skew, {skew:?}: set this clock right"
            );
            let obstacle = Obstacle::new("clock", "clock-off", why);
            return Some(Waiting::Refused { obstacles: [obstacle].into(), missing: Vec::new() });
        }
        if let Some(known) = self.others.claims.followed(context.boot()) {
            let who = known.claim.leader.id.clone().into();
            return Some(Waiting::Behind { who, leading: known.holds });
        }
        let held_off = self.wait.held_off;
        let until = self.wait.listens.map_or(held_off, |listens| listens.max(held_off));
        if until > context.boot() {
            return Some(Waiting::Listening { until });
        }
        let who = self.better(context)?.id.into();
        Some(Waiting::Behind { who, leading: false })
    }
}

fn own_view(campaign: &Campaign, context: &Context<'_>) -> Option<LeaderView> {
    let until = campaign.ends().filter(|ends| *ends > context.boot())?;
    let claim = campaign.claim(context.me)?;
    Some(LeaderView {
        until: Some(until),
        incarnation: Some(claim.leader.incarnation),
        heard: Some(context.boot()),
        ..LeaderView::new(claim.leader.id.into(), claim.value.into())
    })
}

fn other_view(known: &KnownClaim) -> LeaderView {
    let claim = &known.claim;
    LeaderView {
        until: Some(known.certain),
        incarnation: Some(claim.leader.incarnation),
        // A relayed claim does not show when its leader was heard.
        heard: known.first_hand.then_some(known.last),
        ..LeaderView::new(claim.leader.id.clone().into(), claim.value.clone().into())
    }
}
