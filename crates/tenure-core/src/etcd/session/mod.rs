//! The lease that carries all elections of a process, and when it must be taken for over.

mod grant;
mod renewal;
mod retired;
mod shift;

use alloc::vec::Vec;
use core::time::Duration;

use self::grant::Grant;
use self::retired::Retired;
use self::shift::Shift;
pub(super) use self::shift::{Placed, Shifted};
use super::calls::Asker;
use super::config::BACKOFF;
use super::context::Context;
use super::event::{Ignored, Lost, OwnEvent};
use super::key::{Bytes, LeaseId};
use super::message::{CallId, Header, KeyValue, Op, Refusal, Reply, Revision};
use super::timer::Timer;
use super::words::emit;
use crate::backoff::Backoff;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

/// The most operations of one transaction that etcd takes, unless it is set to fewer.
const OPERATIONS_MAX: usize = 128;

/// One process's lease, if it has one, and those that it had.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Session {
    pub(super) phase: Phase,
    /// What the keys are named by: the first lease of this session, or one that was handed in.
    name: Option<LeaseId>,
    /// Handed in by the caller, and not used yet.
    given: Option<LeaseId>,
    /// An election whose keys can be read, and what is read of them to see the term.
    pub(super) probe: Option<(ElectionName, Bytes)>,
    /// The lease that was handed in: it names the keys, and carries none.
    side: Option<Side>,
    /// The lease of the next term, while it is asked for.
    next: Option<Grant>,
    /// The leases of earlier terms on which there are still keys.
    old: Vec<Old>,
    shift: Shift,
    retired: Vec<Retired>,
    /// How many ids were drawn, and how many renewals.
    drawn: u64,
    renewals: u64,
    /// How many failures in a row.
    failures: u32,
    /// The key after which the next confirmation begins.
    cursor: Option<ElectionName>,
    /// How many operations of one transaction etcd takes at most, if it has refused more.
    operations: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Phase {
    /// No lease, and none needed.
    #[default]
    Idle,
    /// A lease was handed in: whether it is there is being asked.
    Checking,
    /// A term is being established, with reads, so that a lease can be granted in it.
    Establishing { call: Option<CallId>, again: Time },
    /// A lease was asked for.
    Granting(Grant),
    /// The lease exists.
    Open(Lease),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) id: LeaseId,
    /// Its length, in seconds.
    pub(super) ttl: u32,
    /// The term of etcd's leader in which it was asked for: only in that do renewals count. A
    /// leader of an earlier term may hold a revocation back that it carries out later, but not of
    /// a lease that it has never heard of (ruling 14, E3b).
    term: u64,
    /// E: it lasts until then, by a grant or by a keep-alive that a linearizable read of a key
    /// of ours confirmed. `None` before there was either, and when no key is left to claim by it.
    pub(super) proven: Option<Time>,
    /// What the last keep-alive promised, without confirmation: nobody leads by this.
    promised: Time,
    renewal: Renewal,
}

/// A lease of an earlier term: it is not renewed any more, and its E stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Old {
    id: LeaseId,
    ttl: u32,
    proven: Option<Time>,
}

/// A lease that was handed in. It is renewed as long as there is a session, and when it goes, so
/// does everything.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Side {
    lease: LeaseId,
    ttl: u32,
    call: Option<CallId>,
    again: Time,
}

/// Where the renewal is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Renewal {
    Idle {
        until: Time,
        /// The last keep-alive, if there was no key to confirm it.
        bare: Option<Alive>,
    },
    KeepAliveSent {
        call: CallId,
        sent: Time,
    },
    Confirming {
        call: CallId,
        alive: Alive,
        asked: Vec<(ElectionName, Revision)>,
        /// Which of these keys it would delete if that were not there.
        witness: usize,
    },
}

/// A keep-alive sent at `sent` was answered in this term for `ttl` seconds: E counts from `sent`
/// (ruling 3, E2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Alive {
    sent: Time,
    ttl: u32,
    term: u64,
}

/// A key of ours, and its create revision.
pub(super) type Own = (ElectionName, Bytes, Revision);

/// What a confirming transaction found of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) election: ElectionName,
    /// Its create revision when it was asked.
    pub(super) asked: Revision,
    pub(super) kv: Option<KeyValue>,
}

impl Context<'_> {
    fn pause(&self, failures: u32, backoff: Backoff, purpose: &'static str) -> Duration {
        let attempt = u64::from(failures);
        backoff.pause(failures, |bound| self.draw.span(bound, "session", purpose, attempt))
    }

    /// When to try again what has failed so often in a row, and now once more.
    fn again(&self, failures: &mut u32, purpose: &'static str) -> Time {
        *failures = failures.saturating_add(1);
        self.now.after(self.pause(*failures, BACKOFF, purpose))
    }

    /// How long a call about a lease may take.
    fn patience(&self) -> Duration {
        self.config.patience(self.config.ttl())
    }

    fn ask(&mut self, within: Duration, op: Op) -> CallId {
        self.calls.ask((self.now, within), Asker::Session, op, self.out)
    }

    /// An answer without a certain meaning.
    fn unsure(&mut self, doing: &'static str, reply: Reply) {
        let event = match reply {
            Reply::Unknown { why } => OwnEvent::Unsure { doing, why },
            _ => OwnEvent::Ignored(Ignored::Misfit),
        };
        emit(None, event, self.out);
    }

    fn refused(&mut self, doing: &'static str, refusal: Refusal) -> SessionEvent {
        let event = OwnEvent::Obstacle { doing, refusal: refusal.clone() };
        emit(None, event, self.out);
        SessionEvent::Refused(refusal)
    }
}

/// What has become of the session in a step; the node sees to the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SessionEvent {
    Nothing,
    /// There is a lease: keys can be made.
    Opened,
    /// There is a lease of a new term: keys are moved to it.
    Moving,
    /// A move was answered, and the node sees to its keys.
    Shifted(Shifted),
    /// A keep-alive was answered, and [`Session::confirm`] comes next.
    Answered,
    /// What a confirming transaction found, and [`Session::confirmed`] comes next.
    Found(Vec<Found>),
    /// The lease is over.
    Lost(Lost),
    /// etcd refuses a lease.
    Refused(Refusal),
    /// etcd refuses to read keys of this election.
    Unread(ElectionName, Refusal),
}

impl Session {
    pub(super) fn new(given: Option<LeaseId>) -> Self {
        Self { given, ..Self::default() }
    }

    /// The lease on which keys can be made.
    pub(super) const fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Open(lease) => Some(lease),
            _ => None,
        }
    }

    /// What keys are named by.
    pub(super) const fn name(&self) -> Option<LeaseId> {
        self.name
    }

    /// Whether keys are named by a lease that was handed in: an earlier process may have made
    /// some of that name.
    pub(super) const fn is_given(&self) -> bool {
        self.side.is_some()
    }

    /// Whether keys on this lease are of this session.
    pub(super) fn owns(&self, lease: Option<LeaseId>) -> bool {
        let current = self.lease().map(|lease| lease.id);
        let side = self.side.as_ref().map(|side| side.lease);
        lease.is_some()
            && (lease == current
                || lease == side
                || self.old.iter().any(|old| lease == Some(old.id)))
    }

    /// E of the lease that carries a key, if it is proven and not over at `now`.
    pub(super) fn until(&self, home: Option<LeaseId>, now: Time) -> Option<Time> {
        let current = self.lease()?;
        let proven = match home == Some(current.id) {
            true => current.proven,
            false => self.old.iter().find(|old| home == Some(old.id))?.proven,
        };
        proven.filter(|until| now < *until)
    }

    /// How many operations a transaction may have: as many comparisons, and as many of each branch.
    pub(super) fn operations(&self) -> usize {
        self.operations.unwrap_or(OPERATIONS_MAX)
    }

    /// etcd refuses a transaction. Whether it has too many operations, and may have fewer.
    fn takes_fewer(&mut self, refusal: &Refusal, asked: usize) -> bool {
        let too_many = matches!(refusal, Refusal::TooManyOperations { .. });
        let fewer = too_many && asked > 1;
        if fewer {
            self.operations = Some(asked / 2);
        }
        fewer
    }

    /// A renewal is wanted now, if none is under way.
    pub(super) fn hurry(&mut self, now: Time) {
        if let Phase::Open(Lease { renewal: Renewal::Idle { until, .. }, .. }) = &mut self.phase {
            *until = now.min(*until);
        }
    }

    /// etcd says of a key of ours that this lease is gone. A renewal has to show it; where none of
    /// them counts, as no key is there, nothing else would.
    pub(super) fn doubt(&mut self, lease: Option<LeaseId>, now: Time) {
        self.hurry(now);
        if let Phase::Open(open) = &mut self.phase
            && lease == Some(open.id)
            && open.proven.is_none()
        {
            open.promised = now;
        }
    }

    /// When the lease must be taken for over.
    fn end(&self) -> Option<Time> {
        self.lease().map(|lease| lease.proven.unwrap_or(lease.promised))
    }

    /// Whether the lease has run out at `now`. Asked before anything else that comes then: late
    /// answers do not revive it.
    pub(super) fn has_run_out(&self, now: Time) -> bool {
        self.end().is_some_and(|end| end <= now)
    }

    /// Whether a lease of an earlier term has run out at `now`, for the first time of asking.
    pub(super) fn has_old_run_out(&mut self, now: Time) -> bool {
        let mut any = false;
        for old in &mut self.old {
            if old.proven.is_some_and(|proven| proven <= now) {
                (old.proven, any) = (None, true);
            }
        }
        any
    }

    /// Somebody needs a lease.
    pub(super) fn want(&mut self, context: &mut Context<'_>) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        self.failures = 0;
        let again = context.now;
        self.phase = match self.given.take() {
            Some(lease) => {
                self.side = Some(Side { lease, ttl: context.config.ttl(), call: None, again });
                Phase::Checking
            }
            None => Phase::Establishing { call: None, again },
        };
        self.work(context);
    }

    /// Nobody needs the lease any more, or it is over: [`Session::work`] will revoke it, so that
    /// its keys go, once all that stood on it is lowered. If it was asked for and that is not
    /// answered yet, its revocation waits for the answer, or it may come first and find nothing.
    /// What was certainly not granted is not revoked.
    pub(super) fn retire(&mut self, context: &mut Context<'_>) -> Option<LeaseId> {
        let name = self.name.take();
        for old in core::mem::take(&mut self.old) {
            self.give_back(old.id, old.ttl, context);
        }
        if let Some(next) = self.next.take() {
            self.retire_grant(next, context);
        }
        self.drop_shift(context);
        if let Some(Side { lease, ttl, call, .. }) = self.side.take() {
            call.into_iter().for_each(|call| context.calls.forget(call));
            self.give_back(lease, ttl, context);
        }
        let lease = match core::mem::take(&mut self.phase) {
            Phase::Idle => return None,
            Phase::Checking => name,
            Phase::Establishing { call, .. } => {
                call.into_iter().for_each(|call| context.calls.forget(call));
                name
            }
            Phase::Granting(grant) => {
                let lease = grant.lease;
                self.retire_grant(grant, context);
                Some(lease)
            }
            Phase::Open(lease) => {
                if let Renewal::KeepAliveSent { call, .. } | Renewal::Confirming { call, .. } =
                    lease.renewal
                {
                    context.calls.forget(call);
                }
                self.give_back(lease.id, lease.ttl, context);
                Some(lease.id)
            }
        };
        self.failures = 0;
        // The member that leads etcd by then is asked for the next lease.
        context.calls.term = None;
        lease
    }

    /// Whether nothing is left to be done.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.retired.is_empty()
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Deadline> {
        let end = || Some(Timer::LeaseEnd.at(self.end()?));
        let own = match &self.phase {
            Phase::Idle | Phase::Checking => None,
            Phase::Establishing { call, again } => {
                (call.is_none() && self.probe.is_some()).then_some(Timer::Establish.at(*again))
            }
            Phase::Granting(grant) => grant.due().map(|at| Timer::Establish.at(at)),
            Phase::Open(Lease { renewal: Renewal::Idle { until, .. }, .. }) => {
                Deadline::first(end(), Some(Timer::Renewal.at(*until)))
            }
            Phase::Open(_) => end(),
        };
        let next = self.next.as_ref().and_then(Grant::due).map(|at| Timer::NewTerm.at(at));
        let side = self.side.as_ref().filter(|side| side.call.is_none());
        let side = side.map(|side| Timer::GivenLease.at(side.again));
        let old = self.old.iter().filter_map(|old| old.proven).min();
        let old = old.map(|at| Timer::LeaseEnd.at(at));
        let shift = self.shift.due().map(|at| Timer::NewTerm.at(at));
        let retired = self.retired_due().map(|at| Timer::Revoke.at(at));
        [own, next, side, old, shift, retired].into_iter().fold(None, Deadline::first)
    }

    /// Does what is due.
    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        match &mut self.phase {
            Phase::Establishing { call: None, again } if *again <= now => self.establish(context),
            Phase::Granting(grant) => grant.work(context),
            Phase::Open(Lease { id, ttl, renewal, .. }) => match renewal {
                Renewal::Idle { until, .. } if *until <= now => {
                    let within = context.config.patience(*ttl);
                    let call = context.ask(within, Op::KeepAlive { lease: *id });
                    *renewal = Renewal::KeepAliveSent { call, sent: now };
                }
                Renewal::Idle { .. }
                | Renewal::KeepAliveSent { .. }
                | Renewal::Confirming { .. } => {}
            },
            Phase::Idle | Phase::Checking | Phase::Establishing { .. } => {}
        }
        if let Some(next) = &mut self.next {
            next.work(context);
        }
        if let Some(Side { lease, ttl, call: call @ None, again }) = &mut self.side
            && *again <= now
        {
            let within = context.config.patience((*ttl).min(context.config.ttl()));
            *call = Some(context.ask(within, Op::KeepAlive { lease: *lease }));
        }
        self.work_off(context);
    }

    /// An answer to a call of the session's.
    pub(super) fn on_answer(
        &mut self,
        (call, header, reply): (CallId, Option<Header>, Reply),
        context: &mut Context<'_>,
    ) -> SessionEvent {
        if self.on_retired_answer(call, &reply, context) {
            return SessionEvent::Nothing;
        }
        if self.shift.is(call) {
            return self.on_shifted(reply, context);
        }
        if self.side.as_ref().is_some_and(|side| side.call == Some(call)) {
            return self.on_side_answer(reply, context);
        }
        if self.next.as_ref().is_some_and(|next| next.is(call)) {
            return self.on_grant_answer(true, reply, context);
        }
        match &mut self.phase {
            Phase::Establishing { call: asked, .. } if *asked == Some(call) => {
                self.on_established(reply, context)
            }
            Phase::Granting(grant) if grant.is(call) => self.on_grant_answer(false, reply, context),
            Phase::Open(Lease {
                renewal: Renewal::KeepAliveSent { call: asked, sent }, ..
            }) if *asked == call => {
                let sent = *sent;
                self.on_alive(sent, header, reply, context)
            }
            Phase::Open(Lease { renewal: Renewal::Confirming { call: asked, .. }, .. })
                if *asked == call =>
            {
                self.on_read(header, reply, context)
            }
            _ => SessionEvent::Nothing,
        }
    }

    /// What has become of the lease that was handed in.
    fn on_side_answer(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let ours = self.lease().map(|lease| lease.ttl);
        let Some(side) = &mut self.side else { return SessionEvent::Nothing };
        side.call = None;
        let is_first = matches!(self.phase, Phase::Checking);
        let doing = "asking how long a lease lasts";
        match reply {
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                // If somebody revokes it, that is known within a third of ours.
                let rest = third(ours.unwrap_or(ttl).min(ttl));
                (side.ttl, side.again) = (ttl, context.now.after(rest));
                if is_first {
                    self.name = Some(side.lease);
                    self.phase = Phase::Establishing { call: None, again: context.now };
                    self.on_term(context);
                    self.work(context);
                }
                SessionEvent::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone if is_first => {
                (self.side, self.phase) = (None, Phase::Idle);
                self.want(context);
                SessionEvent::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                self.side = None;
                SessionEvent::Lost(Lost::LeaseGone)
            }
            reply => {
                side.again = context.again(&mut self.failures, "lease");
                match reply {
                    Reply::Refused(refusal) if is_first => context.refused(doing, refusal),
                    Reply::Refused(refusal) => {
                        emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
                        SessionEvent::Nothing
                    }
                    reply => {
                        context.unsure(doing, reply);
                        SessionEvent::Nothing
                    }
                }
            }
        }
    }
}

impl Session {
    /// How long after the last renewal the next one begins: a third of the lease, and a little
    /// earlier by chance, so that processes that started together do not end together.
    fn rest_for(&mut self, ttl: u32, context: &Context<'_>) -> Duration {
        self.renewals += 1;
        let third = third(ttl);
        third.saturating_sub(context.draw.span(third / 8, "session", "renewal", self.renewals))
    }
}

/// When a lease of `ttl` seconds is renewed.
fn third(ttl: u32) -> Duration {
    Duration::from_secs(u64::from(ttl)) / 3
}
