//! The lease that carries all elections of a process, and when it must be taken for over.

mod renewal;

use alloc::vec::Vec;
use core::time::Duration;

use super::calls::{Asker, Calls};
use super::config::{BACKOFF, Checked};
use super::event::{Event, Ignored, Lost};
use super::key::{Bytes, LeaseId};
use super::message::{CallId, Header, KeyValue, Op, Refusal, Reply, Revision};
use super::node::{Out, emit};
use super::rule::{Rule, ruling};
use crate::backoff::Backoff;
use crate::draw::Draw;
use crate::name::ElectionName;
use crate::time::Time;

/// The most keys that one confirming transaction reads: etcd's limit on operations.
pub(super) const CONFIRM_MAX: usize = 128;
/// The most old leases that are remembered until etcd has revoked them.
const RETIRED_MAX: usize = 16;

/// One process's lease, if it has one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Session {
    pub(super) phase: Phase,
    /// Handed in by the caller, and not used yet.
    given: Option<LeaseId>,
    retired: Vec<Retired>,
    /// How many ids were drawn.
    drawn: u64,
    /// How many failures in a row.
    failures: u32,
    /// The key after which the next confirmation begins.
    cursor: Option<ElectionName>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Phase {
    /// No lease, and none needed.
    #[default]
    Idle,
    /// A lease was asked for. It may exist already if it was asked for before, first at `first`.
    Granting { lease: LeaseId, call: Option<(CallId, Time)>, again: Time, first: Option<Time> },
    /// The lease exists; how long it lasts is not known yet. One of ours may have ended at `end`;
    /// one that was handed in is alive, its giver says.
    Joining { lease: LeaseId, call: Option<(CallId, Time)>, again: Time, end: Option<Time> },
    /// The lease exists.
    Open(Lease),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) id: LeaseId,
    /// Whether it was handed in: an earlier process may have made keys on it.
    pub(super) given: bool,
    /// Its length, in seconds.
    pub(super) ttl: u32,
    /// E: it lasts until then, by a grant or by a keep-alive that a linearizable read of a key
    /// of ours confirmed. `None` before there was either.
    pub(super) proven: Option<Time>,
    /// What the last keep-alive promised, without confirmation: nobody leads by this.
    promised: Time,
    beat: Beat,
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

/// A lease that is to be revoked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Retired {
    lease: LeaseId,
    /// Its grant, as long as that is not answered: what is revoked before may be granted after.
    grant: Option<CallId>,
    /// Whether it may exist, whatever the answer to that is.
    made: bool,
    call: Option<CallId>,
    again: Time,
    /// etcd has ended it by itself by then.
    until: Time,
    failures: u32,
}

impl Retired {
    /// Whether no call about it is under way.
    const fn is_resting(&self) -> bool {
        self.grant.is_none() && self.call.is_none()
    }
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

    fn ask(&mut self, within: Duration, op: Op) -> CallId {
        self.calls.ask((self.now, within), Asker::Session, op, self.out)
    }

    /// An answer without a certain meaning.
    fn unsure(&mut self, doing: &'static str, reply: Reply) {
        let event = match reply {
            Reply::Unknown { why } => Event::Unsure { doing, why },
            _ => Event::Ignored(Ignored::Misfit),
        };
        emit(None, event, self.out);
    }

    fn refused(&mut self, doing: &'static str, refusal: Refusal) -> News {
        let event = Event::Obstacle { doing, refusal: refusal.clone() };
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
    /// A keep-alive was answered, and [`Session::confirm`] comes next.
    Answered,
    /// What a confirming transaction found, and [`Session::confirmed`] comes next.
    Found(Vec<Found>),
    /// The lease is over.
    Lost(Lost),
    /// etcd refuses a lease.
    Refused(Refusal),
}

impl Session {
    pub(super) fn new(given: Option<LeaseId>) -> Self {
        Self { given, ..Self::default() }
    }

    /// The lease on which keys can be made.
    pub(super) const fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            Phase::Open(lease) => Some(lease),
            Phase::Idle | Phase::Granting { .. } | Phase::Joining { .. } => None,
        }
    }

    /// E, if it is proven and not over at `now`.
    pub(super) fn until(&self, now: Time) -> Option<Time> {
        self.lease()?.proven.filter(|until| now < *until)
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

    /// Somebody needs a lease.
    pub(super) fn want(&mut self, around: &mut Around<'_>) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        self.failures = 0;
        let again = around.now;
        self.phase = match self.given.take() {
            Some(lease) => Phase::Joining { lease, call: None, again, end: None },
            None => {
                let lease = self.draw_id(around.draw);
                Phase::Granting { lease, call: None, again, first: None }
            }
        };
        self.work(around);
    }

    /// In [1, 2⁶³ − 1]: Go would print another one with a sign (ruling 6).
    fn draw_id(&mut self, draw: Draw) -> LeaseId {
        self.drawn += 1;
        let number = draw.number("session", "lease", self.drawn);
        if !ruling(Rule::LeasePositive) {
            return LeaseId((number | 1 << 63).cast_signed());
        }
        LeaseId((number >> 1).max(1).cast_signed())
    }

    /// Nobody needs the lease any more, or it is over: [`Session::work`] will revoke it, so that
    /// its keys go, once all that stood on it is lowered. If it was asked for and that is not
    /// answered yet, its revocation waits for the answer, or it may come first and find nothing.
    /// What was certainly not granted is not revoked.
    pub(super) fn retire(&mut self, around: &mut Around<'_>) -> Option<LeaseId> {
        let asked = around.config.ttl();
        let (lease, ttl, grant, made) = match &self.phase {
            Phase::Idle => return None,
            Phase::Granting { lease, call, first, .. } => {
                let waits = ruling(Rule::RevokeAfterGrant);
                let grant = call.map(|(call, _)| call).filter(|_| waits);
                (*lease, asked, grant, first.is_some() || !waits)
            }
            Phase::Joining { lease, .. } => (*lease, asked, None, true),
            Phase::Open(lease) => (lease.id, lease.ttl, None, true),
        };
        if let Some(call) = self.call().filter(|_| grant.is_none()) {
            around.calls.forget(call);
        }
        self.phase = Phase::Idle;
        self.failures = 0;
        if made || grant.is_some() {
            let until = around.now.after(Duration::from_secs(u64::from(ttl)) * 2);
            let again = around.now;
            let old = Retired { lease, grant, made, call: None, again, until, failures: 0 };
            self.remember(old, around);
        }
        Some(lease)
    }

    fn remember(&mut self, old: Retired, around: &mut Around<'_>) {
        if self.retired.len() >= RETIRED_MAX {
            // etcd ends it by itself.
            let Retired { grant, call, .. } = self.retired.remove(0);
            grant.into_iter().chain(call).for_each(|call| around.calls.forget(call));
        }
        self.retired.push(old);
    }

    fn call(&self) -> Option<CallId> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Granting { call, .. } | Phase::Joining { call, .. } => {
                call.map(|(call, _)| call)
            }
            Phase::Open(lease) => match &lease.beat {
                Beat::Resting { .. } => None,
                Beat::Asked { call, .. } | Beat::Confirming { call, .. } => Some(*call),
            },
        }
    }

    /// Whether nothing is left to be done.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.retired.is_empty()
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        let own = match &self.phase {
            Phase::Idle => None,
            Phase::Granting { call: None, again, .. }
            | Phase::Joining { call: None, again, .. } => Some(*again),
            Phase::Granting { .. } | Phase::Joining { .. } => None,
            Phase::Open(Lease { beat: Beat::Resting { until, .. }, .. }) => {
                Some(self.end().map_or(*until, |end| end.min(*until)))
            }
            Phase::Open(_) => self.end(),
        };
        let retired = self.retired.iter().filter(|old| old.is_resting()).map(|old| old.again);
        own.into_iter().chain(retired).min()
    }

    /// Does what is due.
    pub(super) fn work(&mut self, around: &mut Around<'_>) {
        let (now, ttl) = (around.now, around.config.ttl());
        let within = around.config.patience(ttl);
        match &mut self.phase {
            Phase::Granting { lease, call: call @ None, again, .. } if *again <= now => {
                *call = Some((around.ask(within, Op::Grant { lease: *lease, ttl }), now));
            }
            Phase::Joining { lease, call: call @ None, again, .. } if *again <= now => {
                *call = Some((around.ask(within, Op::KeepAlive { lease: *lease }), now));
            }
            Phase::Open(Lease { id, ttl, beat, .. }) => match beat {
                Beat::Resting { until, .. } if *until <= now => {
                    let within = around.config.patience(*ttl);
                    let call = around.ask(within, Op::KeepAlive { lease: *id });
                    *beat = Beat::Asked { call, sent: now };
                }
                Beat::Resting { .. } | Beat::Asked { .. } | Beat::Confirming { .. } => {}
            },
            Phase::Idle | Phase::Granting { .. } | Phase::Joining { .. } => {}
        }
        self.retired.retain(|old| now < old.until || !old.is_resting());
        for old in &mut self.retired {
            if old.is_resting() && old.again <= now {
                old.call = Some(around.ask(within, Op::Revoke { lease: old.lease }));
            }
        }
    }

    /// An answer to a call of the session's.
    pub(super) fn on_answer(
        &mut self,
        (call, header, reply): (CallId, Option<Header>, Reply),
        around: &mut Around<'_>,
    ) -> News {
        if let Some(nth) = self.retired.iter().position(|old| old.call == Some(call)) {
            self.on_revoked(nth, reply, around);
            return News::Nothing;
        }
        if let Some(nth) = self.retired.iter().position(|old| old.grant == Some(call)) {
            return self.on_late_grant(nth, &reply, around);
        }
        if self.call() != Some(call) {
            return News::Nothing;
        }
        match &mut self.phase {
            Phase::Granting { call: Some((_, sent)), .. } => {
                let sent = *sent;
                self.on_granted(sent, reply, around)
            }
            Phase::Joining { call: Some((_, sent)), .. } => {
                let sent = *sent;
                self.on_joined(sent, reply, around)
            }
            Phase::Open(Lease { beat: Beat::Asked { sent, .. }, .. }) => {
                let sent = *sent;
                self.on_alive(sent, header, reply, around)
            }
            Phase::Open(Lease { beat: Beat::Confirming { .. }, .. }) => {
                self.on_read(header, reply, around)
            }
            _ => News::Nothing,
        }
    }

    fn on_granted(&mut self, sent: Time, reply: Reply, around: &mut Around<'_>) -> News {
        let Phase::Granting { lease, first, .. } = self.phase else { return News::Nothing };
        let doing = "asking for a lease";
        match (reply, first) {
            (Reply::Granted { ttl }, _) if ttl > 0 => return self.open(lease, sent, ttl, around),
            // Granted to an earlier request of ours whose answer was lost (ruling 6): since when
            // it lasts is not known.
            (Reply::LeaseExists, Some(first)) => {
                let (again, ttl) = (around.now, around.config.ttl());
                let end = Some(first.after(around.config.proven(ttl)));
                self.phase = Phase::Joining { lease, call: None, again, end };
                self.work(around);
                return News::Nothing;
            }
            // Somebody else's.
            (Reply::LeaseExists, None) => {
                self.phase = Phase::Idle;
                self.want(around);
                return News::Nothing;
            }
            (Reply::Refused(refusal), _) => {
                let again = self.pause(around);
                let first = first.or((!is_certain(&refusal)).then_some(sent));
                self.phase = Phase::Granting { lease, call: None, again, first };
                return around.refused(doing, refusal);
            }
            (reply, _) => around.unsure(doing, reply),
        }
        let again = self.pause(around);
        let first = first.or(Some(sent));
        self.phase = Phase::Granting { lease, call: None, again, first };
        News::Nothing
    }

    fn on_joined(&mut self, sent: Time, reply: Reply, around: &mut Around<'_>) -> News {
        let Phase::Joining { lease, end, .. } = self.phase else { return News::Nothing };
        let doing = "asking how long a lease lasts";
        // It may have ended, and its revocation be under way: then a renewal counts for nothing,
        // though it is answered, and its keys are still there (ruling 4).
        if end.is_some_and(|end| end <= around.now) && ruling(Rule::JoinInTime) {
            self.retire(around);
            self.want(around);
            return News::Nothing;
        }
        let news = match reply {
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                return self.open(lease, sent, ttl, around);
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                self.phase = Phase::Idle;
                self.want(around);
                return News::Nothing;
            }
            Reply::Refused(refusal) => around.refused(doing, refusal),
            reply => {
                around.unsure(doing, reply);
                News::Nothing
            }
        };
        let again = self.pause(around);
        self.phase = Phase::Joining { lease, call: None, again, end };
        news
    }

    /// The lease exists and lasts for `ttl` seconds from `sent`.
    fn open(&mut self, id: LeaseId, sent: Time, ttl: u32, around: &mut Around<'_>) -> News {
        let end = sent.after(around.config.proven(ttl));
        let granted = matches!(self.phase, Phase::Granting { .. });
        let given = matches!(self.phase, Phase::Joining { end: None, .. });
        // A grant goes through Raft. A keep-alive does not, and no key is there to confirm it.
        let proven = (granted || !ruling(Rule::AliveConfirmed)).then_some(end);
        let until = if granted { sent.after(third(ttl)) } else { around.now };
        let beat = Beat::Resting { until, bare: None };
        self.phase = Phase::Open(Lease { id, given, ttl, proven, promised: end, beat });
        self.failures = 0;
        let asked = around.config.ttl();
        emit(None, Event::Opened { lease: id, asked, granted: ttl }, around.out);
        News::Opened
    }

    fn pause(&mut self, around: &Around<'_>) -> Time {
        self.failures = self.failures.saturating_add(1);
        around.now.after(around.pause(self.failures, BACKOFF, "lease"))
    }

    /// What has become of the grant of a lease that was given up meanwhile.
    fn on_late_grant(&mut self, nth: usize, reply: &Reply, around: &mut Around<'_>) -> News {
        let old = &mut self.retired[nth];
        (old.grant, old.again) = (None, around.now);
        let (lease, made) = (old.lease, old.made);
        match reply {
            Reply::Granted { ttl } if !ruling(Rule::LateGrantLeft) => {
                return self.open(lease, around.now, *ttl, around);
            }
            Reply::Refused(refusal) if !made && is_certain(refusal) => {
                self.retired.remove(nth);
            }
            // Somebody else's.
            Reply::LeaseExists if !made => {
                self.retired.remove(nth);
            }
            _ => self.work(around),
        }
        News::Nothing
    }

    fn on_revoked(&mut self, nth: usize, reply: Reply, around: &mut Around<'_>) {
        match reply {
            Reply::Revoked | Reply::LeaseGone => {
                self.retired.remove(nth);
                return;
            }
            Reply::Refused(refusal) => {
                let doing = "revoking a lease";
                emit(None, Event::Obstacle { doing, refusal }, around.out);
            }
            reply => around.unsure("revoking a lease", reply),
        }
        let old = &mut self.retired[nth];
        old.call = None;
        old.failures = old.failures.saturating_add(1);
        old.again = around.now.after(around.pause(old.failures, BACKOFF, "revoke"));
    }
}

/// Whether a grant that is refused like this was certainly not carried out: that there is no room
/// may be said after it was.
fn is_certain(refusal: &Refusal) -> bool {
    !matches!(refusal, Refusal::NoSpace { .. }) || !ruling(Rule::NoSpaceUnsure)
}

/// When a lease of `ttl` seconds is renewed.
fn third(ttl: u32) -> Duration {
    Duration::from_secs(u64::from(ttl)) / if ruling(Rule::RenewedEarly) { 3 } else { 1 }
}
