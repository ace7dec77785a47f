//! The clock that leases are measured on.

use rustix::time::{ClockId, clock_gettime};
use tenure_core::Time;

/// What `CLOCK_BOOTTIME` shows now, in nanoseconds.
///
/// The one clock for everything about leases: it never goes back, nobody can set it, and it
/// counts the time the machine was suspended, which `CLOCK_MONOTONIC` and `Instant` leave out.
/// All processes of a machine (of a time namespace) read the same value.
#[inline]
#[must_use]
pub fn now() -> Time {
    let read = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(read.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(read.tv_nsec).unwrap_or(0);
    Time::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}
