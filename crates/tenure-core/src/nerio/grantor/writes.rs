//! Records whose write failed, and the time of the next attempt.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;

use super::super::event::OwnEvent;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::contract::Ticket;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

/// Pause before a failed record is written again. For this span the grantor also refuses the
/// election of the record, and every grant that needs room for another record.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Entry {
    /// The first record of the election, which needs room.
    New,
    /// A record in the place of the previous record.
    Renewed,
    Forgotten,
}

/// The records in the state directory, as far as the grantor knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Writes {
    /// Elections whose record went out with the last input. If the next input reports a failure,
    /// all of these records count as unwritten; otherwise they are written.
    last: Vec<(ElectionName, Entry)>,
    /// Whether a new table went out with the last input.
    table: bool,
    /// Elections whose last record may be missing on the disk: at most all present elections, and
    /// as many forgotten elections.
    unwritten: BTreeSet<ElectionName>,
    unflushed: bool,
    /// Whether a flush under way was reported to take too long.
    hangs: bool,
    /// Last flush that ended, with the time of its end.
    ended: Option<Flush>,
    /// Whether the last records were written again, without a request.
    repeated: bool,
    again_at: Time,
    /// Time before which no election with a failed record is granted.
    refuses_until: Time,
    /// Time before which no election without a record is granted.
    refuses_new_until: Time,
    /// Election of the record that was last written again.
    tried: Option<ElectionName>,
}

impl Writes {
    pub(in crate::nerio) const fn put_table(&mut self) {
        self.table = true;
    }

    pub(in crate::nerio) fn put(&mut self, election: &ElectionName, entry: Entry) {
        self.last.push((election.clone(), entry));
    }

    /// Notes that the records of the last input are written, because another input reports no
    /// failure. True if no record is missing any more.
    pub(in crate::nerio) fn records_written(&mut self) -> bool {
        (self.repeated, self.table) = (false, false);
        if self.unwritten.is_empty() {
            self.last.clear();
            return false;
        }
        for (election, _) in self.last.drain(..) {
            self.unwritten.remove(&election);
        }
        !self.is_failing()
    }

    /// Notes that a record of the last input was not written; true if the failure is news.
    /// Remembers at most `bound` forgotten elections, whose old records do no harm.
    pub(in crate::nerio) fn fail(&mut self, now: Time, bound: usize) -> bool {
        let lacked = self.lacks_any();
        (self.again_at, self.table) = (now.after(RETRY), false);
        if !self.repeated {
            self.refuses_until = self.again_at;
            if self.last.iter().any(|(_, entry)| *entry == Entry::New) {
                self.refuses_new_until = self.again_at;
            }
        }
        for (election, entry) in self.last.drain(..) {
            self.unwritten.insert(election.clone());
            if entry == Entry::Forgotten && self.unwritten.len() > bound {
                self.unwritten.remove(&election);
            }
        }
        self.lacks_any() && !lacked
    }

    /// Handles the end of a flush, successful or not. Returns an event if this changes whether
    /// everything is written.
    pub(in crate::nerio) fn flushed(
        &mut self,
        now: Time,
        ticket: Ticket,
        written: bool,
    ) -> Option<OwnEvent> {
        let (lacked, failed) = (self.lacks_any(), self.is_failing());
        (self.unflushed, self.hangs) = (!written, false);
        self.ended = Some(Flush { ticket, since: now });
        if !written {
            self.again_at = now.after(RETRY);
        }
        match (lacked, self.lacks_any()) {
            (false, true) => Some(OwnEvent::DiskFailed),
            (_, false) => failed.then_some(OwnEvent::DiskMended),
            (true, true) => None,
        }
    }

    /// Whether records have gone out with the present input.
    pub(in crate::nerio) fn any_now(&self) -> bool {
        self.table || !self.last.is_empty()
    }

    pub(in crate::nerio) fn flushed_at(&self) -> Option<Time> {
        self.ended.map(|flush| flush.since)
    }

    pub(in crate::nerio) fn hang(&mut self) {
        self.hangs = true;
    }

    pub(in crate::nerio) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Whether a failed write still waits for a repetition that succeeds.
    fn lacks_any(&self) -> bool {
        self.unflushed || !self.unwritten.is_empty()
    }

    pub(in crate::nerio) fn is_failing(&self) -> bool {
        self.lacks_any() || self.hangs
    }

    /// Whether a flush failed, and no later flush succeeded.
    pub(in crate::nerio) fn lacks_flush(&self) -> bool {
        self.unflushed
    }

    pub(in crate::nerio) fn lacks(&self, election: &ElectionName) -> bool {
        self.unwritten.contains(election)
    }

    /// Whether the grantor refuses `election` at `now`: the write of its record has just failed, or
    /// its record needs new room and another record has just failed for want of room.
    pub(in crate::nerio) fn refuses(
        &self,
        now: Time,
        election: &ElectionName,
        has_record: bool,
    ) -> bool {
        if has_record {
            now < self.refuses_until && self.lacks(election)
        } else {
            now < self.refuses_new_until
        }
    }

    pub(in crate::nerio) fn due(&self) -> Option<Deadline> {
        self.lacks_any().then_some(Timer::WriteRecords.at(self.again_at))
    }

    /// The next record to write again, if due; `Some(None)` is a flush alone. The grantor writes
    /// one record at a time, in turn, so that a record that always fails delays no other record.
    /// The next record is due at once, unless this one fails.
    pub(in crate::nerio) fn take_due(&mut self, now: Time) -> Option<Option<ElectionName>> {
        if !self.lacks_any() || now < self.again_at {
            return None;
        }
        if self.any_now() {
            // Wait for the next input: beside other records, a failure of this record would look
            // like a failure of the others.
            self.again_at = now.next();
            return None;
        }
        self.again_at = if self.unwritten.is_empty() { now.after(RETRY) } else { now.next() };
        self.repeated = true;
        let after = self.tried.as_ref().map_or(Unbounded, Excluded);
        let rest = self.unwritten.range::<ElectionName, _>((after, Unbounded));
        self.tried = rest.chain(&self.unwritten).next().cloned();
        Some(self.tried.clone())
    }
}
