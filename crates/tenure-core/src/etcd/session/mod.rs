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
use super::calls::{Asker, Calls};
use super::config::{BACKOFF, Checked};
use super::event::{Ignored, Lost, OwnEvent};
use super::key::{Bytes, LeaseId};
use super::message::{CallId, Header, KeyValue, Op, Refusal, Reply, Revision};
use super::rule::{Rule, ruling};
use super::words::{Out, emit};
use crate::backoff::Backoff;
use crate::draw::Draw;
use crate::name::ElectionName;
use crate::time::Time;

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
    /// of ours confirmed. `None` before there was either.
    pub(super) proven: Option<Time>,
    /// What the last keep-alive promised, without confirmation: nobody leads by this.
    promised: Time,
    beat: Beat,
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
enum Beat {
    Resting {
        until: Time,
        /// The last keep-alive, if there was no key to confirm it.
        bare: Option<Alive>,
    },
    Asked {
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

/// A keep-alive sent at `sent` was answered in this term for `ttl` seconds.
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

/// What a session needs of its surroundings.
pub(super) struct Around<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Checked,
    pub(super) draw: Draw,
    pub(super) calls: &'a mut Calls,
    pub(super) out: &'a mut Out,
}

impl Around<'_> {
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

    fn refused(&mut self, doing: &'static str, refusal: Refusal) -> News {
        let event = OwnEvent::Obstacle { doing, refusal: refusal.clone() };
        emit(None, event, self.out);
        News::Refused(refusal)
    }
}

/// What has become of the session in a step; the node sees to the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum News {
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
        let is_current = home == Some(current.id) || !ruling(Rule::OwnLeaseCounts);
        let proven = match is_current {
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
        let fewer = too_many && asked > 1 && ruling(Rule::FewerOperations);
        if fewer {
            self.operations = Some(asked / 2);
        }
        fewer
    }

    /// A renewal is wanted now, if none is under way.
    pub(super) fn hurry(&mut self, now: Time) {
        if let Phase::Open(Lease { beat: Beat::Resting { until, .. }, .. }) = &mut self.phase {
            *until = now.min(*until);
        }
    }

    /// Takes the lease for over: what a careless core does when one election is lost.
    pub(super) fn give_up(&mut self, now: Time) {
        if let Phase::Open(lease) = &mut self.phase {
            lease.proven = Some(now);
        }
    }

    /// When the lease must be taken for over.
    fn end(&self) -> Option<Time> {
        let end = self.lease().map(|lease| lease.proven.unwrap_or(lease.promised));
        end.filter(|_| ruling(Rule::NoRevival))
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
    pub(super) fn want(&mut self, around: &mut Around<'_>) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        self.failures = 0;
        let again = around.now;
        self.phase = match self.given.take() {
            Some(lease) => {
                self.side = Some(Side { lease, ttl: around.config.ttl(), call: None, again });
                Phase::Checking
            }
            None => Phase::Establishing { call: None, again },
        };
        self.work(around);
    }

    /// Nobody needs the lease any more, or it is over: [`Session::work`] will revoke it, so that
    /// its keys go, once all that stood on it is lowered. If it was asked for and that is not
    /// answered yet, its revocation waits for the answer, or it may come first and find nothing.
    /// What was certainly not granted is not revoked.
    pub(super) fn retire(&mut self, around: &mut Around<'_>) -> Option<LeaseId> {
        let name = self.name.take();
        for old in core::mem::take(&mut self.old) {
            self.give_back(old.id, old.ttl, around);
        }
        if let Some(next) = self.next.take() {
            self.retire_grant(next, around);
        }
        self.drop_shift(around);
        if let Some(Side { lease, ttl, call, .. }) = self.side.take() {
            call.into_iter().for_each(|call| around.calls.forget(call));
            self.give_back(lease, ttl, around);
        }
        let lease = match core::mem::take(&mut self.phase) {
            Phase::Idle => return None,
            Phase::Checking => name,
            Phase::Establishing { call, .. } => {
                call.into_iter().for_each(|call| around.calls.forget(call));
                name
            }
            Phase::Granting(grant) => {
                let lease = grant.lease;
                self.retire_grant(grant, around);
                Some(lease)
            }
            Phase::Open(lease) => {
                if let Beat::Asked { call, .. } | Beat::Confirming { call, .. } = lease.beat {
                    around.calls.forget(call);
                }
                self.give_back(lease.id, lease.ttl, around);
                Some(lease.id)
            }
        };
        self.failures = 0;
        // Whoever leads etcd by the time of the next lease is asked then.
        around.calls.term = None;
        lease
    }

    /// Whether nothing is left to be done.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.retired.is_empty()
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        let own = match &self.phase {
            Phase::Idle | Phase::Checking => None,
            Phase::Establishing { call, again } => {
                (call.is_none() && self.probe.is_some()).then_some(*again)
            }
            Phase::Granting(grant) => grant.due(),
            Phase::Open(Lease { beat: Beat::Resting { until, .. }, .. }) => {
                Some(self.end().map_or(*until, |end| end.min(*until)))
            }
            Phase::Open(_) => self.end(),
        };
        let next = self.next.as_ref().and_then(Grant::due);
        let side = self.side.as_ref().filter(|side| side.call.is_none());
        let side = side.map(|side| side.again);
        let old = self.old.iter().filter_map(|old| old.proven).min();
        let all = [own, next, side, old, self.shift.due(), self.retired_due()];
        all.into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn work(&mut self, around: &mut Around<'_>) {
        let now = around.now;
        match &mut self.phase {
            Phase::Establishing { call: None, again } if *again <= now => self.establish(around),
            Phase::Granting(grant) => grant.work(around),
            Phase::Open(Lease { id, ttl, beat, .. }) => match beat {
                Beat::Resting { until, .. } if *until <= now => {
                    let within = around.config.patience(*ttl);
                    let call = around.ask(within, Op::KeepAlive { lease: *id });
                    *beat = Beat::Asked { call, sent: now };
                }
                Beat::Resting { .. } | Beat::Asked { .. } | Beat::Confirming { .. } => {}
            },
            Phase::Idle | Phase::Checking | Phase::Establishing { .. } => {}
        }
        if let Some(next) = &mut self.next {
            next.work(around);
        }
        if let Some(Side { lease, ttl, call: call @ None, again }) = &mut self.side
            && *again <= now
        {
            let within = around.config.patience((*ttl).min(around.config.ttl()));
            *call = Some(around.ask(within, Op::KeepAlive { lease: *lease }));
        }
        self.work_off(around);
    }

    /// An answer to a call of the session's.
    pub(super) fn on_answer(
        &mut self,
        (call, header, reply): (CallId, Option<Header>, Reply),
        around: &mut Around<'_>,
    ) -> News {
        if let Some(news) = self.on_retired_answer(call, &reply, around) {
            return news;
        }
        if self.shift.is(call) {
            return self.on_shifted(reply, around);
        }
        if self.side.as_ref().is_some_and(|side| side.call == Some(call)) {
            return self.on_side_answer(reply, around);
        }
        if self.next.as_ref().is_some_and(|next| next.is(call)) {
            return self.on_grant_answer(true, reply, around);
        }
        match &mut self.phase {
            Phase::Establishing { call: asked, .. } if *asked == Some(call) => {
                self.on_established(reply, around)
            }
            Phase::Granting(grant) if grant.is(call) => self.on_grant_answer(false, reply, around),
            Phase::Open(Lease { beat: Beat::Asked { call: asked, sent }, .. })
                if *asked == call =>
            {
                let sent = *sent;
                self.on_alive(sent, header, reply, around)
            }
            Phase::Open(Lease { beat: Beat::Confirming { call: asked, .. }, .. })
                if *asked == call =>
            {
                self.on_read(header, reply, around)
            }
            _ => News::Nothing,
        }
    }

    /// What has become of the lease that was handed in.
    fn on_side_answer(&mut self, reply: Reply, around: &mut Around<'_>) -> News {
        let ours = self.lease().map(|lease| lease.ttl);
        let Some(side) = &mut self.side else { return News::Nothing };
        side.call = None;
        let is_first = matches!(self.phase, Phase::Checking);
        let doing = "asking how long a lease lasts";
        match reply {
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                // If somebody revokes it, that is known within a third of ours.
                let rest = third(ours.unwrap_or(ttl).min(ttl));
                (side.ttl, side.again) = (ttl, around.now.after(rest));
                if is_first {
                    self.name = Some(side.lease);
                    self.phase = Phase::Establishing { call: None, again: around.now };
                    self.on_term(around);
                    self.work(around);
                }
                News::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone if is_first => {
                (self.side, self.phase) = (None, Phase::Idle);
                self.want(around);
                News::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                self.side = None;
                if ruling(Rule::GivenEndsAll) {
                    return News::Lost(Lost::LeaseGone);
                }
                News::Nothing
            }
            reply => {
                side.again = around.again(&mut self.failures, "lease");
                match reply {
                    Reply::Refused(refusal) if is_first => around.refused(doing, refusal),
                    Reply::Refused(refusal) => {
                        emit(None, OwnEvent::Obstacle { doing, refusal }, around.out);
                        News::Nothing
                    }
                    reply => {
                        around.unsure(doing, reply);
                        News::Nothing
                    }
                }
            }
        }
    }
}

impl Session {
    /// How long after the last renewal the next one begins: a third of the lease, and a little
    /// earlier by chance, so that processes that started together do not end together.
    fn rest_for(&mut self, ttl: u32, around: &Around<'_>) -> Duration {
        self.renewals += 1;
        let third = third(ttl);
        third.saturating_sub(around.draw.span(third / 8, "session", "renewal", self.renewals))
    }
}

/// When a lease of `ttl` seconds is renewed.
fn third(ttl: u32) -> Duration {
    Duration::from_secs(u64::from(ttl)) / if ruling(Rule::RenewedEarly) { 3 } else { 1 }
}
