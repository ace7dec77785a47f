//! A clock that runs at its own rate from its own origin.

use tenure_core::Time;

const BILLION: u128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) origin: u64,
    pub(super) since: u64,
    /// Parts per billion of real time: 10⁹ is a perfect clock.
    pub(super) rate: u64,
}

impl Clock {
    /// What it shows at the true time `at`.
    pub(super) fn shows(&self, at: u64) -> Time {
        let passed = u128::from(at - self.since) * u128::from(self.rate) / BILLION;
        Time::from_nanos(self.origin + u64::try_from(passed).unwrap())
    }

    /// The first true time at which it shows `local` or more.
    pub(super) fn reaches(&self, local: Time) -> u64 {
        let ahead = u128::from(local.as_nanos().saturating_sub(self.origin));
        let real = (ahead * BILLION).div_ceil(u128::from(self.rate));
        self.since.saturating_add(u64::try_from(real).unwrap_or(u64::MAX))
    }
}
