//! A candidate in one election: its state, for the steps in the [recipe](super::recipe).
//!
//! `mod.rs` has its parts and its calls; `lease.rs` has the changes to its lease, and `answer.rs`
//! the answers of etcd. `step.rs` and `value.rs` use none of the other files.

mod answer;
mod lease;
mod step;
mod value;

use alloc::string::ToString;
use core::time::Duration;

pub(super) use self::step::Step;
use self::value::OwnValue;
use super::calls::{Asker, Calls};
use super::config::{BACKOFF, Checked};
use super::event::{Event, OwnEvent};
use super::key::{self, Bytes, Keys, LeaseId};
use super::message::{CallId, Op, Revision, Txn};
use super::session::Session;
use super::timer::Timer;
use super::words::{Effect, Out, emit};
use crate::deadlines::Booking;
use crate::draw::Draw;
use crate::fence::Fence;
use crate::name::{ElectionName, Value};
use crate::time::Time;
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Candidate {
    pub(super) election: ElectionName,
    pub(super) value: OwnValue,
    pub(super) phase: Phase,
    /// The lease that carries the key, or on which the candidate last tried to make the key.
    pub(super) home: Option<LeaseId>,
    call: Option<(CallId, Step)>,
    pub(super) watch: Option<Watch>,
    /// The key just before this candidate's key, with its create revision.
    pub(super) before: Option<(Bytes, Revision)>,
    /// The lease on which etcd may still carry out a create, long after the candidate left (ruling
    /// 5, E4).
    pub(super) late_on: Option<LeaseId>,
    /// Whether this user may not delete the key: the key then goes with its lease.
    pub(super) denied: bool,
    /// The highest known revision at the start of the campaign: this campaign's key has a higher
    /// revision.
    pub(super) since: Revision,
    /// The value of the next campaign, which waits until the last campaign has left.
    pub(super) next: Option<Value>,
    /// The time of the next action, while no call is under way.
    pub(super) again: Option<Time>,
    pub(super) failures: u32,
    draws: u64,
    pub(super) booking: Booking,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// The candidate does not campaign. A key of its last campaign may still appear.
    Over,
    /// The candidate makes its key, once there is a lease.
    Creating {
        /// Whether a create of this campaign had no certain outcome, so that a found key may be its
        /// own.
        unsure: bool,
    },
    /// A key of another campaign has this key's name, and is deleted first.
    Clearing {
        revision: Revision,
    },
    /// The candidate has a key, and waits until it is the first.
    Queued {
        revision: Revision,
        /// Whether the last query found no key before this candidate's key: only a proven E is
        /// missing then.
        first: bool,
    },
    Leading {
        revision: Revision,
        fence: Fence,
        settled: bool,
    },
    /// The candidate deletes its key. The revision is `None` after a create without a certain
    /// outcome.
    Leaving {
        revision: Option<Revision>,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Watch {
    call: CallId,
    pub(super) key: Bytes,
}

/// Borrowed parts that a candidate needs while its node handles one input.
pub(super) struct CandidateContext<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Checked,
    pub(super) draw: Draw,
    pub(super) calls: &'a mut Calls,
    pub(super) session: &'a mut Session,
    pub(super) out: &'a mut Out,
}

impl CandidateContext<'_> {
    pub(super) fn lease(&self) -> Option<LeaseId> {
        self.session.lease().map(|lease| lease.id)
    }

    fn ttl(&self) -> u32 {
        self.session.lease().map_or(self.config.ttl(), |lease| lease.ttl)
    }

    pub(super) fn length(&self) -> Duration {
        Duration::from_secs(u64::from(self.ttl()))
    }
}

impl Candidate {
    pub(super) fn new(election: ElectionName, value: Value) -> Self {
        Self {
            election,
            value: OwnValue::new(value),
            phase: Phase::Over,
            home: None,
            call: None,
            watch: None,
            before: None,
            late_on: None,
            denied: false,
            since: 0,
            next: None,
            again: None,
            failures: 0,
            draws: 0,
            booking: Booking::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.late_on.is_none()
    }

    /// Whether the candidate needs the lease. A candidate that may not delete its key needs no
    /// lease: the key goes only with the lease.
    pub(super) fn needs_lease(&self) -> bool {
        self.phase != Phase::Over && !self.denied
    }

    pub(super) const fn is_active(&self) -> bool {
        self.next.is_some() || !matches!(self.phase, Phase::Over | Phase::Leaving { .. })
    }

    /// The create revision of this candidate's key, while the candidate relies on the key.
    pub(super) const fn revision(&self) -> Option<Revision> {
        match self.phase {
            Phase::Queued { revision, .. } | Phase::Leading { revision, .. } => Some(revision),
            _ => None,
        }
    }

    /// The lease of this candidate's key, while the candidate relies on the key.
    pub(super) fn home(&self) -> Option<LeaseId> {
        self.home.filter(|_| self.revision().is_some())
    }

    /// Whether the candidate's key is on this lease, or is being made on it now.
    pub(super) fn stands_on(&self, lease: LeaseId) -> bool {
        self.home == Some(lease) && (self.is_creating() || self.revision().is_some())
    }

    pub(super) const fn is_creating(&self) -> bool {
        matches!(self.call, Some((_, Step::Create)))
    }

    pub(super) const fn late_key_on(&self) -> Option<LeaseId> {
        self.late_on
    }

    pub(super) const fn fence(&self) -> Option<Fence> {
        match self.phase {
            Phase::Leading { fence, .. } => Some(fence),
            _ => None,
        }
    }

    /// The time of the candidate's next action.
    pub(super) const fn due(&self) -> Option<Time> {
        if self.call.is_some() { None } else { self.again }
    }

    pub(super) const fn timer(&self) -> Timer {
        match self.phase {
            Phase::Creating { .. } | Phase::Clearing { .. } => Timer::Create,
            Phase::Queued { .. } | Phase::Leading { .. } => Timer::Look,
            Phase::Over | Phase::Leaving { .. } => Timer::Leave,
        }
    }

    pub(super) fn ask(&mut self, step: Step, txn: Txn, context: &mut CandidateContext<'_>) {
        let call = self.send(Op::Txn(txn), context);
        self.call = Some((call, step));
    }

    fn send(&self, op: Op, context: &mut CandidateContext<'_>) -> CallId {
        let within = context.config.patience(context.ttl());
        let asker = Asker::Candidate(self.election.clone());
        context.calls.ask(context.now, within, asker, op, context.out)
    }

    /// Watches the key from `from` on, right after the answer that the watch continues (ruling 9,
    /// E8).
    pub(super) fn watch(&mut self, key: Bytes, from: Revision, context: &mut CandidateContext<'_>) {
        // For keys of other candidates, only a deletion matters.
        let deletions = key != self.key(context);
        let op = Op::Watch { keys: Keys::One(key.clone()), from, deletions };
        let call = self.send(op, context);
        self.watch = Some(Watch { call, key });
    }

    pub(super) fn unwatch(&mut self, context: &mut CandidateContext<'_>) {
        if let Some(Watch { call, .. }) = self.watch.take() {
            context.calls.unwatch(call, context.out);
        }
    }

    pub(super) fn drop_call(&mut self, context: &mut CandidateContext<'_>) {
        if let Some((call, _)) = self.call.take() {
            context.calls.forget(call);
        }
    }

    pub(super) fn key(&self, context: &CandidateContext<'_>) -> Bytes {
        let lease = context.session.name().unwrap_or(LeaseId(0));
        key::key(&context.config.namespace, &self.election, lease)
    }

    /// Moves the claim of a leader to a new E. `length` is the length of the lease on which keys
    /// are made.
    pub(super) fn renew(&mut self, until: Time, now: Time, length: Duration, out: &mut Out) {
        if let Some(fence) = self.fence() {
            let election = self.election.clone();
            out.push(Effect::Raise { election, until, fence: Some(fence) });
            self.tell_settled(until, now, length, out);
        }
    }

    /// Reports a settled leadership once half of the lease is ahead. A candidate that is elected
    /// during a late renewal has less time ahead at first.
    pub(super) fn tell_settled(&mut self, until: Time, now: Time, length: Duration, out: &mut Out) {
        if let Phase::Leading { settled: settled @ false, .. } = &mut self.phase
            && until.since(now) >= length / 2
        {
            *settled = true;
            self.tell(Event::Settled, out);
        }
    }

    pub(super) fn lower(&self, context: &mut CandidateContext<'_>) {
        context.out.push(Effect::Lower { election: self.election.clone() });
    }

    fn pause(&mut self, context: &CandidateContext<'_>) {
        self.failures = self.failures.saturating_add(1);
        let pause = BACKOFF.pause(self.failures, |bound| self.draw(bound, "pause", context));
        self.again = Some(context.now.after(pause));
    }

    pub(super) fn draw(
        &mut self,
        bound: Duration,
        purpose: &'static str,
        context: &CandidateContext<'_>,
    ) -> Duration {
        self.draws += 1;
        context.draw.span(bound, self.election.as_str(), purpose, self.draws)
    }

    pub(super) fn say_behind(&self, key: &Bytes, context: &mut CandidateContext<'_>) {
        let namespace = &context.config.namespace;
        // This query reads keys without their leases.
        let waiting = match key::foreign(namespace, &self.election, key, None) {
            Some(foreign) => {
                let why = foreign.why();
                self.tell(OwnEvent::Foreign(Some(foreign)), context.out);
                Waiting::Foreign { key: key.to_string().into(), why }
            }
            None => {
                let who = key::id(namespace, &self.election, key);
                Waiting::Behind { who, leading: false }
            }
        };
        self.tell(Event::Waiting(waiting), context.out);
    }

    pub(super) fn tell(&self, event: impl Into<Event>, out: &mut Out) {
        emit(Some(&self.election), event, out);
    }
}
