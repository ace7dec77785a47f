//! The time of the next heartbeat, and the number of the last one.

use core::time::Duration;

use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Beat {
    pub(super) due: Time,
    seq: u64,
}

impl Beat {
    /// Moves on to the next heartbeat: one interval after the last heartbeat was due, or after
    /// `now` if that time has passed.
    pub(super) fn step(&mut self, now: Time, interval: Duration) {
        let next = self.due.after(interval);
        self.due = if next > now { next } else { now.after(interval) };
    }

    pub(super) fn number(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}
