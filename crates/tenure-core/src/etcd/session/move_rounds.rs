//! Rounds in which keys move to the lease of a new term.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::etcd::calls::Calls;
use crate::etcd::context::Context;
use crate::etcd::message::{CallId, Revision};
use crate::name::ElectionName;
use crate::time::Time;

/// Number of refused single keys in a row after which a pause follows. Without the pause, a process
/// that may write no key would send requests all the time.
const REFUSED_MAX: u32 = 64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct Shift {
    call: Option<CallId>,
    /// The keys of the open transaction.
    asked: Vec<(ElectionName, Revision)>,
    /// The time of the next transaction; `None` without a pause.
    again: Option<Time>,
    /// The maximum number of keys of the next transaction.
    most: usize,
    /// The elections whose keys move in this round. A key that etcd refuses to move alone waits for
    /// the next round.
    round: VecDeque<ElectionName>,
    /// Whether this round has moved a key, or has found one in another place.
    moved: bool,
    /// Refused single keys since the last move.
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

impl Shift {
    pub(super) fn is(&self, call: CallId) -> bool {
        self.call == Some(call)
    }

    pub(super) const fn due(&self) -> Option<Time> {
        if self.call.is_some() { None } else { self.again }
    }

    pub(super) fn may_ask(&self, now: Time) -> bool {
        self.call.is_none() && self.again.is_none_or(|again| again <= now)
    }

    /// The maximum number of keys of the next transaction, if etcd accepts `most`.
    pub(super) fn bound(&self, most: usize) -> usize {
        most.clamp(1, self.most)
    }

    pub(super) fn pause(&mut self, context: &Context<'_>) {
        self.again = Some(context.again(&mut self.failures, "move"));
    }

    pub(super) fn pop(&mut self) -> Option<ElectionName> {
        self.round.pop_front()
    }

    pub(super) fn move_first(&mut self, election: &ElectionName) {
        if !self.round.is_empty() {
            self.round.push_front(election.clone());
        }
    }

    /// Begins the next round, if keys are left. Returns `false` if no key is left, or if a pause
    /// comes first because the last round has moved no key.
    pub(super) fn begin(&mut self, round: VecDeque<ElectionName>, context: &Context<'_>) -> bool {
        self.again = None;
        if round.is_empty() {
            return false;
        }
        self.round = round;
        let moved = core::mem::replace(&mut self.moved, false);
        if !moved {
            self.pause(context);
        }
        moved
    }

    pub(super) fn forget_pause(&mut self) {
        self.again = None;
    }

    pub(super) fn ask(&mut self, call: CallId, asked: Vec<(ElectionName, Revision)>) {
        self.call = Some(call);
        self.asked = asked;
    }

    /// Ends the call. Returns the keys of its transaction.
    pub(super) fn answered(&mut self) -> Vec<(ElectionName, Revision)> {
        self.call = None;
        core::mem::take(&mut self.asked)
    }

    /// Doubles the keys of the next transaction, because etcd has moved all keys of this
    /// transaction.
    pub(super) fn grow(&mut self) {
        self.moved = true;
        self.refused = 0;
        self.failures = 0;
        self.most = self.most.saturating_mul(2);
    }

    /// Puts the keys of a transaction in front of the rest, because at least one was not in its
    /// expected place.
    pub(super) fn repeat(&mut self, asked: Vec<(ElectionName, Revision)>) {
        self.moved = true;
        self.put_back(asked);
    }

    /// Halves the keys of the next transactions after a refusal, until the refused key is alone.
    pub(super) fn halve(&mut self, asked: Vec<(ElectionName, Revision)>) {
        self.most = asked.len() / 2;
        self.put_back(asked);
    }

    /// Puts these elections in front of the rest of the round.
    pub(super) fn put_back(&mut self, asked: Vec<(ElectionName, Revision)>) {
        for (election, _) in asked.into_iter().rev() {
            self.round.push_front(election);
        }
    }

    /// Counts a refused single key. Returns whether a pause is due.
    pub(super) fn refuse(&mut self) -> bool {
        self.refused += 1;
        let many = self.refused >= REFUSED_MAX;
        if many {
            self.refused = 0;
        }
        many
    }

    /// Ends the round. A move under way may still be carried out, and does no harm.
    pub(super) fn reset(&mut self, calls: &mut Calls) {
        let call = core::mem::take(self).call;
        call.into_iter().for_each(|call| calls.forget(call));
    }

    pub(super) fn restart(&mut self, context: &mut Context<'_>) {
        self.reset(context.calls);
        self.again = Some(context.now);
    }
}
