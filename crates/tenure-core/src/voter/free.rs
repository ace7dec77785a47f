//! When voters could have endorsed somebody, and whether enough of them could at one instant (V12).

use core::time::Duration;

use super::config::Config;
use crate::drift::Drift;
use crate::time::Time;

/// A span, by the own clock, in which a voter could have endorsed somebody all the time: it was
/// bound by no promise. It is empty where `until` is before `since`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Free {
    pub(super) since: Time,
    pub(super) until: Time,
}

impl Free {
    /// A voter that was asked at `sent` has said, heard at `now`, that it has been free for so
    /// long. When between the two it said so is not known, nor how fast its clock may be.
    pub(super) fn told(free_for: Duration, (sent, now): (Time, Time), own: Drift) -> Self {
        let span = own.shrink(Config::DRIFT_MAX.real_at_least(free_for));
        Self { since: now.before(span), until: sent }
    }
}

/// Whether at one instant at least so many were free: only then nobody could lead. One may be bound
/// again when the next one says that it is free.
pub(super) fn at_once(free: &[Free], quorum: usize) -> bool {
    let at = |at: Time| free.iter().filter(|free| free.since <= at && at <= free.until).count();
    free.iter().any(|free| at(free.until) >= quorum)
}
