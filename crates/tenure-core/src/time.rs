//! Instants and deadlines.

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds of this process's `CLOCK_BOOTTIME`.
///
/// A `Time` has a meaning only on the clock that showed it. A message may carry a foreign `Time`,
/// such as the `Start` of a request. The receiver may compare a foreign `Time` with other instants
/// of the same sender, and send it back, but nothing else (Nerio, section 3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

/// Nanoseconds of wall time since 1970-01-01 00:00 UTC, up to the year 2554.
///
/// Machines compare wall times, so a `WallTime` is only as good as their clocks. A core converts a
/// received `WallTime` to a [`Time`] at once, by
/// [`BothClocks::earliest`](crate::BothClocks::earliest) or
/// [`BothClocks::latest`](crate::BothClocks::latest). So a later step of the wall clock moves no
/// deadline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct WallTime(u64);

/// The methods of the instants of every clock.
macro_rules! instants {
    ($($instant:ty),+) => {$(
        impl $instant {
            /// The origin of the clock.
            pub const ZERO: Self = Self(0);
            /// Later than any instant a clock shows.
            pub const MAX: Self = Self(u64::MAX);

            /// The instant `nanos` nanoseconds after the origin of the clock.
            #[must_use]
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }

            /// Nanoseconds since the origin of the clock.
            #[must_use]
            pub const fn as_nanos(self) -> u64 {
                self.0
            }

            /// This instant moved later by `span`, at most to [`MAX`](Self::MAX).
            #[must_use]
            pub fn after(self, span: Duration) -> Self {
                Self(self.0.saturating_add(nanos(span)))
            }

            /// This instant moved earlier by `span`, at most to [`ZERO`](Self::ZERO).
            #[must_use]
            pub fn before(self, span: Duration) -> Self {
                Self(self.0.saturating_sub(nanos(span)))
            }

            /// The first instant after this one, at most [`MAX`](Self::MAX).
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }

            /// The span from `earlier` to this instant; zero if `earlier` is later.
            #[must_use]
            pub const fn since(self, earlier: Self) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(earlier.0))
            }
        }

        impl fmt::Display for $instant {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let micros = self.0 / 1_000;
                write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
            }
        }

        impl fmt::Debug for $instant {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}ns", self.0)
            }
        }
    )+};
}

instants!(Time, WallTime);

/// `span` in nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The instant of the next [`Input::Timeout`](crate::Input::Timeout), and its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Deadline {
    /// The earliest instant at which the core acts by itself.
    pub at: Time,
    /// Purpose of the deadline, for traces and for people who ask why a process woke up.
    pub why: &'static str,
}

impl Deadline {
    /// The earlier of two deadlines, the first on a tie.
    pub(crate) fn first(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::MAX.after(Duration::from_secs(1)), Time::MAX);
        assert_eq!(Time::ZERO.before(Duration::from_secs(1)), Time::ZERO);
        assert_eq!(Time::from_nanos(5).since(Time::from_nanos(9)), Duration::ZERO);
        assert_eq!(Time::ZERO.after(Duration::MAX), Time::MAX);
        assert_eq!(Time::ZERO.next(), Time::from_nanos(1));
        assert_eq!(Time::MAX.next(), Time::MAX);
    }

    #[test]
    fn prints_seconds_and_microseconds() {
        use alloc::string::ToString;
        assert_eq!(Time::from_nanos(1_002_003_999).to_string(), "1.002003");
    }
}
