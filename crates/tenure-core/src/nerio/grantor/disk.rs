//! A grantor and its disk: slow flushes, and records that are written again.

use core::time::Duration;

use super::super::event::OwnEvent;
use super::super::record::Record;
use super::super::timer::Timer;
use super::super::words::{Effect, Out, emit};
use super::Grantor;
use super::flush::Flush;
use super::joining::Joining;
use super::longer_leases::Raise;
use super::phase::Phase;
use super::writes::Entry;
use crate::contract::Ticket;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

/// Longest time of a flush before its disk is reported as failing. A healthy disk needs
/// milliseconds, and a busy disk tenths of a second.
const SLOW: Duration = Duration::from_secs(1);

impl Grantor {
    pub(super) fn begin_flush(&mut self, now: Time) -> Flush {
        self.last_ticket = Ticket(self.last_ticket.0 + 1);
        Flush { ticket: self.last_ticket, since: now }
    }

    /// The time since which the disk has completed no flush, though a flush is under way.
    fn waits_for_disk_since(&self) -> Option<Time> {
        let raise = self.raise.as_ref().and_then(Raise::flush);
        let memories = self.memories.flush();
        let joining = self.joining.as_ref().and_then(Joining::flush);
        let epochs = [self.votes.flush(), joining];
        let under_way = [self.phase.flush(), self.fences.flush(), memories, raise];
        let under_way = under_way.into_iter().chain(epochs);
        let under_way = under_way.flatten();
        let since = under_way.map(|flush| flush.since).min()?;
        // The driver carries out one flush after the other, so this flush began when the last one
        // ended.
        Some(self.writes.flushed_at().map_or(since, |ended| since.max(ended)))
    }

    pub(super) fn hang_due(&self) -> Option<Deadline> {
        let since = self.waits_for_disk_since().filter(|_| !self.writes.hangs())?;
        let at = since.after(SLOW);
        // A deadline of `Time::MAX` never comes.
        (at < Time::MAX).then_some(Timer::FlushHangs.at(at))
    }

    pub(super) fn on_hang_due(&mut self, now: Time, out: &mut Out) {
        let is_due = self.hang_due().is_some_and(|due| now >= due.at);
        if let Some(since) = self.waits_for_disk_since().filter(|_| is_due) {
            self.writes.hang();
            emit(out, None, OwnEvent::DiskHangs { since });
        }
    }

    /// Handles a failed write: the records of the last input count as unwritten until they are
    /// written again.
    pub(in super::super) fn on_disk_failed(&mut self, now: Time, out: &mut Out) {
        if self.writes.fail(now, self.config.limits.elections) {
            emit(out, None, OwnEvent::DiskFailed);
        }
        self.fences.dropped();
    }

    pub(super) fn records_written(&mut self, out: &mut Out) {
        self.fences.records_written();
        if self.writes.records_written() {
            emit(out, None, OwnEvent::DiskMended);
        }
    }

    /// Writes failed records again, even without requests, so that the grantor learns when the disk
    /// works again.
    pub(super) fn write_again(&mut self, now: Time, out: &mut Out) {
        let Some(again) = self.writes.take_due(now) else { return };
        // Flush first, since the write of the record may fail: if the identity file is gone, only a
        // flush brings it back.
        if self.writes.lacks_flush()
            && self.phase == Phase::Serving
            && self.fences.flush().is_none()
        {
            self.reserve(now, self.fences.floor(), out);
        }
        if let Some(election) = again {
            let grant = self.state(&election).and_then(|state| state.grant.as_ref());
            let (record, entry) = match grant {
                Some(grant) => (grant.record.clone().into(), Entry::Renewed),
                None => (Record::Forget(election.clone()), Entry::Forgotten),
            };
            self.persist(&election, record, entry, out);
        }
    }

    pub(super) fn persist(
        &mut self,
        election: &ElectionName,
        record: Record,
        entry: Entry,
        out: &mut Out,
    ) {
        self.writes.put(election, entry);
        out.push(Effect::Persist(record));
    }

    /// Whether observers may learn of the grant of `election`: only once the grant is written.
    pub(in crate::nerio) fn is_told(&self, election: &ElectionName) -> bool {
        !self.writes.lacks(election)
    }
}
