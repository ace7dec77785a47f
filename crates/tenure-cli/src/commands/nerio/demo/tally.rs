//! Changes of leaders, and the spans of each failover.

use std::time::Duration;

use tenure::Time;

use super::judge::Leadership;
use super::script::Fault;

/// A change of leaders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failover {
    /// The fault of the leader before; `None` if it lost its lease by itself.
    pub(super) fault: Option<Fault>,
    pub(super) from: Leadership,
    pub(super) to: String,
    pub(super) fence: u64,
    /// Span from the fault to the next leader's first line; `None` without a fault.
    pub(super) took: Option<Duration>,
    /// Span from the last line of a leader to the first line of the next: longer than `took` by up
    /// to the time between two lines.
    pub(super) idle: Duration,
    /// Rest of the lease at the fault.
    pub(super) left: Option<Duration>,
}

impl Failover {
    /// Measures the failover to `to`, whose first line has just come. `until` is the end of the
    /// lease of `from`, as far as an observer could know.
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

/// Minimum, mean and maximum of durations, in constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Spread {
    pub(super) count: u32,
    pub(super) least: Duration,
    pub(super) most: Duration,
    sum: Duration,
}

impl Spread {
    fn add(&mut self, span: Duration) {
        self.least = if self.count == 0 { span } else { self.least.min(span) };
        self.most = self.most.max(span);
        self.sum += span;
        self.count += 1;
    }

    pub(super) fn mean(&self) -> Duration {
        self.sum / self.count.max(1)
    }
}

/// The failovers after one kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Toll {
    /// Spans of failovers.
    pub(super) took: Spread,
    /// Spans without work.
    pub(super) idle: Spread,
    /// Spans beyond the rest of the lease.
    pub(super) beyond: Spread,
}

#[derive(Default)]
pub(super) struct Tally {
    tolls: [Toll; Fault::ALL.len()],
    unprovoked: u64,
}

impl Tally {
    pub(super) fn add(&mut self, failover: &Failover) {
        match failover.fault {
            Some(fault) => {
                let toll = &mut self.tolls[fault as usize];
                failover.took.into_iter().for_each(|span| toll.took.add(span));
                failover.beyond().into_iter().for_each(|span| toll.beyond.add(span));
                toll.idle.add(failover.idle);
            }
            None => self.unprovoked += 1,
        }
    }

    pub(super) fn toll(&self, fault: Fault) -> &Toll {
        &self.tolls[fault as usize]
    }

    /// Number of leases that leaders lost without a fault.
    pub(super) fn unprovoked(&self) -> u64 {
        self.unprovoked
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
        Leadership { fence, id: "ann".into(), pid: 1, first, last, until, lines: 1 }
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
    fn spreads_are_kept_by_fault() {
        let mut tally = Tally::default();
        for nth in 0..100 {
            let fault = (nth != 99).then_some((Fault::Stop, at(1_000)));
            let to = led(2, 2_000 + nth, 2_000, 9_000);
            tally.add(&Failover::new(fault, led(1, 0, 1_500, 2_000), at(0), &to));
        }
        let toll = tally.toll(Fault::Stop);
        assert_eq!((toll.took.count, toll.took.least, toll.took.most), (99, ms(1_000), ms(1_098)));
        assert_eq!((toll.took.mean(), toll.idle.least), (ms(1_049), ms(500)));
        assert_eq!((toll.beyond.least, toll.beyond.most), (ms(0), ms(98)));
        assert_eq!(tally.toll(Fault::Kill), &Toll::default());
        assert_eq!(tally.unprovoked(), 1);
    }
}
