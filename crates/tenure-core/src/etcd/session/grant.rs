//! How a lease is got: a term is established, and then it is granted in it.

use super::super::context::Context;
use super::super::event::{Lost, OwnEvent};
use super::super::key::LeaseId;
use super::super::message::{Act, CallId, Op, Refusal, Reply, Txn};
use super::super::words::emit;
use super::{Lease, Old, Phase, Renewal, Session, SessionEvent, third};
use crate::draw::Draw;
use crate::time::Time;

/// The most leases of earlier terms with keys on them. That many terms in which no key could be
/// moved are as good as none.
const OLD_MAX: usize = 8;

/// A lease that was asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct Grant {
    pub(super) lease: LeaseId,
    /// The term that was established before it was first asked for.
    pub(super) term: u64,
    call: Option<(CallId, Time)>,
    again: Time,
    /// It may exist already: it was asked for before, first then.
    first: Option<Time>,
    /// It exists, and one keep-alive asks how long it lasts: it may have ended by then.
    joining: Option<Time>,
    failures: u32,
}

/// What an answer means for a grant.
enum Step {
    /// It is asked again, after a pause or at once.
    Wait,
    /// The lease exists; E if that is known, and since when it lasts.
    Open { ttl: u32, proven: Option<Time>, promised: Time, renewed: Option<Time> },
    /// It is not ours, or may be over.
    Anew { is_ours: bool },
}

impl Grant {
    const fn new(lease: LeaseId, term: u64, again: Time) -> Self {
        Self { lease, term, call: None, again, first: None, joining: None, failures: 0 }
    }

    pub(super) fn is(&self, call: CallId) -> bool {
        self.call() == Some(call)
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.call.map(|(call, _)| call)
    }

    pub(super) const fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Whether it may exist, whatever the answer to a grant that is under way is.
    pub(super) const fn may_exist(&self) -> bool {
        self.first.is_some()
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.call.is_none().then_some(self.again)
    }

    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        if self.due().is_some_and(|due| due <= context.now) {
            let (lease, ttl) = (self.lease, context.config.ttl());
            let op = match self.joining {
                None => Op::Grant { lease, ttl },
                Some(_) => Op::KeepAlive { lease },
            };
            self.call = Some((context.ask(context.patience(), op), context.now));
        }
    }

    fn pause(&mut self, context: &Context<'_>) {
        self.again = context.again(&mut self.failures, "lease");
    }

    fn on_answer(&mut self, reply: Reply, context: &mut Context<'_>) -> (Step, SessionEvent) {
        let Some((_, sent)) = self.call.take() else { return (Step::Wait, SessionEvent::Nothing) };
        match self.joining {
            Some(end) => self.on_joined(sent, end, reply, context),
            None => self.on_granted(sent, reply, context),
        }
    }

    fn on_granted(
        &mut self,
        sent: Time,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> (Step, SessionEvent) {
        let doing = "asking for a lease";
        let mut event = SessionEvent::Nothing;
        let end = |first: Time| first.after(context.config.proven(context.config.ttl()));
        let over = self.first.is_some_and(|first| end(first) <= context.now);
        match (reply, self.first) {
            // An earlier one of this id may have ended, and its revocation be on its way.
            (Reply::Granted { .. }, _) if over => {
                return (Step::Anew { is_ours: true }, event);
            }
            // A grant goes through Raft.
            (Reply::Granted { ttl }, _) if ttl > 0 => {
                let promised = sent.after(context.config.proven(ttl));
                let (proven, renewed) = (Some(promised), Some(sent));
                return (Step::Open { ttl, proven, promised, renewed }, event);
            }
            // Granted to an earlier request of ours whose answer was lost (ruling 6): since when
            // it lasts is not known.
            (Reply::LeaseExists, Some(first)) => {
                (self.joining, self.again) = (Some(end(first)), context.now);
                return (Step::Wait, event);
            }
            (Reply::LeaseExists, None) => return (Step::Anew { is_ours: false }, event),
            // Any of those without an answer may be the one that was carried out: the first counts.
            (Reply::Refused(refusal), first) => {
                self.first = first.or((!is_certain(&refusal)).then_some(sent));
                event = context.refused(doing, refusal);
            }
            (reply, first) => {
                self.first = first.or(Some(sent));
                context.unsure(doing, reply);
            }
        }
        self.pause(context);
        (Step::Wait, event)
    }

    fn on_joined(
        &mut self,
        sent: Time,
        end: Time,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> (Step, SessionEvent) {
        let doing = "asking how long a lease lasts";
        let mut event = SessionEvent::Nothing;
        // It may have ended, and its revocation be under way: then a renewal counts for nothing,
        // though it is answered, and its keys are still there (ruling 4).
        if end <= context.now {
            return (Step::Anew { is_ours: true }, event);
        }
        match reply {
            // No key is there to confirm it.
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                let promised = sent.after(context.config.proven(ttl));
                return (Step::Open { ttl, proven: None, promised, renewed: None }, event);
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                return (Step::Anew { is_ours: false }, event);
            }
            Reply::Refused(refusal) => event = context.refused(doing, refusal),
            reply => context.unsure(doing, reply),
        }
        self.pause(context);
        (Step::Wait, event)
    }
}

impl Session {
    /// Reads something, so that the answer shows in which term etcd is. One header proves
    /// nothing, as it is filled after the read; the second of one member does.
    pub(super) fn establish(&mut self, context: &mut Context<'_>) {
        let Some((_, key)) = &self.probe else { return };
        let read = Act::read(key.clone());
        let txn = Txn { when: [].into(), then: [read].into(), otherwise: [].into() };
        let asked = context.ask(context.patience(), Op::Txn(txn));
        if let Phase::Establishing { call, .. } = &mut self.phase {
            *call = Some(asked);
        }
    }

    /// The answer to that. The term itself is known already, if it is established.
    pub(super) fn on_established(
        &mut self,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let doing = "looking which term etcd is in";
        let later = context.again(&mut self.failures, "lease");
        // Two answers are enough, unless they come from two members.
        let again = match &reply {
            Reply::Txn { .. } if self.failures <= 2 => context.now,
            _ => later,
        };
        self.phase = Phase::Establishing { call: None, again };
        match reply {
            Reply::Txn { .. } => {
                self.on_term(context);
                self.work(context);
            }
            Reply::Refused(refusal) => {
                let event = context.refused(doing, refusal);
                if let (Some((election, _)), SessionEvent::Refused(refusal)) =
                    (self.probe.take(), event)
                {
                    return SessionEvent::Unread(election, refusal);
                }
            }
            reply => context.unsure(doing, reply),
        }
        SessionEvent::Nothing
    }

    /// A term may have been established. A lease that was first asked for before that is not
    /// used: a leader of an earlier term may know it (ruling 14, E3b).
    pub(in crate::etcd) fn on_term(&mut self, context: &mut Context<'_>) {
        let Some(term) = context.calls.term else { return };
        match &self.phase {
            Phase::Establishing { call, .. } => {
                call.iter().for_each(|call| context.calls.forget(*call));
                self.ask_for_first(term, context);
            }
            Phase::Granting(grant) if grant.term != term => {
                if let Phase::Granting(grant) = core::mem::take(&mut self.phase) {
                    self.retire_grant(grant, context);
                }
                self.ask_for_first(term, context);
            }
            Phase::Open(lease) if lease.term != term => {
                if self.next.as_ref().is_some_and(|next| next.term == term) {
                    return;
                }
                let earlier = self.next.take();
                earlier.into_iter().for_each(|next| self.retire_grant(next, context));
                let lease = self.draw_id(context.draw);
                self.next = Some(Grant::new(lease, term, context.now));
            }
            _ => return,
        }
        self.work(context);
    }

    fn ask_for_first(&mut self, term: u64, context: &Context<'_>) {
        let lease = self.draw_id(context.draw);
        self.phase = Phase::Granting(Grant::new(lease, term, context.now));
    }

    /// In [1, 2⁶³ − 1]: Go would print another one with a sign (ruling 6).
    fn draw_id(&mut self, draw: Draw) -> LeaseId {
        self.drawn += 1;
        let number = draw.number("session", "lease", self.drawn);
        LeaseId((number >> 1).max(1).cast_signed())
    }

    /// An answer about the first lease, or the next one.
    pub(super) fn on_grant_answer(
        &mut self,
        is_next: bool,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let grant = match is_next {
            true => self.next.take(),
            false => match core::mem::take(&mut self.phase) {
                Phase::Granting(grant) => Some(grant),
                _ => None,
            },
        };
        let Some(mut grant) = grant else { return SessionEvent::Nothing };
        let (step, event) = grant.on_answer(reply, context);
        let term = grant.term;
        match step {
            Step::Open { ttl, proven, promised, renewed } => {
                // Since it was first asked for it lasts, if not longer.
                let proven = proven.or(grant.joining.filter(|_| is_next));
                let wait = self.rest_for(ttl, context);
                let until = renewed.map_or(context.now, |sent| sent.after(wait));
                let (id, renewal) = (grant.lease, Renewal::Idle { until, bare: None });
                let lease = Lease { id, ttl, term, proven, promised, renewal };
                return match is_next {
                    true => self.open_next(lease, context),
                    false => self.open(lease, context),
                };
            }
            Step::Wait => self.put_back(is_next, grant),
            Step::Anew { is_ours } => {
                if is_ours {
                    self.retire_grant(grant, context);
                }
                let lease = self.draw_id(context.draw);
                self.put_back(is_next, Grant::new(lease, term, context.now));
            }
        }
        self.work(context);
        event
    }

    fn put_back(&mut self, is_next: bool, grant: Grant) {
        match is_next {
            true => self.next = Some(grant),
            false => self.phase = Phase::Granting(grant),
        }
    }

    fn open(&mut self, lease: Lease, context: &mut Context<'_>) -> SessionEvent {
        let (asked, granted, lease_id) = (context.config.ttl(), lease.ttl, lease.id);
        self.name = Some(self.name.unwrap_or(lease_id));
        self.phase = Phase::Open(lease);
        self.failures = 0;
        // If somebody revokes it, that is known within a third of ours.
        if let Some(side) = &mut self.side {
            side.again = side.again.min(context.now.after(third(granted)));
        }
        emit(None, OwnEvent::Opened { lease: lease_id, asked, granted }, context.out);
        SessionEvent::Opened
    }

    /// The lease of the new term is there: keys are made on it, and moved to it. The one before
    /// keeps its E.
    fn open_next(&mut self, lease: Lease, context: &mut Context<'_>) -> SessionEvent {
        let Phase::Open(current) = &self.phase else { return SessionEvent::Nothing };
        let of_old = self.old.iter().filter_map(|old| old.proven);
        let latest = of_old.chain(current.proven).max();
        // A key may be on it before that is known: it must not end before the claims.
        if lease.proven < latest {
            self.give_back(lease.id, lease.ttl, context);
            let id = self.draw_id(context.draw);
            let mut next = Grant::new(id, lease.term, context.now);
            next.pause(context);
            self.next = Some(next);
            self.work(context);
            return SessionEvent::Nothing;
        }
        if self.old.len() >= OLD_MAX {
            self.give_back(lease.id, lease.ttl, context);
            return SessionEvent::Lost(Lost::Expired);
        }
        let (from, to, granted, term) = (current.id, lease.id, lease.ttl, lease.term);
        let Phase::Open(current) = core::mem::replace(&mut self.phase, Phase::Open(lease)) else {
            return SessionEvent::Nothing;
        };
        if let Renewal::KeepAliveSent { call, .. } | Renewal::Confirming { call, .. } =
            current.renewal
        {
            context.calls.forget(call);
        }
        let Lease { id, ttl, proven, .. } = current;
        self.old.push(Old { id, ttl, proven });
        self.failures = 0;
        self.reset_shift(context);
        emit(None, OwnEvent::Moving { from, to, granted, term }, context.out);
        SessionEvent::Moving
    }
}

/// Whether a grant that is refused like this was certainly not carried out: that there is no room
/// may be said after it was.
pub(super) fn is_certain(refusal: &Refusal) -> bool {
    !matches!(refusal, Refusal::NoSpace { .. })
}
