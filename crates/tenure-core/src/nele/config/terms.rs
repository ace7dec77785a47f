//! The terms that the processes of a group must share, and say in each record.

use core::fmt;
use core::time::Duration;

use super::{Config, Mode};
use crate::drift::Drift;

/// The settings on which the promises of a group rest, as one of its processes has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    /// The promise.
    pub mode: Mode,
    /// T, in whole milliseconds, rounded up.
    pub takeover: Duration,
    /// ρ.
    pub drift: Drift,
    /// The base of fences.
    pub fence_base: u32,
}

impl Terms {
    /// A span as it is written in records: rounded up, against a process that waits for it.
    #[must_use]
    pub const fn in_ms(span: Duration) -> Duration {
        let ms = span.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(if ms > u64::MAX as u128 { u64::MAX } else { ms as u64 })
    }

    /// Until when one with these terms may lead at most, counted by a clock of `config`: from when
    /// it wrote what it leads by.
    pub(crate) fn leads_for(&self, config: &Config) -> Duration {
        self.by_any_clock(self.takeover.min(Config::TAKEOVER_MAX), config)
    }

    /// How long one with these terms that was heard to lead may lead after that, by a clock of
    /// `config`. How long its records are on their way it does not say: no longer than its T.
    pub(crate) fn heard_leads(&self, config: &Config) -> Duration {
        let ours = config.heard_leads();
        if *self == config.terms() {
            return ours;
        }
        let told = self.takeover.min(Config::TAKEOVER_MAX).saturating_mul(2);
        self.by_any_clock(told, config).saturating_add(config.fetch_wait).max(ours)
    }

    fn by_any_clock(&self, span: Duration, config: &Config) -> Duration {
        let drift = self.drift.max(config.drift).min(Config::DRIFT_MAX);
        drift.stretch(drift.real_at_most(span))
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, takeover, drift, fence_base } = self;
        write!(f, "{mode}, T {takeover:?}, clocks within {drift}, fence base {fence_base}")
    }
}
