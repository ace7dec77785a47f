//! Leases that are to be revoked.

use alloc::vec::Vec;
use core::time::Duration;

use super::super::context::Context;
use super::super::event::OwnEvent;
use super::super::key::LeaseId;
use super::super::message::{CallId, Op, Reply};
use super::super::words::emit;
use super::grant::{Grant, is_certain};
use super::{Old, Session};
use crate::time::Time;

/// The most that are remembered until etcd has revoked them.
const RETIRED_MAX: usize = 16;

/// A lease that is to be revoked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Retired {
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

impl Session {
    /// A lease that exists is to go.
    pub(super) fn give_back(&mut self, lease: LeaseId, ttl: u32, context: &mut Context<'_>) {
        self.remember((lease, ttl), None, true, context);
    }

    /// A lease that was asked for is to go, if it was granted.
    pub(super) fn retire_grant(&mut self, asked: Grant, context: &mut Context<'_>) {
        let ttl = context.config.ttl();
        if asked.is_joining() {
            asked.call().into_iter().for_each(|call| context.calls.forget(call));
            return self.give_back(asked.lease, ttl, context);
        }
        let (grant, made) = (asked.call(), asked.may_exist());
        if made || grant.is_some() {
            self.remember((asked.lease, ttl), grant, made, context);
        }
    }

    fn remember(
        &mut self,
        (lease, ttl): (LeaseId, u32),
        grant: Option<CallId>,
        made: bool,
        context: &mut Context<'_>,
    ) {
        let until = context.now.after(Duration::from_secs(u64::from(ttl)) * 2);
        let again = context.now;
        if self.retired.len() >= RETIRED_MAX {
            // etcd ends it by itself.
            let Retired { grant, call, .. } = self.retired.remove(0);
            grant.into_iter().chain(call).for_each(|call| context.calls.forget(call));
        }
        self.retired.push(Retired { lease, grant, made, call: None, again, until, failures: 0 });
    }

    /// The leases of earlier terms on which no key is left are to go: a create of unknown outcome
    /// dies with them. Which ones they are.
    pub(in crate::etcd) fn leave_old(
        &mut self,
        carries: impl Fn(LeaseId) -> bool,
        context: &mut Context<'_>,
    ) -> Vec<LeaseId> {
        let is_left = |old: &mut Old| !carries(old.id);
        let left: Vec<Old> = self.old.extract_if(.., is_left).collect();
        for Old { id, ttl, .. } in &left {
            self.give_back(*id, *ttl, context);
        }
        if !left.is_empty() {
            self.work_off(context);
        }
        left.into_iter().map(|old| old.id).collect()
    }

    pub(super) fn retired_due(&self) -> Option<Time> {
        self.retired.iter().filter(|old| old.is_resting()).map(|old| old.again).min()
    }

    /// Revokes what is due.
    pub(super) fn work_off(&mut self, context: &mut Context<'_>) {
        let (now, within) = (context.now, context.patience());
        self.retired.retain(|old| now < old.until || !old.is_resting());
        for old in &mut self.retired {
            if old.is_resting() && old.again <= now {
                old.call = Some(context.ask(within, Op::Revoke { lease: old.lease }));
            }
        }
    }

    /// An answer. Whether it is about one of these.
    pub(super) fn on_retired_answer(
        &mut self,
        call: CallId,
        reply: &Reply,
        context: &mut Context<'_>,
    ) -> bool {
        if let Some(nth) = self.retired.iter().position(|old| old.call == Some(call)) {
            self.on_revoked(nth, reply, context);
        } else if let Some(nth) = self.retired.iter().position(|old| old.grant == Some(call)) {
            self.on_late_grant(nth, reply, context);
        } else {
            return false;
        }
        true
    }

    /// What has become of the grant of a lease that was given up meanwhile.
    fn on_late_grant(&mut self, nth: usize, reply: &Reply, context: &mut Context<'_>) {
        let old = &mut self.retired[nth];
        (old.grant, old.again) = (None, context.now);
        let made = old.made;
        match reply {
            Reply::Refused(refusal) if !made && is_certain(refusal) => {
                self.retired.remove(nth);
            }
            // Somebody else's.
            Reply::LeaseExists if !made => {
                self.retired.remove(nth);
            }
            _ => self.work_off(context),
        }
    }

    fn on_revoked(&mut self, nth: usize, reply: &Reply, context: &mut Context<'_>) {
        match reply {
            Reply::Revoked | Reply::LeaseGone => {
                self.retired.remove(nth);
                return;
            }
            Reply::Refused(refusal) => {
                let (doing, refusal) = ("revoking a lease", refusal.clone());
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            reply => context.unsure("revoking a lease", reply.clone()),
        }
        let old = &mut self.retired[nth];
        old.call = None;
        old.again = context.again(&mut old.failures, "revoke");
    }
}
