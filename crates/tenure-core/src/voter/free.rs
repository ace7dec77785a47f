//! The spans in which voters could have endorsed a candidate, and whether enough of them overlap
//! (V12).

use core::time::Duration;

use super::config::Config;
use crate::drift::Drift;
use crate::time::Time;

/// A span, on the own clock, in which a voter was bound by no promise all the time. Empty where
/// `until` is before `since`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FreeSpan {
    pub(super) since: Time,
    pub(super) until: Time,
}

impl FreeSpan {
    /// The span of a voter that was asked at `sent`, and has said at `now` that it has been free
    /// for so long. The moment of its answer between the two is unknown, and so is the rate of its
    /// clock.
    pub(super) fn told(free_for: Duration, (sent, now): (Time, Time), own: Drift) -> Self {
        let span = own.shrink(Config::DRIFT_MAX.real_at_least(free_for));
        Self { since: now.before(span), until: sent }
    }
}

/// Whether so many voters were free at one instant: only then no voter could lead. A voter may be
/// bound again when the next one says that it is free.
pub(super) fn at_once(free: &[FreeSpan], quorum: usize) -> bool {
    let at = |at: Time| free.iter().filter(|free| free.since <= at && at <= free.until).count();
    free.iter().any(|free| at(free.until) >= quorum)
}
