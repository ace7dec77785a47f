//! The clock of leases, and an alarm on it.

use rustix::time::{ClockId, Timespec, clock_gettime};
use tenure_core::{Time, WallTime};

pub use crate::alarm::Alarm;
pub use crate::clock_set::ClockSet;

/// Reads `CLOCK_BOOTTIME`, in nanoseconds.
///
/// This is the only clock for leases: it never goes back, no process can set it, and it counts the
/// time for which the machine was suspended. `CLOCK_MONOTONIC` and `Instant` do not count that
/// time. All processes in one time namespace of a machine read the same value.
#[inline]
#[must_use]
pub fn now() -> Time {
    Time::from_nanos(nanos(clock_gettime(ClockId::Boottime)))
}

/// Reads `CLOCK_REALTIME`, which may be wrong and may step. Only protocols that compare time with
/// other machines read this clock, and no protocol sets an alarm on it.
#[must_use]
pub fn wall() -> WallTime {
    WallTime::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

/// An instant before the origin of its clock counts as the origin.
#[inline]
fn nanos(read: Timespec) -> u64 {
    let seconds = u64::try_from(read.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(read.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
