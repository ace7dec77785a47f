//! The terms that the processes of a group must share, and write in each record.

use core::fmt;
use core::time::Duration;

use super::settings::Mode;
use crate::drift::Drift;

/// The settings of one process on which the promises of its group rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    pub mode: Mode,
    pub takeover: Duration,
    /// Clock drift, ρ.
    pub drift: Drift,
    pub fence_base: u32,
}

impl Terms {
    /// Rounds a span up to whole milliseconds, as records hold it, in favour of the waiting
    /// process.
    #[must_use]
    pub const fn in_ms(span: Duration) -> Duration {
        let ms = span.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(if ms > u64::MAX as u128 { u64::MAX } else { ms as u64 })
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, takeover, drift, fence_base } = self;
        write!(f, "mode {mode}, takeover {takeover:?}, drift {drift}, fence base {fence_base}")
    }
}
