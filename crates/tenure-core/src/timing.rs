//! The times of every leader that has a lease, and the one check of them.

use alloc::boxed::Box;
use core::time::Duration;

use crate::bounds::{self, Bounds, Fault, OutOfRange, SettingsError};
use crate::drift::Drift;

/// The times of every protocol with leases. The protocol sets the bounds and the default of each
/// field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeaseTiming {
    /// Length of a lease, in real time.
    pub lease: Duration,
    /// ρ, the bound on the rate error of clocks.
    pub drift: Drift,
    /// Span before the end of the lease; when it begins, the leader's work is asked to stop.
    pub grace: Duration,
    /// Span before the end of the lease, at most `grace`; when it begins, the work is killed.
    pub kill_margin: Duration,
}

#[derive(Clone, Copy, Debug)]
pub struct LeaseBounds {
    pub shortest: Duration,
    pub longest: Duration,
    /// Leases are multiples of this span.
    pub step: Duration,
    pub drift: Drift,
    /// Count and length of the round trips that must fit into the lease in addition to grace and
    /// kill margin.
    pub round_trips: (u32, Duration),
}

impl LeaseTiming {
    /// Checks whether these times work together. `usable` gives the time that is left of a lease,
    /// on the leader's clock, when its first renewal is due. This time must exceed the sum of
    /// grace, kill margin and the round trips of `bounds`. So one renewal may be lost, and is
    /// repeated before the work is asked to stop.
    pub fn check(
        &self,
        bounds: &LeaseBounds,
        usable: impl Fn(Duration) -> Duration,
    ) -> Result<(), TimingError> {
        let Self { lease, drift, grace, kill_margin } = *self;
        let LeaseBounds { shortest, longest, drift: max, .. } = *bounds;
        bounds::drift(max).check(drift)?;
        Bounds::between("lease", shortest, longest).check(lease)?;
        bounds::kill_margin(grace).check(kill_margin)?;
        let (count, round_trip) = bounds.round_trips;
        let needed = self.needed(bounds);
        if usable(lease) > needed {
            return Ok(());
        }
        let enough = self.shortest(bounds, &usable);
        let usable = usable(lease);
        let beside = RoundTrips { count, round_trip };
        let short = TooShort { lease, usable, drift, grace, kill_margin, beside, needed, enough };
        Err(TimingError::TooShort(Box::new(short)))
    }

    /// The shortest lease that [`check`](Self::check) accepts with the other times; `None` if it
    /// accepts no lease.
    pub(crate) fn shortest(
        &self,
        bounds: &LeaseBounds,
        usable: impl Fn(Duration) -> Duration,
    ) -> Option<Duration> {
        let needed = self.needed(bounds);
        shortest_lease(bounds, |lease| usable(lease) > needed)
    }

    /// The sum of grace, kill margin and the round trips of `bounds`.
    fn needed(&self, bounds: &LeaseBounds) -> Duration {
        let (count, round_trip) = bounds.round_trips;
        let trips = round_trip.saturating_mul(count);
        self.grace.saturating_add(self.kill_margin).saturating_add(trips)
    }
}

fn shortest_lease(bounds: &LeaseBounds, fits: impl Fn(Duration) -> bool) -> Option<Duration> {
    let steps = |span: Duration| span.as_nanos().div_ceil(bounds.step.as_nanos().max(1));
    let lease = |steps: u128| bounds.step.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
    let mut low = steps(bounds.shortest);
    let mut high = steps(bounds.longest);
    if !fits(lease(high)) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(lease(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(lease(high))
}

/// Times that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TimingError {
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    #[error(transparent)]
    TooShort(Box<TooShort>),
}

impl SettingsError for TimingError {
    fn fault(&self) -> Fault<'_> {
        match self {
            Self::OutOfRange(error) => Fault::Value(error),
            Self::TooShort(short) if short.beside.count == 0 => {
                Fault::Settings(&["lease", "grace", "kill-margin", "drift"])
            }
            Self::TooShort(_) => {
                Fault::Settings(&["lease", "grace", "kill-margin", "round-trip", "drift"])
            }
        }
    }
}

/// A lease that leaves too little time between the due time of its first renewal and the stop of
/// the work.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error(
    "lease {lease:?} is too short: its first renewal is due after a third of the lease, and \
     {usable:?} are then left (drift {drift}). This rest must exceed grace {grace:?} + kill margin \
     {kill_margin:?}{beside} = {needed:?}; {}", Advice(*enough)
)]
pub struct TooShort {
    pub lease: Duration,
    /// Time left of the lease, on the leader's clock, when its first renewal is due.
    pub usable: Duration,
    pub drift: Drift,
    pub grace: Duration,
    pub kill_margin: Duration,
    pub beside: RoundTrips,
    /// Sum that `usable` must exceed.
    pub needed: Duration,
    /// Shortest lease that is long enough; `None` if no lease is.
    pub enough: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RoundTrips {
    pub count: u32,
    pub round_trip: Duration,
}

struct Advice(Option<Duration>);

impl core::fmt::Display for RoundTrips {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.count {
            0 => Ok(()),
            count => write!(f, " + {count} round trips of {:?}", self.round_trip),
        }
    }
}

impl core::fmt::Display for Advice {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(enough) => write!(f, "set the lease to {enough:?} or more, or shorten the grace"),
            None => f.write_str("no lease is long enough: shorten the grace"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn bounds() -> LeaseBounds {
        LeaseBounds {
            shortest: SECOND,
            longest: 60 * SECOND,
            step: SECOND,
            drift: "0.1".parse().unwrap(),
            round_trips: (2, SECOND / 4),
        }
    }

    fn timing() -> LeaseTiming {
        let grace = SECOND;
        let kill_margin = SECOND / 10;
        LeaseTiming { lease: 10 * SECOND, drift: Drift::DEFAULT, grace, kill_margin }
    }

    fn check(timing: LeaseTiming) -> Result<(), TimingError> {
        timing.check(&bounds(), |lease| timing.drift.shrink(lease).saturating_sub(lease / 3))
    }

    #[test]
    fn bounds_pass_inclusively() {
        check(LeaseTiming { lease: 60 * SECOND, ..timing() }).unwrap();
        check(LeaseTiming { lease: 61 * SECOND, ..timing() }).unwrap_err();
        let refused = check(LeaseTiming { lease: SECOND / 2, ..timing() }).unwrap_err();
        assert_eq!(refused.to_string(), "lease is 500ms; it must be from 1s to 60s");
        check(LeaseTiming { kill_margin: SECOND, ..timing() }).unwrap();
        check(LeaseTiming { grace: SECOND / 11, ..timing() }).unwrap_err();
        check(LeaseTiming { drift: "0.1".parse().unwrap(), ..timing() }).unwrap();
        check(LeaseTiming { drift: "0.100000001".parse().unwrap(), ..timing() }).unwrap_err();
    }

    /// 1.6 s are needed; after a third of a lease of 3 s, 1.998 s are left.
    #[test]
    fn error_names_shortest_lease() {
        check(LeaseTiming { lease: 3 * SECOND, ..timing() }).unwrap();
        let refused = check(LeaseTiming { lease: 2 * SECOND, ..timing() }).unwrap_err();
        let TimingError::TooShort(short) = &refused else { panic!("{refused}") };
        assert_eq!(short.enough, Some(3 * SECOND));
        assert!(refused.to_string().contains("+ 2 round trips of 250ms = 1.6s"), "{refused}");
        let never = check(LeaseTiming { grace: 50 * SECOND, ..timing() }).unwrap_err();
        assert!(never.to_string().ends_with("no lease is long enough: shorten the grace"));
    }
}
