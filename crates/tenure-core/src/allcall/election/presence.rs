//! Other candidates that were heard recently. H is `heartbeat`.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::{Participant, Rank};
use crate::time::Time;

/// The other candidates of one election.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Presence(BTreeMap<Participant, Signs>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Signs {
    rank: Rank,
    /// The last time at which the candidate was eligible; `None` once it says that it is not.
    eligible: Option<Time>,
    called: Option<Time>,
    /// The time since which the candidate calls without a pause.
    calls_since: Time,
    last: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allcall) struct Sign {
    pub(in crate::allcall) rank: Rank,
    pub(in crate::allcall) calls: bool,
}

/// The time for which a candidate counts as present: two of its calls in a row may be lost.
pub(in crate::allcall) fn present_for(heartbeat: Duration) -> Duration {
    heartbeat.saturating_mul(5) / 2
}

/// The time for which a participant counts as a caller after a call, and as an answerer after any
/// packet.
pub(in crate::allcall) fn speaks_for(heartbeat: Duration) -> Duration {
    heartbeat.saturating_mul(3)
}

impl Presence {
    /// Notes a packet that names the election and shows that its sender is alive.
    pub(in crate::allcall) fn hear(
        &mut self,
        who: &Participant,
        sign: Sign,
        eligible: bool,
        context: &Context<'_>,
    ) -> Result<(), Ignored> {
        let now = context.boot();
        let room = context.config.limits.participants;
        if self.0.len() >= room && !self.0.contains_key(who) {
            self.forget(context);
            if self.0.len() >= room {
                return Err(Ignored::Full);
            }
        }
        let rank = sign.rank;
        let new = Signs { rank, eligible: None, called: None, calls_since: now, last: now };
        let seen = self.0.entry(who.clone()).or_insert(new);
        seen.rank = rank;
        seen.eligible = eligible.then_some(now);
        seen.last = now;
        if sign.calls {
            let span = speaks_for(context.config.heartbeat);
            if seen.called.is_none_or(|called| now.since(called) > span) {
                seen.calls_since = now;
            }
            seen.called = Some(now);
        }
        Ok(())
    }

    pub(in crate::allcall) fn others(&self) -> usize {
        self.0.len()
    }

    pub(in crate::allcall) fn leave(&mut self, who: &Participant) {
        if let Some(seen) = self.0.get_mut(who) {
            seen.eligible = None;
        }
    }

    /// The candidates that were eligible within the last 2.5 H.
    pub(in crate::allcall) fn eligible(
        &self,
        context: &Context<'_>,
    ) -> impl Iterator<Item = (Rank, &Participant)> {
        let now = context.boot();
        let span = present_for(context.config.heartbeat);
        let heard = move |seen: &Signs| seen.eligible.is_some_and(|last| now.since(last) <= span);
        self.0.iter().filter(move |(_, seen)| heard(seen)).map(|(who, seen)| (seen.rank, who))
    }

    /// The number of better candidates that called within the last 3 H. With `able`, a candidate
    /// counts only if it could lead, or began to call within that time.
    pub(in crate::allcall) fn better_callers(&self, able: bool, context: &Context<'_>) -> usize {
        let now = context.boot();
        let span = speaks_for(context.config.heartbeat);
        let recent = |last: Time| now.since(last) <= span;
        let calls = |seen: &Signs| seen.called.is_some_and(recent);
        let new = |seen: &Signs| now.since(seen.calls_since) <= span;
        let is_able = |seen: &Signs| seen.eligible.is_some() || new(seen);
        let better = self.better(context);
        better.filter(|seen| calls(seen) && (!able || is_able(seen))).count()
    }

    /// The number of better candidates that called or answered within the last 3 H.
    pub(in crate::allcall) fn better_ones(&self, context: &Context<'_>) -> usize {
        let now = context.boot();
        let span = speaks_for(context.config.heartbeat);
        self.better(context).filter(|seen| now.since(seen.last) <= span).count()
    }

    fn better(&self, context: &Context<'_>) -> impl Iterator<Item = &Signs> {
        let better = |(who, seen): &(&Participant, &Signs)| !context.me.goes_before(seen.rank, who);
        self.0.iter().filter(better).map(|(_, seen)| seen)
    }

    /// Forgets candidates that were silent for 3 H: no method here looks back further.
    pub(in crate::allcall) fn forget(&mut self, context: &Context<'_>) {
        let now = context.boot();
        let span = speaks_for(context.config.heartbeat);
        self.0.retain(|_, seen| now.since(seen.last) <= span);
    }
}
