//! A reader of one partition, from its end on.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use siphasher::sip::SipHasher13;

use super::context::Context;
use super::identity::{Partition, Reading, RebalanceId};
use super::message::{Record, Request};
use crate::backoff::Backoff;
use crate::time::Time;

/// Pauses between searches for the end of a partition.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

/// The reader of one partition: it first searches for the end, and reads on from there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reader {
    pub(super) partition: Partition,
    pub(super) reading: Reading,
    pub(super) place: Place,
    failures: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    /// The ledger searches for the end. The reader repeats the request at `retry_at`.
    Seeking {
        retry_at: Time,
        /// Whether the search has failed, or fails if no answer comes by `retry_at`. `false` after
        /// an open reading broke: the first search begins at `retry_at`.
        missed: bool,
    },
    At {
        /// Offset of the end when the ledger found it.
        start: u64,
        next: u64,
        found: Time,
        /// A hash of the last records, which shows a repeated report.
        last: Option<u64>,
        /// Time of the last record; before any record, the time at which the end was found.
        heard: Time,
    },
}

/// A snapshot that shows whether a reading goes on as before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hearing {
    reading: Reading,
    found: Option<Time>,
    heard: bool,
}

impl Reader {
    pub(super) fn begin(
        partition: Partition,
        rebalance: RebalanceId,
        context: &mut Context<'_>,
    ) -> Self {
        let reading = Reading { rebalance, attempt: 0 };
        let place = Place::Seeking { retry_at: Time::MAX, missed: false };
        let mut reads = Self { partition, reading, place, failures: 0 };
        reads.seek(context);
        reads
    }

    /// Searches for the end anew: records before the new end belong to an earlier reading.
    pub(super) fn seek(&mut self, context: &mut Context<'_>) {
        self.reading.attempt = context.attempt();
        // Wait longer after each failure, so that a slow answer comes in time at last.
        let patience = context.config.seek.saturating_mul(1 << self.failures.min(5));
        // Without an answer at `retry_at` the search has failed.
        self.place = Place::Seeking { retry_at: context.now.after(patience), missed: true };
        let partition = self.partition;
        let reading = self.reading;
        context.request(Request::Read { partition, reading });
    }

    pub(super) fn run_due(&mut self, context: &mut Context<'_>) {
        if self.due().is_some_and(|due| due <= context.now) {
            self.failures = self.failures.saturating_add(1);
            self.seek(context);
        }
    }

    pub(super) const fn due(&self) -> Option<Time> {
        match self.place {
            Place::Seeking { retry_at, .. } => Some(retry_at),
            Place::At { .. } => None,
        }
    }

    /// Time of the last record; before any record, the time at which the end was found.
    pub(super) const fn heard(&self) -> Option<Time> {
        match self.place {
            Place::Seeking { .. } => None,
            Place::At { heard, .. } => Some(heard),
        }
    }

    /// The time at which the end was found, and the time of the last record.
    pub(super) const fn heard_within(&self) -> Option<(Time, Time)> {
        match self.place {
            Place::Seeking { .. } => None,
            Place::At { found, heard, .. } => Some((found, heard)),
        }
    }

    pub(super) fn hearing(&self, since: Time) -> Hearing {
        let within = self.heard_within();
        let found = within.map(|(found, _)| found);
        let heard = within.is_some_and(|(_, heard)| heard >= since);
        Hearing { reading: self.reading, found, heard }
    }

    pub(super) const fn hears(&mut self, now: Time) {
        if let Place::At { heard, .. } = &mut self.place {
            *heard = now;
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.place, Place::At { .. })
    }

    /// Offset of the end when the ledger found it.
    pub(super) const fn start(&self) -> u64 {
        match self.place {
            Place::At { start, .. } => start,
            Place::Seeking { .. } => 0,
        }
    }

    pub(super) const fn next(&self) -> Option<u64> {
        match self.place {
            Place::At { next, .. } => Some(next),
            Place::Seeking { .. } => None,
        }
    }

    /// Moves past this offset. Returns the offset that was expected.
    pub(super) fn pass(&mut self, offset: u64) -> u64 {
        let Place::At { next, .. } = &mut self.place else { return 0 };
        core::mem::replace(next, offset.saturating_add(1).max(*next))
    }

    pub(super) fn is_missed(&self, now: Time) -> bool {
        matches!(self.place, Place::Seeking { retry_at, missed: true } if retry_at <= now)
    }

    /// Begins to read at `end`. Returns whether this reader was waiting for this answer.
    pub(super) fn found(&mut self, reading: Reading, end: u64, now: Time) -> bool {
        let waited = reading == self.reading && !self.is_open();
        if waited {
            self.place = Place::At { start: end, next: end, found: now, last: None, heard: now };
            self.failures = 0;
        }
        waited
    }

    /// Pauses after a failed search. Returns whether this reader was waiting for this answer.
    pub(super) fn missed(&mut self, reading: Reading, context: &Context<'_>) -> bool {
        let waited = reading == self.reading && !self.is_open();
        if waited {
            self.pause(context);
        }
        waited
    }

    pub(super) fn pause(&mut self, context: &Context<'_>) {
        self.failures = self.failures.saturating_add(1);
        let draw = |bound| context.draw.span(bound, "", "seek", self.reading.attempt);
        let retry_at = context.now.after(BACKOFF.pause(self.failures, draw));
        let missed = !self.is_open();
        self.place = Place::Seeking { retry_at, missed };
    }

    pub(super) fn repeats(&mut self, records: &Vec<Record>) -> bool {
        let Place::At { last, .. } = &mut self.place else { return false };
        let mut hasher = SipHasher13::new();
        records.hash(&mut hasher);
        let print = Some(hasher.finish());
        core::mem::replace(last, print) == print
    }
}
