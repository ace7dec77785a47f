//! A clock that runs at its own rate from its own origin.

use tenure_core::Time;

const BILLION: u64 = 1_000_000_000;

/// A clock. True time is in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What it shows at the true time [`since`](Self::since), in nanoseconds.
    pub origin: u64,
    /// A true time.
    pub since: u64,
    /// Parts per billion of real time: 10⁹ is a perfect clock.
    pub rate: u64,
}

impl Clock {
    /// A perfect clock that shows `origin` at the true time `since`.
    #[must_use]
    pub const fn perfect(origin: u64, since: u64) -> Self {
        Self { origin, since, rate: BILLION }
    }

    /// From its origin on it is so many parts of a thousand too fast.
    pub fn run_fast(&mut self, thousandths: i64) {
        self.rate = BILLION.saturating_add_signed(thousandths * 1_000_000);
    }

    /// What it shows at the true time `at`.
    #[must_use]
    pub fn shows(&self, at: u64) -> Time {
        let passed = u128::from(at - self.since) * u128::from(self.rate) / u128::from(BILLION);
        Time::from_nanos(self.origin + u64::try_from(passed).unwrap())
    }

    /// The first true time at which it shows `local` or more.
    #[must_use]
    pub fn reaches(&self, local: Time) -> u64 {
        let ahead = u128::from(local.as_nanos().saturating_sub(self.origin));
        let real = (ahead * u128::from(BILLION)).div_ceil(u128::from(self.rate));
        self.since.saturating_add(u64::try_from(real).unwrap_or(u64::MAX))
    }
}
