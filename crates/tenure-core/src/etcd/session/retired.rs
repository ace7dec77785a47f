//! Leases that must be revoked, again and again until they are gone, and never before an open grant
//! is answered.

use alloc::vec::Vec;
use core::time::Duration;

use super::grant::{Grant, is_certain};
use crate::etcd::context::Context;
use crate::etcd::event::OwnEvent;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{CallId, Op, Reply};
use crate::etcd::words::emit;
use crate::time::Time;

/// The maximum number of leases that wait for their revocation.
const RETIRED_MAX: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct RetiredLease {
    lease: LeaseId,
    /// The open grant call. A revocation that is sent before its answer could arrive before the
    /// grant.
    grant: Option<CallId>,
    /// Whether the lease may exist even if the open grant fails.
    made: bool,
    call: Option<CallId>,
    /// The time of the next revocation request, while no call is open.
    again: Time,
    /// The time by which etcd has ended the lease by itself.
    until: Time,
    failures: u32,
}

/// The leases that must be revoked, the oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::etcd) struct RetiredLeases(Vec<RetiredLease>);

impl RetiredLease {
    const fn is_resting(&self) -> bool {
        self.grant.is_none() && self.call.is_none()
    }
}

impl RetiredLeases {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn give_back(&mut self, lease: LeaseId, ttl: u32, context: &mut Context<'_>) {
        self.remember(lease, ttl, None, true, context);
    }

    /// Revokes a requested lease, if etcd has granted it or still grants it.
    pub(in crate::etcd) fn give_up(&mut self, asked: Grant, context: &mut Context<'_>) {
        let ttl = context.config.ttl();
        if asked.is_joining() {
            asked.call().into_iter().for_each(|call| context.calls.forget(call));
            return self.give_back(asked.lease, ttl, context);
        }
        let grant = asked.call();
        let made = asked.may_exist();
        if made || grant.is_some() {
            self.remember(asked.lease, ttl, grant, made, context);
        }
    }

    fn remember(
        &mut self,
        lease: LeaseId,
        ttl: u32,
        grant: Option<CallId>,
        made: bool,
        context: &mut Context<'_>,
    ) {
        let until = context.now.after(Duration::from_secs(u64::from(ttl)) * 2);
        let again = context.now;
        if self.0.len() >= RETIRED_MAX {
            // Too many wait: let etcd end the oldest lease by itself.
            let RetiredLease { grant, call, .. } = self.0.remove(0);
            grant.into_iter().chain(call).for_each(|call| context.calls.forget(call));
        }
        self.0.push(RetiredLease { lease, grant, made, call: None, again, until, failures: 0 });
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.0.iter().filter(|retired| retired.is_resting()).map(|retired| retired.again).min()
    }

    pub(in crate::etcd) fn run_due(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let within = context.patience();
        self.0.retain(|retired| now < retired.until || !retired.is_resting());
        for retired in &mut self.0 {
            if retired.is_resting() && retired.again <= now {
                let op = Op::Revoke { lease: retired.lease };
                retired.call = Some(context.ask(within, op));
            }
        }
    }

    /// Handles the answer to a call about one of these leases. Returns whether the call was about
    /// such a lease.
    pub(super) fn on_answer(
        &mut self,
        call: CallId,
        reply: &Reply,
        context: &mut Context<'_>,
    ) -> bool {
        if let Some(nth) = self.0.iter().position(|retired| retired.call == Some(call)) {
            self.on_revoked(nth, reply, context);
        } else if let Some(nth) = self.0.iter().position(|retired| retired.grant == Some(call)) {
            self.on_late_grant(nth, reply, context);
        } else {
            return false;
        }
        true
    }

    /// Handles the answer to the grant of a lease that was given up.
    fn on_late_grant(&mut self, nth: usize, reply: &Reply, context: &mut Context<'_>) {
        let retired = &mut self.0[nth];
        retired.grant = None;
        retired.again = context.now;
        let made = retired.made;
        match reply {
            Reply::Refused(refusal) if !made && is_certain(refusal) => {
                self.0.remove(nth);
            }
            // The lease with this id belongs to another process.
            Reply::LeaseExists if !made => {
                self.0.remove(nth);
            }
            _ => self.run_due(context),
        }
    }

    fn on_revoked(&mut self, nth: usize, reply: &Reply, context: &mut Context<'_>) {
        let doing = "revoking a lease";
        match reply {
            Reply::Revoked | Reply::LeaseGone => {
                self.0.remove(nth);
                return;
            }
            Reply::Refused(refusal) => {
                let refusal = refusal.clone();
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            reply => context.unsure(doing, reply.clone()),
        }
        let retired = &mut self.0[nth];
        retired.call = None;
        retired.again = context.again(&mut retired.failures, "revoke");
    }
}
