//! The request for a lease, until the lease is open. Decides whether a lease may be used if the
//! answer to its grant was lost.

use super::outcome::SessionEvent;
use crate::etcd::context::Context;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{CallId, Op, Refusal, Reply};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct Grant {
    pub(in crate::etcd) lease: LeaseId,
    /// The term that was established before the first request.
    pub(in crate::etcd) term: u64,
    /// The open call, and the time of its send.
    call: Option<(CallId, Time)>,
    /// The time of the next request, while no call is open.
    again: Time,
    /// The send time of the first request without a certain outcome, after which the lease may
    /// exist.
    first: Option<Time>,
    /// The earliest time at which the lease may have ended. Set once the lease is known to exist,
    /// while a keep-alive asks for its length.
    pub(super) joining: Option<Time>,
    failures: u32,
}

pub(super) enum GrantOutcome {
    /// Ask again for the lease, at once or after a pause.
    Wait,
    Open {
        /// The granted length, in seconds.
        ttl: u32,
        /// E, the end of the lease, if the answer proves it.
        proven: Option<Time>,
        /// E, the end of the lease, measured from the send of this request.
        promised: Time,
        /// The send time of the request that granted the lease, if it is known.
        renewed: Option<Time>,
    },
    /// Draw another id: the lease is not ours, or may have ended.
    Anew { is_ours: bool },
}

impl Grant {
    pub(in crate::etcd) const fn new(lease: LeaseId, term: u64, again: Time) -> Self {
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

    /// Whether the lease may exist even if the open call fails.
    pub(super) const fn may_exist(&self) -> bool {
        self.first.is_some()
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.call.is_none().then_some(self.again)
    }

    /// Asks for the lease, or for its length, when due.
    pub(in crate::etcd) fn run_due(&mut self, context: &mut Context<'_>) {
        if self.due().is_some_and(|due| due <= context.now) {
            let lease = self.lease;
            let op = match self.joining {
                None => Op::Grant { lease, ttl: context.config.ttl() },
                Some(_) => Op::KeepAlive { lease },
            };
            self.call = Some((context.ask(context.patience(), op), context.now));
        }
    }

    pub(super) fn pause(&mut self, context: &Context<'_>) {
        self.again = context.again(&mut self.failures, "lease");
    }

    pub(super) fn on_answer(
        &mut self,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> (GrantOutcome, SessionEvent) {
        let Some((_, sent)) = self.call.take() else {
            return (GrantOutcome::Wait, SessionEvent::Nothing);
        };
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
    ) -> (GrantOutcome, SessionEvent) {
        let doing = "asking for a lease";
        let mut event = SessionEvent::Nothing;
        let end = |first: Time| first.after(context.config.proven(context.config.ttl()));
        let over = self.first.is_some_and(|first| end(first) <= context.now);
        match (reply, self.first) {
            // An earlier lease of this id may have ended, with a revocation under way.
            (Reply::Granted { .. }, _) if over => {
                return (GrantOutcome::Anew { is_ours: true }, event);
            }
            // A grant goes through Raft, so it proves E.
            (Reply::Granted { ttl }, _) if ttl > 0 => {
                let promised = sent.after(context.config.proven(ttl));
                let proven = Some(promised);
                return (GrantOutcome::Open { ttl, proven, promised, renewed: Some(sent) }, event);
            }
            // An earlier request, whose answer was lost, has made the lease (ruling 6): its age is
            // unknown.
            (Reply::LeaseExists, Some(first)) => {
                self.joining = Some(end(first));
                self.again = context.now;
                return (GrantOutcome::Wait, event);
            }
            (Reply::LeaseExists, None) => return (GrantOutcome::Anew { is_ours: false }, event),
            // etcd may have carried out any request without a certain outcome: count the age of the
            // lease from the first such request.
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
        (GrantOutcome::Wait, event)
    }

    fn on_joined(
        &mut self,
        sent: Time,
        end: Time,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> (GrantOutcome, SessionEvent) {
        let doing = "asking how long a lease lasts";
        let mut event = SessionEvent::Nothing;
        // The lease may have ended, with a revocation under way. Then an answered renewal proves
        // nothing, although the keys are still there (ruling 4).
        if end <= context.now {
            return (GrantOutcome::Anew { is_ours: true }, event);
        }
        match reply {
            // No key is there yet to confirm the renewal.
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                let promised = sent.after(context.config.proven(ttl));
                return (GrantOutcome::Open { ttl, proven: None, promised, renewed: None }, event);
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                return (GrantOutcome::Anew { is_ours: false }, event);
            }
            Reply::Refused(refusal) => event = context.refused(doing, refusal),
            reply => context.unsure(doing, reply),
        }
        self.pause(context);
        (GrantOutcome::Wait, event)
    }
}

/// Whether a grant with this refusal was certainly not carried out. etcd may report a full store
/// for a lease that it has granted.
pub(super) fn is_certain(refusal: &Refusal) -> bool {
    !matches!(refusal, Refusal::NoSpace { .. })
}
