//! Which other candidates were heard lately.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::{Participant, Rank};
use crate::allcall::rule::{Rule, ruling};
use crate::time::Time;

/// The candidates of one election, this process apart.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Presence(BTreeMap<Participant, Seen>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    rank: Rank,
    /// When it was heard last to be eligible, unless it has said since that it is not.
    eligible: Option<Time>,
    /// When its call was heard last.
    called: Option<Time>,
    last: Time,
}

/// How a packet shows that its sender is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allcall) struct Sign {
    pub(in crate::allcall) rank: Rank,
    /// By a call, not by a reply.
    pub(in crate::allcall) calls: bool,
}

/// Two calls in a row may be lost.
pub(super) fn present_for(heartbeat: Duration) -> Duration {
    heartbeat.saturating_mul(5) / 2
}

impl Presence {
    /// A packet names the election, and shows that its sender is there.
    pub(super) fn hear(
        &mut self,
        who: &Participant,
        sign: Sign,
        eligible: bool,
        context: &Context<'_>,
    ) -> Result<(), Ignored> {
        let (now, room) = (context.boot(), context.config.limits.participants);
        if self.0.len() >= room && !self.0.contains_key(who) {
            self.forget(context);
            if self.0.len() >= room {
                return Err(Ignored::Full);
            }
        }
        let seen = Seen { rank: sign.rank, eligible: None, called: None, last: now };
        let seen = self.0.entry(who.clone()).or_insert(seen);
        // All that answer are sorted where eligibility is not looked at.
        let sorted = eligible || !ruling(Rule::OnlyEligible);
        (seen.rank, seen.eligible, seen.last) = (sign.rank, sorted.then_some(now), now);
        if sign.calls {
            seen.called = Some(now);
        }
        Ok(())
    }

    /// One of them has stopped leading.
    pub(super) fn leave(&mut self, who: &Participant) {
        if let Some(seen) = self.0.get_mut(who) {
            seen.eligible = None;
        }
    }

    /// The eligible ones heard in the last 2.5 H.
    pub(super) fn eligible(
        &self,
        context: &Context<'_>,
    ) -> impl Iterator<Item = (Rank, &Participant)> {
        let (now, span) = (context.boot(), present_for(context.config.heartbeat));
        let heard = move |seen: &Seen| seen.eligible.is_some_and(|last| now.since(last) <= span);
        self.0.iter().filter(move |(_, seen)| heard(seen)).map(|(who, seen)| (seen.rank, who))
    }

    /// How many that go before this process called in the last 3 H.
    pub(super) fn better_callers(&self, context: &Context<'_>) -> usize {
        let (now, span) = (context.boot(), context.config.heartbeat.saturating_mul(3));
        let recent = |last: Time| now.since(last) <= span || !ruling(Rule::CallersRecent);
        let calls = |seen: &Seen| seen.called.is_some_and(recent);
        let better = self
            .0
            .iter()
            .filter(|(who, seen)| calls(seen) && !context.me.goes_before(seen.rank, who));
        better.count()
    }

    /// Forgets those that have not been heard for longer than anything asks about.
    pub(super) fn forget(&mut self, context: &Context<'_>) {
        if !ruling(Rule::CallersRecent) {
            return;
        }
        let (now, span) = (context.boot(), context.config.heartbeat.saturating_mul(3));
        self.0.retain(|_, seen| now.since(seen.last) <= span);
    }
}
