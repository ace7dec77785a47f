//! Moves a session's keys to the lease of a new term, which `Session::on_term` has requested.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::lease::OldLease;
use super::outcome::{MoveReport, SessionEvent};
use super::own_keys::{PlacedKey, pair};
use super::{Session, SessionPhase};
use crate::etcd::context::Context;
use crate::etcd::event::OwnEvent;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{Act, Compare, Op, Reply, Txn};
use crate::etcd::words::emit;
use crate::name::ElectionName;
use crate::time::Time;

/// The operations of one move: etcd also counts comparisons.
const OPERATIONS: usize = 2;

impl Session {
    pub(in crate::etcd) fn can_shift(&self, now: Time) -> bool {
        !self.old.is_empty() && self.shift.may_ask(now)
    }

    pub(in crate::etcd) fn moved_at_once(&self) -> usize {
        self.shift.bound(self.transactions.operations() / OPERATIONS)
    }

    pub(in crate::etcd) fn next_of_round(&mut self) -> Option<ElectionName> {
        self.shift.pop()
    }

    /// Begins a round with the keys that must still move. Returns whether the round begins now.
    pub(in crate::etcd) fn begin_round(
        &mut self,
        round: VecDeque<ElectionName>,
        context: &Context<'_>,
    ) -> bool {
        self.shift.begin(round, context)
    }

    /// Moves these keys if each is unchanged and on its expected lease: so a late move moves no key
    /// back. Otherwise the same transaction reads them.
    pub(in crate::etcd) fn shift(&mut self, keys: Vec<PlacedKey>, context: &mut Context<'_>) {
        self.shift.forget_pause();
        let SessionPhase::Open(lease) = &self.phase else { return };
        if keys.is_empty() {
            return;
        }
        let to = lease.id;
        let within = context.config.patience(lease.ttl);
        let mut txn = Txn { when: Vec::new(), then: Vec::new(), otherwise: Vec::new() };
        for PlacedKey { own, home: lease } in &keys {
            let key = own.key.clone();
            txn.when.push(Compare::Created { key: key.clone(), revision: own.revision });
            txn.when.push(Compare::Lease { key: key.clone(), lease: *lease });
            txn.then.push(Act::Move { key: key.clone(), lease: to });
            txn.otherwise.push(Act::read(key));
        }
        let asked = keys.into_iter().map(|key| (key.own.election, key.own.revision)).collect();
        let call = context.ask(within, Op::Txn(txn));
        self.shift.ask(call, asked);
    }

    pub(super) fn on_moved(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let doing = "moving keys to the lease of a new term";
        let asked = self.shift.answered();
        let SessionPhase::Open(lease) = &self.phase else { return SessionEvent::Nothing };
        let to = lease.id;
        match reply {
            Reply::Txn { succeeded: true, .. } => {
                self.shift.grow();
                return SessionEvent::Moved(MoveReport::All { to, asked });
            }
            Reply::Txn { succeeded: false, found } if found.len() == asked.len() => {
                self.shift.repeat(asked.clone());
                return SessionEvent::Moved(MoveReport::Found(pair(asked, found)));
            }
            // The node sends the rest at the end of the step.
            Reply::Refused(refusal)
                if asked.len() > 1
                    && self.transactions.takes_fewer(&refusal, asked.len() * OPERATIONS) =>
            {
                self.shift.put_back(asked);
                return SessionEvent::Nothing;
            }
            // Halve the transaction until the refused key is alone: the other keys must not wait
            // for that key.
            Reply::Refused(_) if asked.len() > 1 => {
                self.shift.halve(asked);
                return SessionEvent::Nothing;
            }
            Reply::Refused(refusal) => {
                if let Some((election, _)) = asked.first() {
                    emit(Some(election), OwnEvent::Obstacle { doing, refusal }, context.out);
                }
                if !self.shift.refuse() {
                    return SessionEvent::Nothing;
                }
            }
            reply => {
                self.shift.put_back(asked);
                match reply {
                    // The new lease is gone; its renewal will show that.
                    Reply::LeaseGone => self.hurry(context.now),
                    reply => context.unsure(doing, reply),
                }
            }
        }
        self.shift.pause(context);
        SessionEvent::Nothing
    }

    /// Gives back leases of earlier terms that carry no keys, and returns them. If a late create
    /// still puts a key on such a lease, the key goes with the lease.
    pub(in crate::etcd) fn leave_old(
        &mut self,
        carries: impl Fn(LeaseId) -> bool,
        context: &mut Context<'_>,
    ) -> Vec<LeaseId> {
        let is_left = |old: &mut OldLease| !carries(old.id);
        let left: Vec<OldLease> = self.old.extract_if(.., is_left).collect();
        for OldLease { id, ttl, .. } in &left {
            self.retired.give_back(*id, *ttl, context);
        }
        if !left.is_empty() {
            self.retired.run_due(context);
        }
        left.into_iter().map(|old| old.id).collect()
    }
}
