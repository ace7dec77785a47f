//! What a grantor could not write down, and when it tries again.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;

use super::*;

/// How long nothing is granted after a record could not be written, and how long until it is
/// written again.
const RETRY: Duration = Duration::from_secs(1);
/// How many records are written again at once.
const AGAIN_MAX: usize = 64;

/// Which records are in the state directory, as far as its grantor knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Writes {
    /// Elections whose record went out with the last input. They are written, unless the next
    /// input says that one was not: then nobody knows which, and all count as unwritten.
    last: Vec<ElectionName>,
    /// Elections whose last record may not be written.
    unwritten: BTreeSet<ElectionName>,
    /// Whether the last flush failed.
    unflushed: bool,
    /// Whether the last records were written again, and not for a request.
    repeated: bool,
    /// When to write again what is not written.
    again_at: Time,
    /// Nothing is granted before.
    refuses_until: Time,
    /// The record that was tried first the last time: the others are dropped when it fails, so
    /// another one is first the next time.
    first: Option<ElectionName>,
}

impl Writes {
    /// A record of `election` goes out with the input at hand.
    pub(super) fn put(&mut self, election: &ElectionName) {
        self.last.push(election.clone());
    }

    /// Another input has come, and does not say that the last records failed. Says whether with
    /// them the last of what was missing is written.
    pub(super) fn settle(&mut self) -> bool {
        self.repeated = false;
        if self.unwritten.is_empty() {
            self.last.clear();
            return false;
        }
        for election in self.last.drain(..) {
            self.unwritten.remove(&election);
        }
        !self.is_failing()
    }

    /// One of the last records was not written. At most `bound` are remembered: the others are
    /// of elections that were forgotten, and whose old record harms nobody. Says whether that is
    /// news.
    pub(super) fn fail(&mut self, now: Time, bound: usize) -> bool {
        let fails = self.is_failing();
        for election in self.last.drain(..) {
            if self.unwritten.len() < bound {
                self.unwritten.insert(election);
            }
        }
        self.again_at = now.after(RETRY);
        if !self.repeated {
            self.refuses_until = self.again_at;
        }
        self.is_failing() && !fails
    }

    /// A flush has ended, well or not. Says whether with it everything is written, or no longer.
    pub(super) fn flushed(&mut self, now: Time, written: bool) -> bool {
        let failed = self.is_failing();
        self.unflushed = !written;
        if !written {
            self.again_at = now.after(RETRY);
        }
        self.is_failing() != failed
    }

    /// Whether something could not be written, and is not written yet.
    pub(super) fn is_failing(&self) -> bool {
        self.unflushed || !self.unwritten.is_empty()
    }

    /// Whether a flush could not be written, and none was since.
    pub(super) fn lacks_flush(&self) -> bool {
        self.unflushed
    }

    /// Whether the last record of `election` may not be written.
    pub(super) fn lacks(&self, election: &ElectionName) -> bool {
        self.unwritten.contains(election)
    }

    /// Whether nothing is granted at `now`, because a grant could not be written just before.
    pub(super) fn refuses(&self, now: Time) -> bool {
        now < self.refuses_until
    }

    /// When to try again.
    pub(super) fn due(&self) -> Option<Deadline> {
        // The last instant of a clock never comes.
        let comes = self.is_failing() && self.again_at < Time::MAX;
        comes.then_some(Deadline { at: self.again_at, why: "writing again" })
    }

    /// What to write again, if it is time to: some of what is missing, each time with another one
    /// first.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Vec<ElectionName>> {
        if !self.is_failing() || now < self.again_at {
            return None;
        }
        self.again_at = now.after(RETRY);
        self.repeated = true;
        let after = self.first.as_ref().map_or(Unbounded, Excluded);
        let rest = self.unwritten.range::<ElectionName, _>((after, Unbounded));
        let again: Vec<_> = rest.chain(&self.unwritten).take(AGAIN_MAX).cloned().collect();
        self.first = again.first().cloned();
        Some(again)
    }
}

impl Grantor {
    /// The last persist failed: nothing is granted for a while, and what went out with it counts
    /// as unwritten until it is written again.
    pub(in super::super) fn on_disk_failed(&mut self, now: Time, out: &mut Out) {
        if self.writes.fail(now, self.config.limits.elections) {
            emit(out, None, Event::DiskFailed);
        }
        self.fences.forget_pending();
    }

    /// The records of the last input are written.
    pub(super) fn settle(&mut self, out: &mut Out) {
        if self.writes.settle() {
            emit(out, None, Event::DiskMended);
        }
    }

    /// What could not be written is written again, whether anybody asks or not: otherwise nobody
    /// would learn that the disk is whole again.
    pub(super) fn write_again(&mut self, now: Time, out: &mut Out) {
        let Some(again) = self.writes.take_due(now) else { return };
        if self.writes.lacks_flush() && self.life == Life::Serving && !self.fences.is_pending() {
            self.reserve(self.fences.floor(), out);
        }
        for election in again {
            let grant = self.office(&election).and_then(|office| office.grant.as_ref());
            let record = match grant {
                Some(grant) => Record::Grant(grant.record.clone()),
                None => Record::Forget(election.clone()),
            };
            self.persist(&election, record, out);
        }
    }

    pub(super) fn persist(&mut self, election: &ElectionName, record: Record, out: &mut Out) {
        self.writes.put(election);
        out.push(super::super::node::Effect::Persist(record));
    }

    /// Whether others may hear of its grant of `election`: not before it is written.
    pub(super) fn is_told(&self, election: &ElectionName) -> bool {
        !self.writes.lacks(election) || !ruling(Rule::UnwrittenUntold)
    }
}
