//! Flushes that are under way, and when a disk that does not end one is told as failing.

use core::hash::{Hash, Hasher};
use core::time::Duration;

use super::*;

/// How long a flush may take before its disk is told as failing. A healthy one needs milliseconds,
/// a busy one tenths of a second; a candidate that waits for this one should hear of it soon.
const SLOW: Duration = Duration::from_secs(1);

/// How long a grantor that could not write its identity down waits before it tries again.
pub(super) const REWRITE: Duration = Duration::from_secs(1);

/// A flush that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flush {
    pub(super) ticket: Ticket,
    pub(super) since: Time,
}

/// When it was asked for decides only what is told: a search through all states, which tells them
/// apart by their hash, need not tell these apart.
impl Hash for Flush {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ticket.hash(state);
    }
}

impl Grantor {
    pub(super) fn begin_flush(&mut self, now: Time) -> Flush {
        self.last_ticket = Ticket(self.last_ticket.0 + 1);
        Flush { ticket: self.last_ticket, since: now }
    }

    /// Since when the disk has ended no flush, though one is under way.
    fn waits_for_disk_since(&self) -> Option<Time> {
        let raise = self.raise.as_ref().and_then(Raise::flush);
        let memories = self.memories.flush();
        let under_way = [self.phase.flush(), self.fences.flush(), memories, raise];
        let under_way = under_way.into_iter().flatten();
        let since = under_way.map(|flush| flush.since).min()?;
        // They are carried out one after the other.
        Some(self.writes.flushed_at().map_or(since, |ended| since.max(ended)))
    }

    /// When it tells that the disk hangs.
    pub(super) fn hang_due(&self) -> Option<Deadline> {
        let since = self.waits_for_disk_since().filter(|_| !self.writes.hangs())?;
        let at = since.after(SLOW);
        // The last instant of a clock never comes.
        (at < Time::MAX).then_some(Timer::FlushHangs.at(at))
    }

    /// Tells that the disk hangs, if it is time to.
    pub(super) fn on_hang_due(&mut self, now: Time, out: &mut Out) {
        let is_due = self.hang_due().is_some_and(|due| now >= due.at);
        if let Some(since) = self.waits_for_disk_since().filter(|_| is_due) {
            self.writes.hang();
            emit(out, None, OwnEvent::DiskHangs { since });
        }
    }
}
