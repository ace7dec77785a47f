//! Spans in which voters could have endorsed a candidate, and whether enough of them overlap (V12).

use core::time::Duration;

use super::config::Config;
use crate::drift::Drift;
use crate::time::Time;

/// A span, on this voter's clock, in which another voter was bound by no promise. Empty if `until`
/// is before `since`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FreeSpan {
    pub(super) since: Time,
    pub(super) until: Time,
}

impl FreeSpan {
    /// The certain part of another voter's free span. The voter was free for `free_for` before its
    /// answer, which it sent at an unknown instant between `sent` and `now`, by a clock of an
    /// unknown rate.
    pub(super) fn told(free_for: Duration, (sent, now): (Time, Time), own: Drift) -> Self {
        let span = own.shrink(Config::DRIFT_MAX.real_at_least(free_for));
        Self { since: now.before(span), until: sent }
    }
}

/// Whether a quorum of voters was free at one instant: then no voter could lead at that instant.
/// Spans must overlap, because a voter may be bound again before the next voter answers.
pub(super) fn at_once(free: &[FreeSpan], quorum: usize) -> bool {
    let at = |at: Time| free.iter().filter(|free| free.since <= at && at <= free.until).count();
    free.iter().any(|free| at(free.until) >= quorum)
}
