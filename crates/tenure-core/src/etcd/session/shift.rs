//! How keys are moved to the lease of a new term.

use alloc::vec::Vec;

use super::super::config::BACKOFF;
use super::super::event::Event;
use super::super::key::{Keys, LeaseId};
use super::super::message::{Act, CallId, Compare, KeyValue, Op, Pick, Read, Reply, Txn};
use super::super::node::emit;
use super::super::rule::{Rule, ruling};
use super::{Around, Found, Own, Phase, Session};
use crate::name::ElectionName;
use crate::time::Time;

/// How many operations it takes to move a key: etcd counts comparisons as such.
const OPERATIONS: usize = 2;

/// A key of ours, and the lease that it is on.
pub(in crate::etcd) type Placed = (Own, LeaseId);

/// Where the moving of keys is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shift {
    call: Option<CallId>,
    asked: Vec<(ElectionName, u64)>,
    again: Option<Time>,
    /// How many keys the next transaction moves at most.
    most: usize,
    /// What etcd refuses to move alone waits until the others have had their turn.
    after: Option<ElectionName>,
    failures: u32,
}

impl Default for Shift {
    fn default() -> Self {
        let (call, asked, again, after, failures) = (None, Vec::new(), None, None, 0);
        Self { call, asked, again, most: usize::MAX, after, failures }
    }
}

/// What a move has shown: of each key on which lease it is, or what was found instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) enum Shifted {
    /// All are on this lease.
    All(LeaseId, Vec<(ElectionName, u64)>),
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
}

impl Session {
    /// Whether keys on leases of earlier terms can be moved now.
    pub(in crate::etcd) fn can_shift(&self, now: Time) -> bool {
        !self.old.is_empty()
            && self.shift.call.is_none()
            && self.shift.again.is_none_or(|again| again <= now)
    }

    /// How many keys at most, and after which election to begin.
    pub(in crate::etcd) fn shift_next(&self) -> (usize, Option<&ElectionName>) {
        let most = (self.operations() / OPERATIONS).clamp(1, self.shift.most);
        (most, self.shift.after.as_ref())
    }

    /// Moves these keys, if each is as it was made and where it is thought to be: then a move that
    /// comes late moves nothing back. Else what they are is read, in the same transaction.
    pub(in crate::etcd) fn shift(&mut self, keys: Vec<Placed>, around: &mut Around<'_>) {
        self.shift.again = None;
        let Phase::Open(lease) = &self.phase else { return };
        if keys.is_empty() {
            return;
        }
        let to = lease.id;
        let within = around.config.patience(lease.ttl);
        let mut txn = Txn { when: Vec::new(), then: Vec::new(), otherwise: Vec::new() };
        for ((.., key, revision), home) in &keys {
            let (key, revision, lease) = (key.clone(), *revision, *home);
            txn.when.push(Compare::Created { key: key.clone(), revision });
            if ruling(Rule::MoveFromThere) {
                txn.when.push(Compare::Lease { key: key.clone(), lease });
            }
            txn.then.push(Act::Move { key: key.clone(), lease: to });
            txn.otherwise.push(Act::Read(Read { keys: Keys::One(key), pick: Pick::First }));
        }
        self.shift.asked =
            keys.into_iter().map(|((name, _, created), _)| (name, created)).collect();
        self.shift.call = Some(around.ask(within, Op::Txn(txn)));
    }

    pub(super) fn on_shifted(&mut self, reply: Reply, around: &mut Around<'_>) -> super::News {
        use super::News;
        let doing = "moving keys to the lease of a new term";
        self.shift.call = None;
        let asked = core::mem::take(&mut self.shift.asked);
        let Phase::Open(lease) = &self.phase else { return News::Nothing };
        let to = lease.id;
        match reply {
            Reply::Txn { succeeded: true, .. } => {
                self.shift.failures = 0;
                self.shift.most = self.shift.most.saturating_mul(2);
                return News::Shifted(Shifted::All(to, asked));
            }
            Reply::Txn { succeeded: false, found } if found.len() == asked.len() => {
                if ruling(Rule::FailedMoveRead) {
                    let found = asked.into_iter().zip(found);
                    let found = found.map(|((election, asked), kv): (_, Option<KeyValue>)| Found {
                        election,
                        asked,
                        kv,
                    });
                    return News::Shifted(Shifted::Found(found.collect()));
                }
            }
            // The new lease is gone: its renewal will say so.
            Reply::LeaseGone => self.hurry(around.now),
            // The rest is asked for in the end of the step.
            Reply::Refused(refusal)
                if asked.len() > 1 && self.takes_fewer(&refusal, asked.len() * OPERATIONS) =>
            {
                return News::Nothing;
            }
            Reply::Refused(refusal) => {
                emit(None, Event::Obstacle { doing, refusal }, around.out);
                // Parts are tried at once: a key that may not be written costs the others no time.
                if asked.len() > 1 && ruling(Rule::RefusedMoveSplit) {
                    self.shift.most = asked.len() / 2;
                    return News::Nothing;
                }
                self.shift.after = asked.into_iter().next().map(|(election, _)| election);
            }
            reply => around.unsure(doing, reply),
        }
        self.shift.failures = self.shift.failures.saturating_add(1);
        let pause = around.pause(self.shift.failures, BACKOFF, "move");
        self.shift.again = Some(around.now.after(pause));
        News::Nothing
    }

    /// Another lease is to be moved to: a move to the one before may still be carried out, and
    /// does no harm.
    pub(super) fn reset_shift(&mut self, around: &mut Around<'_>) {
        self.drop_shift(around);
        self.shift.again = Some(around.now);
    }

    pub(super) fn drop_shift(&mut self, around: &mut Around<'_>) {
        let call = core::mem::take(&mut self.shift).call;
        call.into_iter().for_each(|call| around.calls.forget(call));
    }
}
