//! Reading one partition from its end on.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use siphasher::sip::SipHasher13;

use super::context::Context;
use super::identity::{Partition, Reading, RebalanceId};
use super::message::{Record, Request};
use crate::backoff::Backoff;
use crate::time::Time;

/// How long to wait before the end of a partition is looked for again.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

/// A partition that is read, or is about to be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reads {
    pub(super) partition: Partition,
    pub(super) reading: Reading,
    pub(super) place: Place,
    /// How often in a row its end was not found.
    failures: u32,
}

/// Where reading is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    /// The end is looked for, or will be at this time again.
    Seeking {
        again: Time,
        /// It was looked for, and not found: it may be that nobody can.
        missed: bool,
    },
    /// It is read.
    At {
        /// Where the end was when it was found.
        start: u64,
        /// The offset that comes next.
        next: u64,
        /// When it was found.
        found: Time,
        /// What was read last, to know it if it comes twice.
        last: Option<u64>,
        /// When something was read last, or the end was found.
        heard: Time,
    },
}

impl Reads {
    /// The end of the partition is looked for, now.
    pub(super) fn begin(
        partition: Partition,
        rebalance: RebalanceId,
        context: &mut Context<'_>,
    ) -> Self {
        let reading = Reading { rebalance, attempt: 0 };
        let place = Place::Seeking { again: Time::MAX, missed: false };
        let mut reads = Self { partition, reading, place, failures: 0 };
        reads.seek(context);
        reads
    }

    /// It is looked for anew: what was read up to now belongs to an earlier reading.
    pub(super) fn seek(&mut self, context: &mut Context<'_>) {
        self.reading.attempt = context.attempt();
        // Longer each time, so that a slow answer is not late for ever.
        let patience = context.config.seek.saturating_mul(1 << self.failures.min(5));
        // It is not found if that is over.
        self.place = Place::Seeking { again: context.now.after(patience), missed: true };
        let (partition, reading) = (self.partition, self.reading);
        context.request(Request::Read { partition, reading });
    }

    /// It is looked for again, if that is due.
    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        if self.due().is_some_and(|due| due <= context.now) {
            self.failures = self.failures.saturating_add(1);
            self.seek(context);
        }
    }

    /// When its end is to be looked for again.
    pub(super) const fn due(&self) -> Option<Time> {
        match self.place {
            Place::Seeking { again, .. } => Some(again),
            Place::At { .. } => None,
        }
    }

    /// When something was read last, or the end was found, where it is read.
    pub(super) const fn heard(&self) -> Option<Time> {
        match self.place {
            Place::Seeking { .. } => None,
            Place::At { heard, .. } => Some(heard),
        }
    }

    /// From when on it is read, and when something was read last, where it is.
    pub(super) const fn heard_within(&self) -> Option<(Time, Time)> {
        match self.place {
            Place::Seeking { .. } => None,
            Place::At { found, heard, .. } => Some((found, heard)),
        }
    }

    /// Whether something was read since then, by which reading, and from when on it goes.
    pub(super) fn is_heard(&self, since: Time) -> (Reading, Option<Time>, bool) {
        let within = self.heard_within();
        let found = within.map(|(found, _)| found);
        (self.reading, found, within.is_some_and(|(_, heard)| heard >= since))
    }

    /// Something was read now.
    pub(super) const fn hears(&mut self, now: Time) {
        if let Place::At { heard, .. } = &mut self.place {
            *heard = now;
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.place, Place::At { .. })
    }

    /// Where its end was found, once it was.
    pub(super) const fn start(&self) -> u64 {
        match self.place {
            Place::At { start, .. } => start,
            Place::Seeking { .. } => 0,
        }
    }

    /// The offset that comes next, where it is read.
    pub(super) const fn next(&self) -> Option<u64> {
        match self.place {
            Place::At { next, .. } => Some(next),
            Place::Seeking { .. } => None,
        }
    }

    /// Reading goes on after this offset. Says where it was before.
    pub(super) fn pass(&mut self, offset: u64) -> u64 {
        let Place::At { next, .. } = &mut self.place else { return 0 };
        core::mem::replace(next, offset.saturating_add(1).max(*next))
    }

    /// Whether its end was looked for, and not found in time.
    pub(super) fn is_missed(&self, now: Time) -> bool {
        matches!(self.place, Place::Seeking { again, missed: true } if again <= now)
    }

    /// The end was found. Says whether that was waited for.
    pub(super) fn found(&mut self, reading: Reading, end: u64, now: Time) -> bool {
        let waited = reading == self.reading && !self.is_open();
        if waited {
            self.place = Place::At { start: end, next: end, found: now, last: None, heard: now };
            self.failures = 0;
        }
        waited
    }

    /// It was not found. Says whether that was waited for.
    pub(super) fn missed(&mut self, reading: Reading, context: &Context<'_>) -> bool {
        let waited = reading == self.reading && !self.is_open();
        if waited {
            self.pause(context);
        }
        waited
    }

    /// It is looked for again after a pause.
    pub(super) fn pause(&mut self, context: &Context<'_>) {
        self.failures = self.failures.saturating_add(1);
        let draw = |bound| context.draw.span(bound, "", "seek", self.reading.attempt);
        let again = context.now.after(BACKOFF.pause(self.failures, draw));
        let missed = !self.is_open();
        self.place = Place::Seeking { again, missed };
    }

    /// Whether just this was read last.
    pub(super) fn repeats(&mut self, records: &Vec<Record>) -> bool {
        let Place::At { last, .. } = &mut self.place else { return false };
        let mut hasher = SipHasher13::new();
        records.hash(&mut hasher);
        let print = Some(hasher.finish());
        core::mem::replace(last, print) == print
    }
}
