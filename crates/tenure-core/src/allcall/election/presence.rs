//! Which other candidates were heard lately.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::{Participant, Rank};
use crate::time::Time;

/// The candidates of one election, this process apart.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Presence(BTreeMap<Participant, Seen>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    rank: Rank,
    /// When it was heard last to be eligible, unless it has said since that it is not.
    eligible: Option<Time>,
    /// When its call was heard last, and since when it has called without a pause.
    called: Option<Time>,
    calls_since: Time,
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

/// For how long one that has called is taken for a caller, and one that has spoken for one that
/// answers.
pub(super) fn speaks_for(heartbeat: Duration) -> Duration {
    heartbeat.saturating_mul(3)
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
        let seen =
            Seen { rank: sign.rank, eligible: None, called: None, calls_since: now, last: now };
        let seen = self.0.entry(who.clone()).or_insert(seen);
        (seen.rank, seen.eligible, seen.last) = (sign.rank, eligible.then_some(now), now);
        if sign.calls {
            let span = speaks_for(context.config.heartbeat);
            if seen.called.is_none_or(|called| now.since(called) > span) {
                seen.calls_since = now;
            }
            seen.called = Some(now);
        }
        Ok(())
    }

    /// How many there are.
    pub(super) fn others(&self) -> usize {
        self.0.len()
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

    /// How many that go before this process called in the last 3 H. Of those that are `able` only:
    /// that could lead, or have called for so short a time that nobody knows yet.
    pub(super) fn better_callers(&self, able: bool, context: &Context<'_>) -> usize {
        let (now, span) = (context.boot(), speaks_for(context.config.heartbeat));
        let recent = |last: Time| now.since(last) <= span;
        let calls = |seen: &Seen| seen.called.is_some_and(recent);
        let new = |seen: &Seen| now.since(seen.calls_since) <= span;
        let is_able = |seen: &Seen| seen.eligible.is_some() || new(seen);
        let better = self.better(context);
        better.filter(|seen| calls(seen) && (!able || is_able(seen))).count()
    }

    /// How many that go before this process called or answered in the last 3 H.
    pub(super) fn better_ones(&self, context: &Context<'_>) -> usize {
        let (now, span) = (context.boot(), speaks_for(context.config.heartbeat));
        self.better(context).filter(|seen| now.since(seen.last) <= span).count()
    }

    fn better(&self, context: &Context<'_>) -> impl Iterator<Item = &Seen> {
        let better = |(who, seen): &(&Participant, &Seen)| !context.me.goes_before(seen.rank, who);
        self.0.iter().filter(better).map(|(_, seen)| seen)
    }

    /// Forgets those that have not been heard for longer than anything asks about.
    pub(super) fn forget(&mut self, context: &Context<'_>) {
        let (now, span) = (context.boot(), speaks_for(context.config.heartbeat));
        self.0.retain(|_, seen| now.since(seen.last) <= span);
    }
}
