//! How keys are moved to the lease of a new term.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::super::context::Context;
use super::super::event::OwnEvent;
use super::super::key::LeaseId;
use super::super::message::{Act, CallId, Compare, Op, Reply, Revision, Txn};
use super::super::words::emit;
use super::{Found, Own, Phase, Session};
use crate::name::ElectionName;
use crate::time::Time;

/// How many operations it takes to move a key: etcd counts comparisons as such.
const OPERATIONS: usize = 2;

/// A key of ours, and the lease that it is on.
pub(in crate::etcd) type Placed = (Own, LeaseId);

/// After so many refusals of keys alone, one after the other, there is a pause: a process that may
/// write nothing does not ask all the time.
const REFUSED_MAX: u32 = 64;

/// Where the moving of keys is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shift {
    call: Option<CallId>,
    asked: Vec<(ElectionName, Revision)>,
    again: Option<Time>,
    /// How many keys the next transaction moves at most.
    most: usize,
    /// Whose keys are to be moved in this round. What etcd refuses to move alone waits for the next
    /// one.
    round: VecDeque<ElectionName>,
    /// Whether this round has moved a key, or shown where one is.
    moved: bool,
    /// How many keys alone were refused since one was moved.
    refused: u32,
    failures: u32,
}

impl Default for Shift {
    fn default() -> Self {
        Self {
            call: None,
            asked: Vec::new(),
            again: None,
            most: usize::MAX,
            round: VecDeque::new(),
            moved: true,
            refused: 0,
            failures: 0,
        }
    }
}

/// What a move has shown: of each key on which lease it is, or what was found instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum Shifted {
    /// All are on this lease.
    All(LeaseId, Vec<(ElectionName, Revision)>),
    /// At least one was not where it was thought to be.
    Found(Vec<Found>),
}

impl Shift {
    pub(super) fn is(&self, call: CallId) -> bool {
        self.call == Some(call)
    }

    pub(super) const fn due(&self) -> Option<Time> {
        if self.call.is_some() { None } else { self.again }
    }

    fn pause(&mut self, context: &Context<'_>) {
        self.again = Some(context.again(&mut self.failures, "move"));
    }

    /// These are asked for again before the others.
    fn put_back(&mut self, asked: Vec<(ElectionName, Revision)>) {
        for (election, _) in asked.into_iter().rev() {
            self.round.push_front(election);
        }
    }
}

impl Session {
    /// Whether keys on leases of earlier terms can be moved now.
    pub(in crate::etcd) fn can_shift(&self, now: Time) -> bool {
        !self.old.is_empty()
            && self.shift.call.is_none()
            && self.shift.again.is_none_or(|again| again <= now)
    }

    /// How many keys at most.
    pub(in crate::etcd) fn moved_at_once(&self) -> usize {
        (self.operations() / OPERATIONS).clamp(1, self.shift.most)
    }

    /// Whose key comes next in this round.
    pub(in crate::etcd) fn next_of_round(&mut self) -> Option<ElectionName> {
        self.shift.round.pop_front()
    }

    /// This one leads now: it does not wait for the others of the round.
    pub(in crate::etcd) fn moves_first(&mut self, election: &ElectionName) {
        if !self.shift.round.is_empty() {
            self.shift.round.push_front(election.clone());
        }
    }

    /// All keys had their turn, and these are still to be moved. Whether that begins now: after a
    /// round that moved none there is a pause first.
    pub(in crate::etcd) fn begin_round(
        &mut self,
        round: VecDeque<ElectionName>,
        context: &Context<'_>,
    ) -> bool {
        self.shift.again = None;
        if round.is_empty() {
            return false;
        }
        self.shift.round = round;
        let moved = core::mem::replace(&mut self.shift.moved, false);
        if !moved {
            self.shift.pause(context);
        }
        moved
    }

    /// Moves these keys, if each is as it was made and where it is thought to be: then a move that
    /// comes late moves nothing back. Else what they are is read, in the same transaction.
    pub(in crate::etcd) fn shift(&mut self, keys: Vec<Placed>, context: &mut Context<'_>) {
        self.shift.again = None;
        let Phase::Open(lease) = &self.phase else { return };
        if keys.is_empty() {
            return;
        }
        let to = lease.id;
        let within = context.config.patience(lease.ttl);
        let mut txn = Txn { when: Vec::new(), then: Vec::new(), otherwise: Vec::new() };
        for ((.., key, revision), home) in &keys {
            let (key, revision, lease) = (key.clone(), *revision, *home);
            txn.when.push(Compare::Created { key: key.clone(), revision });
            txn.when.push(Compare::Lease { key: key.clone(), lease });
            txn.then.push(Act::Move { key: key.clone(), lease: to });
            txn.otherwise.push(Act::read(key));
        }
        self.shift.asked =
            keys.into_iter().map(|((name, _, created), _)| (name, created)).collect();
        self.shift.call = Some(context.ask(within, Op::Txn(txn)));
    }

    pub(super) fn on_shifted(
        &mut self,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> super::SessionEvent {
        use super::SessionEvent;
        let doing = "moving keys to the lease of a new term";
        self.shift.call = None;
        let asked = core::mem::take(&mut self.shift.asked);
        let Phase::Open(lease) = &self.phase else { return SessionEvent::Nothing };
        let to = lease.id;
        match reply {
            Reply::Txn { succeeded: true, .. } => {
                (self.shift.moved, self.shift.refused, self.shift.failures) = (true, 0, 0);
                self.shift.most = self.shift.most.saturating_mul(2);
                return SessionEvent::Shifted(Shifted::All(to, asked));
            }
            Reply::Txn { succeeded: false, found } if found.len() == asked.len() => {
                self.shift.moved = true;
                // Where one was not, the others still are: they come before the rest.
                self.shift.put_back(asked.clone());
                let found = asked.into_iter().zip(found);
                let found = found.map(|((election, asked), kv)| Found { election, asked, kv });
                return SessionEvent::Shifted(Shifted::Found(found.collect()));
            }
            // The rest is asked for in the end of the step.
            Reply::Refused(refusal)
                if asked.len() > 1 && self.takes_fewer(&refusal, asked.len() * OPERATIONS) =>
            {
                self.shift.put_back(asked);
                return SessionEvent::Nothing;
            }
            // Which key it is shows when it is asked for alone. Neither its parts nor the others
            // wait for a key that may not be written.
            Reply::Refused(_) if asked.len() > 1 => {
                self.shift.most = asked.len() / 2;
                self.shift.put_back(asked);
                return SessionEvent::Nothing;
            }
            Reply::Refused(refusal) => {
                if let Some((election, _)) = asked.first() {
                    emit(Some(election), OwnEvent::Obstacle { doing, refusal }, context.out);
                }
                self.shift.refused += 1;
                if self.shift.refused < REFUSED_MAX {
                    return SessionEvent::Nothing;
                }
                self.shift.refused = 0;
            }
            reply => {
                self.shift.put_back(asked);
                match reply {
                    // The new lease is gone: its renewal will say so.
                    Reply::LeaseGone => self.hurry(context.now),
                    reply => context.unsure(doing, reply),
                }
            }
        }
        self.shift.pause(context);
        SessionEvent::Nothing
    }

    /// Another lease is to be moved to: a move to the one before may still be carried out, and
    /// does no harm.
    pub(super) fn reset_shift(&mut self, context: &mut Context<'_>) {
        self.drop_shift(context);
        self.shift.again = Some(context.now);
    }

    pub(super) fn drop_shift(&mut self, context: &mut Context<'_>) {
        let call = core::mem::take(&mut self.shift).call;
        call.into_iter().for_each(|call| context.calls.forget(call));
    }
}
