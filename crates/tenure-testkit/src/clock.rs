//! Clocks that drift.

use tenure_core::Time;

const BILLION: u64 = 1_000_000_000;

/// A clock that runs at its own rate from its own origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Time on the clock at the true time [`since`](Self::since), in nanoseconds of the clock.
    pub origin: u64,
    pub since: u64,
    /// Rate in parts per billion of true time: a perfect clock has 10⁹.
    pub rate: u64,
}

impl Clock {
    #[must_use]
    pub const fn perfect(origin: u64, since: u64) -> Self {
        Self { origin, since, rate: BILLION }
    }

    /// Makes the clock too fast by these parts of a thousand, from its origin on.
    pub fn run_fast(&mut self, thousandths: i64) {
        self.rate = BILLION.saturating_add_signed(thousandths * 1_000_000);
    }

    #[must_use]
    pub fn shows(&self, at: u64) -> Time {
        let passed = u128::from(at - self.since) * u128::from(self.rate) / u128::from(BILLION);
        Time::from_nanos(self.origin + u64::try_from(passed).unwrap())
    }

    /// The first true time at which the clock shows `local` or more, in nanoseconds.
    #[must_use]
    pub fn reaches(&self, local: Time) -> u64 {
        let ahead = u128::from(local.as_nanos().saturating_sub(self.origin));
        let real = (ahead * u128::from(BILLION)).div_ceil(u128::from(self.rate));
        self.since.saturating_add(u64::try_from(real).unwrap_or(u64::MAX))
    }
}
