//! A candidate in one election: its key, its place in the queue, its leadership, its leaving.

mod answer;
mod doing;

use alloc::vec;
use core::time::Duration;

use self::doing::Doing;
use super::calls::{Asker, Calls};
use super::config::{BACKOFF, Checked};
use super::event::{Event, Ignored, Lost, Objection, OwnEvent};
use super::key::{self, Bytes, Keys, LeaseId};
use super::message::{Act, CallId, Compare, Op, Pick, Read, Refusal, Revision, Txn};
use super::session::Session;
use super::timer::Timer;
use super::words::{Effect, Out, emit};
use crate::deadlines::Booking;
use crate::draw::Draw;
use crate::event::{End, Loss};
use crate::fence::Fence;
use crate::name::{ElectionName, Value};
use crate::time::Time;

/// A waiting candidate looks again after this at least, whatever its watch says: a watch from a
/// revision that a restored store has not reached is silent (ruling 7, E6).
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// How long a leader waits at least before it writes its value anew once more: if somebody else
/// does the same with another one, they must not answer each other without pause.
const MEND_AGAIN: Duration = Duration::from_secs(1);

/// One process's part in one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Candidate {
    election: ElectionName,
    value: Value,
    phase: Phase,
    /// The lease on which its key is, or on which it was last to be made.
    home: Option<LeaseId>,
    call: Option<(CallId, Doing)>,
    watch: Option<Watch>,
    /// The key before its own, with its create revision, while it waits for that to go.
    before: Option<(Bytes, Revision)>,
    /// A create of ours had no certain outcome: it may still be carried out, on this lease, long
    /// after we left (ruling 5, E4).
    late_on: Option<LeaseId>,
    /// etcd refuses to let the key be deleted: it goes with the lease, unless that is soon.
    denied: bool,
    /// The highest revision known when the campaign began: keys up to it are not of its making.
    since: Revision,
    /// The value that others see is not the one that was asked for last.
    stale_value: bool,
    /// When it was last written anew because another one was found.
    mended: Option<Time>,
    /// A campaign that begins once the last one has left.
    next: Option<Value>,
    /// When to act, while no call is under way.
    again: Option<Time>,
    failures: u32,
    draws: u64,
    pub(super) booking: Booking,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// It takes no part. A key of ours may appear all the same.
    Over,
    /// It wants a key, as soon as there is a lease.
    Creating {
        /// A create of this campaign had no certain outcome, so a key found may be its.
        unsure: bool,
    },
    /// A key of ours, but not of this campaign, is in the way.
    Clearing { revision: Revision },
    /// It has a key, and waits until it is the first.
    Queued {
        revision: Revision,
        /// Nobody was before it when it looked last: it lacks only a proven E.
        first: bool,
    },
    Leading {
        revision: Revision,
        fence: Fence,
        /// It has said that long work may begin.
        settled: bool,
    },
    /// Its key is to go; which one is not known when the create had no certain outcome.
    Leaving { revision: Option<Revision> },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    call: CallId,
    key: Bytes,
}

/// What a candidate needs of its node.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Checked,
    pub(super) draw: Draw,
    pub(super) calls: &'a mut Calls,
    pub(super) session: &'a mut Session,
    pub(super) out: &'a mut Out,
}

impl Context<'_> {
    fn lease(&self) -> Option<LeaseId> {
        self.session.lease().map(|lease| lease.id)
    }

    fn ttl(&self) -> u32 {
        self.session.lease().map_or(self.config.ttl(), |lease| lease.ttl)
    }

    /// The same as a span.
    fn length(&self) -> Duration {
        Duration::from_secs(u64::from(self.ttl()))
    }
}

impl Candidate {
    pub(super) fn new(election: ElectionName, value: Value) -> Self {
        Self {
            election,
            value,
            phase: Phase::Over,
            home: None,
            call: None,
            watch: None,
            before: None,
            late_on: None,
            denied: false,
            since: 0,
            stale_value: false,
            mended: None,
            next: None,
            again: None,
            failures: 0,
            draws: 0,
            booking: Booking::default(),
        }
    }

    /// Whether nothing is left of it.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.late_on.is_none()
    }

    /// Whether it needs the lease. A key that may not be deleted goes with it.
    pub(super) fn needs_lease(&self) -> bool {
        self.phase != Phase::Over && !self.denied
    }

    /// Whether it contends or leads, or is about to.
    pub(super) const fn is_active(&self) -> bool {
        self.next.is_some() || !matches!(self.phase, Phase::Over | Phase::Leaving { .. })
    }

    /// The create revision of its key, while it counts on having one.
    pub(super) const fn revision(&self) -> Option<Revision> {
        match self.phase {
            Phase::Queued { revision, .. } | Phase::Leading { revision, .. } => Some(revision),
            _ => None,
        }
    }

    /// The lease that its key is on, while it counts on having one.
    pub(super) fn home(&self) -> Option<LeaseId> {
        self.home.filter(|_| self.revision().is_some())
    }

    /// Whether a key of its own is on this lease, or is being made on it now.
    pub(super) fn stands_on(&self, lease: LeaseId) -> bool {
        let creates = matches!(self.call, Some((_, Doing::Create)));
        self.home == Some(lease) && (creates || self.revision().is_some())
    }

    /// The lease on which a create of its own may still be carried out.
    pub(super) const fn late_key_on(&self) -> Option<LeaseId> {
        self.late_on
    }

    /// Its fence, if it leads.
    pub(super) const fn fence(&self) -> Option<Fence> {
        match self.phase {
            Phase::Leading { fence, .. } => Some(fence),
            _ => None,
        }
    }

    /// When it wants to act.
    pub(super) const fn due(&self) -> Option<Time> {
        if self.call.is_some() { None } else { self.again }
    }

    /// What it waits for then.
    pub(super) const fn timer(&self) -> Timer {
        match self.phase {
            Phase::Creating { .. } | Phase::Clearing { .. } => Timer::Create,
            Phase::Queued { .. } | Phase::Leading { .. } => Timer::Look,
            Phase::Over | Phase::Leaving { .. } => Timer::Leave,
        }
    }

    /// A campaign begins, unless there is one: each election has one (ruling 10, E9).
    pub(super) fn contend(&mut self, value: Value, context: &mut Context<'_>) {
        if self.is_active() {
            return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
        }
        if matches!(self.phase, Phase::Leaving { .. }) {
            self.next = Some(value);
            return;
        }
        self.begin(value, context);
    }

    fn begin(&mut self, value: Value, context: &mut Context<'_>) {
        self.before = None;
        self.drop_call(context);
        self.unwatch(context);
        self.value = value;
        self.stale_value = false;
        self.phase = Phase::Creating { unsure: false };
        self.since = context.calls.seen;
        self.failures = 0;
        self.again = Some(context.now);
        self.work(context);
    }

    /// A new value.
    pub(super) fn proclaim(&mut self, value: Value, context: &mut Context<'_>) {
        if !self.is_active() {
            return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
        }
        if let Some(next) = &mut self.next {
            *next = value;
            return;
        }
        self.stale_value = true;
        self.value = value;
        // It is another value, and no answer to anybody's.
        self.mended = self.mended.min(Some(context.now));
        if matches!(self.phase, Phase::Leading { .. }) {
            self.again = Some(context.now);
            self.work(context);
        }
    }

    /// Stops contending or leading.
    pub(super) fn resign(&mut self, context: &mut Context<'_>) {
        if self.next.take().is_some() {
            return self.tell(Event::Ended(End::Withdrawn), context.out);
        }
        let end = match self.phase {
            Phase::Over | Phase::Leaving { .. } => {
                return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
            }
            Phase::Leading { .. } => End::Lost(Loss::Resigned),
            Phase::Creating { .. } | Phase::Clearing { .. } | Phase::Queued { .. } => {
                End::Withdrawn
            }
        };
        self.leave(end, context);
    }

    /// Ends what there is, and sees to it that no key is left.
    fn leave(&mut self, end: End, context: &mut Context<'_>) {
        if self.fence().is_some() {
            self.lower(context);
        }
        // A create that is under way may still be carried out.
        let creating = matches!(self.call, Some((_, Doing::Create)));
        self.late_on = self.home.filter(|_| creating).or(self.late_on);
        let nothing = !creating && self.phase == (Phase::Creating { unsure: false });
        let revision = self.revision();
        self.drop_call(context);
        self.unwatch(context);
        self.tell(Event::Ended(end), context.out);
        self.phase = Phase::Leaving { revision };
        self.failures = 0;
        self.again = Some(context.now);
        if nothing {
            return self.left(context);
        }
        self.work(context);
    }

    /// The key is gone, or its lease is.
    fn left(&mut self, context: &mut Context<'_>) {
        self.tell(Event::Released, context.out);
        self.phase = Phase::Over;
        self.denied = false;
        self.again = None;
        if let Some(next) = self.next.take() {
            return self.begin(next, context);
        }
        if self.late_on.is_some() {
            let key = self.key(context);
            self.watch(key, context.calls.seen + 1, context);
            self.again = Some(context.now);
            self.work(context);
        }
    }

    /// The lease is over, and all keys on it.
    pub(super) fn on_lease_lost(&mut self, lost: Lost, context: &mut Context<'_>) {
        self.drop_call(context);
        self.unwatch(context);
        self.late_on = None;
        self.again = None;
        match self.phase {
            Phase::Over => {}
            Phase::Leaving { .. } => self.left(context),
            Phase::Leading { .. } => {
                self.lower(context);
                self.lose(lost, context);
            }
            Phase::Creating { .. } | Phase::Clearing { .. } | Phase::Queued { .. } => {
                self.contend_again(lost, context);
            }
        }
    }

    fn lose(&mut self, lost: Lost, context: &mut Context<'_>) {
        self.tell(OwnEvent::Lost(lost), context.out);
        self.tell(Event::Ended(lost.into()), context.out);
        self.left(context);
    }

    /// The lease on which a create of its own may still be carried out is given back, and ends
    /// soon: what appears on it goes with it.
    pub(super) fn on_lease_left(&mut self, context: &mut Context<'_>) {
        self.late_on = None;
        if self.phase == Phase::Over {
            self.drop_call(context);
            self.unwatch(context);
            self.again = None;
        }
    }

    /// There is a lease.
    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::Creating { .. }) && self.call.is_none() {
            self.again = Some(context.now);
            self.work(context);
        }
    }

    /// There will be no lease.
    pub(super) fn on_lease_refused(&mut self, refusal: Refusal, context: &mut Context<'_>) {
        // Its key may be on its way all the same, on the lease of the term before.
        if matches!(self.phase, Phase::Creating { .. }) {
            self.leave(Objection::Refused(refusal).into(), context);
        }
    }

    /// Ruling 13: by default a candidate that has not won goes on.
    fn contend_again(&mut self, lost: Lost, context: &mut Context<'_>) {
        if !context.config.contend_again {
            self.drop_call(context);
            self.unwatch(context);
            return self.lose(lost, context);
        }
        self.tell(OwnEvent::Again(lost), context.out);
        let value = self.value.clone();
        self.begin(value, context);
    }

    /// The key is not there any more, or is another one. Losing one election leaves the lease
    /// and all others alone (ruling 10, E9).
    pub(super) fn on_key_lost(&mut self, context: &mut Context<'_>) {
        match self.phase {
            Phase::Leading { .. } => {
                self.tell(OwnEvent::Lost(Lost::KeyGone), context.out);
                self.leave(Lost::KeyGone.into(), context);
            }
            Phase::Queued { .. } => self.contend_again(Lost::KeyGone, context),
            _ => {}
        }
    }

    /// Does what is due.
    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        if self.due().is_none_or(|due| context.now < due) {
            return;
        }
        let Some(lease) = context.lease() else {
            // The session calls when there is one, or when the old one is over.
            self.again = None;
            return;
        };
        let key = self.key(context);
        let read = || Act::read(key.clone());
        let only = |revision: Revision, then: Act| Txn {
            when: vec![Compare::Created { key: key.clone(), revision }],
            then: vec![then],
            otherwise: vec![read()],
        };
        let value = || self.value.as_str().into();
        let put = || Act::Put { key: key.clone(), value: value(), lease };
        // It may come late, when the key is on another lease: there it stays (E3b).
        let proclaim = || Act::Proclaim { key: key.clone(), value: value() };
        let delete = || Act::Delete { key: key.clone() };
        let (doing, txn) = match self.phase {
            Phase::Creating { .. } => {
                self.home = Some(lease);
                (Doing::Create, only(0, put()))
            }
            Phase::Clearing { revision } => (Doing::Clear, only(revision, delete())),
            Phase::Queued { revision, .. } => self.look_for(revision, context),
            Phase::Leading { revision, .. } if self.may_write(context.now) => {
                self.stale_value = false;
                (Doing::Proclaim, only(revision, proclaim()))
            }
            // The watch has ended: what it would have told meanwhile must be asked.
            Phase::Leading { revision, .. } if self.watch.is_none() => {
                (Doing::Check, only(revision, read()))
            }
            Phase::Leading { .. } => {
                self.again = self.mended.filter(|_| self.stale_value);
                return;
            }
            Phase::Leaving { revision: Some(revision) } => (Doing::Leave, only(revision, delete())),
            Phase::Leaving { revision: None } => (Doing::Leave, only(0, read())),
            Phase::Over if self.late_on.is_some() => (Doing::Sweep, only(0, read())),
            Phase::Over => return,
        };
        self.again = None;
        self.ask(doing, txn, context);
    }

    /// The whole queue is looked at only when the one before has gone: etcd sorts it for each who
    /// does.
    fn look_for(&self, revision: Revision, context: &Context<'_>) -> (Doing, Txn) {
        match self.before.clone() {
            Some((before, created)) => {
                let key = self.key(context);
                let is_there = |key, revision| Compare::Created { key, revision };
                let when = vec![is_there(key.clone(), revision), is_there(before, created)];
                let own = Act::read(key);
                (Doing::Wait, Txn { when, then: vec![own.clone()], otherwise: vec![own] })
            }
            None => (Doing::Look, self.first(revision, context)),
        }
    }

    /// Ruling 2, E1: that the key is there, that it is the first, and that nobody is before it,
    /// in one linearizable transaction. Of others only the keys are read: a value may be too large
    /// to be taken. A key comes without its lease (3.7), so that of the own one is compared. Either
    /// branch reads something: without an operation it would not be linearizable.
    fn first(&self, revision: Revision, context: &Context<'_>) -> Txn {
        let key = self.key(context);
        let keys = Keys::Prefix(key::prefix(&context.config.namespace, &self.election));
        let of_all = |pick| Act::Read(Read { keys: keys.clone(), pick, keys_only: true });
        let before = Pick::LastUpTo(revision.saturating_sub(1));
        let then = vec![of_all(Pick::First), of_all(before)];
        let otherwise = vec![Act::read(key.clone())];
        let mut when = vec![Compare::Created { key: key.clone(), revision }];
        when.extend(self.home.map(|lease| Compare::Lease { key, lease }));
        Txn { when, then, otherwise }
    }

    fn ask(&mut self, doing: Doing, txn: Txn, context: &mut Context<'_>) {
        let within = context.config.patience(context.ttl());
        let asker = Asker::Candidate(self.election.clone());
        let call = context.calls.ask((context.now, within), asker, Op::Txn(txn), context.out);
        self.call = Some((call, doing));
    }

    /// Its key is on this lease now, from which its claim counts: on one of which no leader of an
    /// earlier term knows.
    pub(super) fn moved(&mut self, home: LeaseId, context: &mut Context<'_>) {
        self.home = Some(home);
        if matches!(self.call, Some((_, Doing::Check | Doing::Look | Doing::Wait))) {
            // What it finds may be from before.
            self.drop_call(context);
            self.again = Some(context.now);
            self.work(context);
        }
        let Some(until) = context.session.until(self.home, context.now) else { return };
        self.renew(until, (context.now, context.length()), context.out);
        self.on_proven(context);
    }

    /// The lease that its key is on has run out.
    pub(super) fn on_old_run_out(&mut self, context: &mut Context<'_>) {
        let is_over = || context.session.until(self.home, context.now).is_none();
        if self.fence().is_some() && self.home != context.lease() && is_over() {
            self.tell(OwnEvent::Lost(Lost::Expired), context.out);
            self.leave(Lost::Expired.into(), context);
        }
    }

    /// E moved. The lease that carries new keys has this length.
    pub(super) fn renew(&mut self, until: Time, lease: (Time, Duration), out: &mut Out) {
        if let Some(fence) = self.fence() {
            let election = self.election.clone();
            out.push(Effect::Raise { election, until, fence: Some(fence) });
            self.settle(until, lease, out);
        }
    }

    /// Who is elected while a renewal is late has little time left: long work begins with half of
    /// the lease ahead.
    fn settle(&mut self, until: Time, (now, length): (Time, Duration), out: &mut Out) {
        if let Phase::Leading { settled: settled @ false, .. } = &mut self.phase
            && until.since(now) >= length / 2
        {
            *settled = true;
            self.tell(Event::Settled, out);
        }
    }

    fn lower(&self, context: &mut Context<'_>) {
        context.out.push(Effect::Lower { election: self.election.clone() });
    }

    fn pause(&mut self, context: &Context<'_>) {
        self.failures = self.failures.saturating_add(1);
        let pause = BACKOFF.pause(self.failures, |bound| self.draw(bound, "pause", context));
        self.again = Some(context.now.after(pause));
    }

    fn draw(&mut self, bound: Duration, purpose: &'static str, context: &Context<'_>) -> Duration {
        self.draws += 1;
        context.draw.span(bound, self.election.as_str(), purpose, self.draws)
    }

    /// Watches from after the answer that it continues, whatever came meanwhile (ruling 9, E8).
    fn watch(&mut self, key: Bytes, from: Revision, context: &mut Context<'_>) {
        // Of another one's key only that it goes is of interest, whatever its value.
        let deletions = key != self.key(context);
        let op = Op::Watch { keys: Keys::One(key.clone()), from, deletions };
        let within = context.config.patience(context.ttl());
        let asker = Asker::Candidate(self.election.clone());
        let call = context.calls.ask((context.now, within), asker, op, context.out);
        self.watch = Some(Watch { call, key });
    }

    fn unwatch(&mut self, context: &mut Context<'_>) {
        if let Some(Watch { call, .. }) = self.watch.take() {
            context.calls.unwatch(call, context.out);
        }
    }

    fn drop_call(&mut self, context: &mut Context<'_>) {
        if let Some((call, _)) = self.call.take() {
            context.calls.forget(call);
        }
    }

    fn key(&self, context: &Context<'_>) -> Bytes {
        let lease = context.session.name().unwrap_or(LeaseId(0));
        key::key(&context.config.namespace, &self.election, lease)
    }

    fn tell(&self, event: impl Into<Event>, out: &mut Out) {
        emit(Some(&self.election), event, out);
    }
}
