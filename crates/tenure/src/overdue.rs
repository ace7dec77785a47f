//! The reasons why a lease is not renewed in time.

use std::fmt;
use std::time::Duration;

use tenure_core::{Time, Waiting};

/// A lease whose renewal is overdue: unless the reason goes away, the leadership ends.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Overdue {
    /// The last renewal, on `CLOCK_BOOTTIME`.
    pub since: Time,
    /// The reason, in the words of a campaign that waits.
    pub why: Waiting,
}

impl Overdue {
    pub(crate) const fn new(since: Time, why: Waiting) -> Self {
        Self { since, why }
    }

    /// The reason at `now`, as a line for people.
    #[must_use]
    pub fn told(&self, now: Time) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let span = now.since(self.since);
            write!(f, "the lease was not renewed for {span:.1?}: {}", self.why.told(now))
        })
    }
}

/// A time in which this process did nothing, although an input was due. The process was stopped,
/// the machine was suspended or overloaded, or a disk held the driver up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause {
    until: Time,
    /// The shortest length of the pause.
    span: Duration,
}

impl Pause {
    /// The shortest pause that is kept: a busy machine delays a process by less.
    const SPAN_MIN: Duration = Duration::from_millis(250);

    /// The pause of a loop that handles at `now` the work that was due at `due`; `None` for a pause
    /// below `SPAN_MIN`.
    pub(crate) fn of(due: Time, now: Time) -> Option<Self> {
        let span = now.since(due);
        (span >= Self::SPAN_MIN).then_some(Self { until: now, span })
    }

    /// Whether a lease may have come to its end at `end` because of the pause. A driver that runs
    /// for longer than it paused has had the time to renew.
    pub(crate) fn explains(self, end: Time) -> bool {
        self.until.after(self.span) >= end
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this process did not run for at least {:.1?}", self.span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_delay_is_no_pause() {
        let due = Time::from_nanos(1_000_000_000);
        let after = |millis| Pause::of(due, due.after(Duration::from_millis(millis)));
        assert_eq!(after(249), None);
        let told = after(13_100).map(|pause| pause.to_string());
        assert_eq!(told.as_deref(), Some("this process did not run for at least 13.1s"));
    }

    #[test]
    fn old_pause_explains_no_end() {
        let span = Duration::from_secs(2);
        let until = Time::from_nanos(10_000_000_000);
        let pause = Pause { until, span };
        assert!(pause.explains(until) && pause.explains(until.after(span)));
        assert!(!pause.explains(until.after(span).next()));
    }
}
