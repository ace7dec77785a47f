//! Changes of leaders, and the spans of each failover.

use std::time::Duration;

use tenure::Time;

use super::fault::Fault;
use super::judge::Leadership;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failover {
    /// The fault of the previous leader; `None` if that leader lost its lease by itself.
    pub(super) fault: Option<Fault>,
    pub(super) from: Leadership,
    pub(super) to: String,
    pub(super) fence: u64,
    /// Span from the fault to the next leader's first line; `None` without a fault.
    pub(super) took: Option<Duration>,
    /// Span from the last line of a leader to the first line of the next leader. `idle` is longer
    /// than `took` by up to the time between two lines.
    pub(super) idle: Duration,
    /// Rest of the lease at the fault.
    pub(super) left: Option<Duration>,
}

impl Failover {
    /// Measures the failover to `to`, whose first line has just come. `until` is the end of the
    /// lease of `from`, as far as an observer knew.
    pub(super) fn new(
        struck: Option<(Fault, Time)>,
        from: Leadership,
        until: Time,
        to: &Leadership,
    ) -> Self {
        Self {
            fault: struck.map(|(fault, _)| fault),
            took: struck.map(|(_, at)| to.first.since(at)),
            idle: to.first.since(from.last),
            left: struck.map(|(_, at)| from.until.max(until).since(at)),
            to: to.id.clone(),
            fence: to.fence,
            from,
        }
    }

    /// Span of the failover beyond the rest of the lease; `None` after a resignation, which needs
    /// no wait for the lease.
    pub(super) fn beyond(&self) -> Option<Duration> {
        match self.fault? {
            Fault::Resign => None,
            Fault::Kill | Fault::Stop => Some(self.took?.saturating_sub(self.left?)),
        }
    }
}

/// Minimum, mean and maximum of durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spread {
    pub(super) least: Duration,
    pub(super) mean: Duration,
    pub(super) most: Duration,
}

impl Spread {
    /// The spread of these spans; `None` without any.
    pub(super) fn of(spans: impl Iterator<Item = Duration>) -> Option<Self> {
        let spans: Vec<_> = spans.collect();
        let least = *spans.iter().min()?;
        let most = *spans.iter().max()?;
        let mean = spans.iter().sum::<Duration>() / u32::try_from(spans.len()).ok()?;
        Some(Self { least, mean, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn led(fence: u64, first: u64, last: u64, until: u64) -> Leadership {
        let first = at(first);
        let last = at(last);
        let until = at(until);
        Leadership { fence, id: "ann".into(), pid: 1, first, last, until }
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn crash_is_compared_with_lease_rest() {
        let from = led(1, 0, 1_010, 2_900);
        let to = led(2, 3_050, 3_050, 5_000);
        let crash = Failover::new(Some((Fault::Kill, at(1_000))), from.clone(), at(3_000), &to);
        assert_eq!((crash.took, crash.left), (Some(ms(2_050)), Some(ms(2_000))));
        assert_eq!((crash.idle, crash.beyond()), (ms(2_040), Some(ms(50))));

        let resigned = Failover::new(Some((Fault::Resign, at(1_000))), from, at(0), &to);
        assert_eq!((resigned.left, resigned.beyond()), (Some(ms(1_900)), None));
    }

    #[test]
    fn spans_have_least_mean_and_most() {
        let spread = Spread::of((0..99).map(|nth| ms(1_000 + nth)));
        let [least, mean, most] = [1_000, 1_049, 1_098].map(ms);
        assert_eq!(spread, Some(Spread { least, mean, most }));
        assert_eq!(Spread::of([].into_iter()), None);
    }
}
