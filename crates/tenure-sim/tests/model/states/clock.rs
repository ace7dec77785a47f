//! True time in ticks, and the clocks that do not keep to it.

use tenure_core::Time;

/// Rates in quarters of real time: with ρ = ¼ the slowest, the true and the fastest clock are
/// exact, so that the end of a claim and the end of its grants fall on the same instant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rate {
    /// Three quarters of real time.
    Slow = 3,
    /// Right.
    True = 4,
    /// Five quarters of real time.
    Fast = 5,
}

/// A clock that shows `origin` at the true time `since`, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Clock {
    /// Reading of the clock at `since`.
    pub(crate) origin: u64,
    /// A true time.
    pub(crate) since: u64,
    /// How fast it is.
    pub(crate) rate: Rate,
}

impl Clock {
    /// Reading of the clock at the true time `at`.
    pub(crate) fn shows(&self, at: u64) -> Time {
        Time::from_nanos(self.origin + (at - self.since) * self.rate as u64 / Rate::True as u64)
    }

    /// The first true time at which it shows `local` or more.
    pub(crate) fn reaches(&self, local: Time) -> u64 {
        let ahead = local.as_nanos().saturating_sub(self.origin);
        self.since + (ahead * Rate::True as u64).div_ceil(self.rate as u64)
    }
}
