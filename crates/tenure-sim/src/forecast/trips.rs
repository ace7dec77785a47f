//! Round trips: from known figures to the delay of a single message.

use std::sync::Arc;
use std::time::Duration;

use crate::world::conditions::Delay;

/// The number of quantiles: p99.99 is the last but one.
const FINE: usize = 8_192;
/// Pairs of one-way delays for the distribution of a round trip.
const PAIRS: usize = 1 << 16;
/// Rounds of corrections to the one-way delays.
const ROUNDS: usize = 12;

/// The distribution of round trips between two nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoundTrips {
    /// Equally likely round trips in nanoseconds, the shortest first.
    quantiles: Arc<[u64]>,
}

/// The reason why round trips make no distribution.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TripsError {
    /// No figures.
    #[error("no round trip is given")]
    Empty,
    /// A probability outside 0 to 100 %.
    #[error("p{percent} is no percentile: it must be from 0 to 100")]
    Percent { percent: f64 },
    /// Decreasing quantiles.
    #[error("p{upper} is {after:?}, and must be at least p{lower}, which is {before:?}")]
    Decreasing {
        /// Percentile of `before`.
        lower: f64,
        before: Duration,
        /// Percentile of `after`.
        upper: f64,
        after: Duration,
    },
    /// Outside the simulated range.
    #[error("a round trip of {trip:?}; it must be from {least:?} to {most:?}")]
    OutOfRange { trip: Duration, least: Duration, most: Duration },
}

impl RoundTrips {
    /// The shortest simulated round trip.
    pub const LEAST: Duration = Duration::from_micros(1);
    /// The longest simulated round trip.
    pub const MOST: Duration = Duration::from_secs(60);

    pub fn constant(trip: Duration) -> Result<Self, TripsError> {
        Self::measured(&[trip])
    }

    /// Makes a distribution from (percentile, value) pairs in any order. Percentile 0 is the
    /// shortest round trip, and 100 the longest.
    ///
    /// Between two points the logarithm of the value grows evenly with the number of nines, as in
    /// real networks: a straight line through p50 and p99 gives p99.9. Beyond the highest point the
    /// line continues with the same slope, up to p99.99.
    pub fn quantiles(points: &[(f64, Duration)]) -> Result<Self, TripsError> {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (percent, trip) in &points {
            in_range(*trip)?;
            if !(0.0..=100.0).contains(percent) {
                return Err(TripsError::Percent { percent: *percent });
            }
        }
        for pair in points.windows(2) {
            let [(lower, before), (upper, after)] = [pair[0], pair[1]];
            if after < before {
                return Err(TripsError::Decreasing { lower, before, upper, after });
            }
        }
        let line: Vec<(f64, f64)> = points
            .iter()
            .map(|(percent, trip)| (nines(percent / 100.0), (trip.as_nanos() as f64).ln()))
            .collect();
        if line.is_empty() {
            return Err(TripsError::Empty);
        }
        let at =
            |n: usize| on_line(&line, nines((n as f64 + 0.5) / FINE as f64)).exp().round() as u64;
        let most = Self::MOST.as_nanos() as u64;
        Ok(Self { quantiles: (0..FINE).map(|n| at(n).min(most)).collect() })
    }

    /// A distribution from measured round trips.
    pub fn measured(trips: &[Duration]) -> Result<Self, TripsError> {
        let mut sorted = trips.to_vec();
        sorted.sort_unstable();
        let Some(last) = sorted.len().checked_sub(1) else { return Err(TripsError::Empty) };
        for trip in [sorted[0], sorted[last]] {
            in_range(trip)?;
        }
        let at = |n: usize| sorted[(n * sorted.len() + sorted.len() / 2) / FINE].as_nanos() as u64;
        let mut quantiles: Vec<u64> = (0..FINE).map(at).collect();
        quantiles[FINE - 1] = sorted[last].as_nanos() as u64;
        Ok(Self { quantiles: quantiles.into() })
    }

    /// The round trip that a share `part` (0 to 1) of all does not exceed.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        let at = (part.clamp(0.0, 1.0) * FINE as f64) as usize;
        Duration::from_nanos(self.quantiles[at.min(FINE - 1)])
    }

    /// The delay of a single message: the sum of two independent draws is distributed like these
    /// round trips.
    pub(super) fn one_way(&self) -> Delay {
        let target = &self.quantiles;
        let first = target[0] as f64 / 2.0;
        let last = target[FINE - 1] as f64;
        let mut way: Vec<f64> = target.iter().map(|trip| *trip as f64 / 2.0).collect();
        for _ in 0..ROUNDS {
            let sums = sums(&way);
            let mut least = first;
            for (n, delay) in way.iter_mut().enumerate() {
                // A round trip is slow when one of its ways is slow. So the share of round trips
                // with both ways faster than a quantile is the square of this quantile's share.
                let part = ((n as f64 + 0.5) / FINE as f64).powi(2);
                let wanted = target[((part * FINE as f64) as usize).min(FINE - 1)] as f64;
                let found = sums[((part * PAIRS as f64) as usize).min(PAIRS - 1)];
                *delay = (*delay + (wanted - found) * 0.7).clamp(least, last - first);
                least = *delay;
            }
        }
        Delay::Quantiles(way.iter().map(|delay| delay.round() as u64).collect())
    }
}

fn in_range(trip: Duration) -> Result<(), TripsError> {
    let least = RoundTrips::LEAST;
    let most = RoundTrips::MOST;
    if (least..=most).contains(&trip) {
        return Ok(());
    }
    Err(TripsError::OutOfRange { trip, least, most })
}

/// The number of nines of a probability: 0 for none, 2 for 99 %, 4 at most.
fn nines(part: f64) -> f64 {
    -(1.0 - part).max(1e-4).log10()
}

/// The value at `at` of the line through the points. Before the first point the line is level;
/// beyond the last one it continues straight.
fn on_line(line: &[(f64, f64)], at: f64) -> f64 {
    let next = line.partition_point(|(x, _)| *x <= at);
    let (Some(from), Some(to)) = (match next {
        0 => (None, None),
        _ if next < line.len() => (line.get(next - 1), line.get(next)),
        _ => (line.len().checked_sub(2).and_then(|n| line.get(n)), line.last()),
    }) else {
        return line[0].1;
    };
    if to.0 <= from.0 {
        return to.1;
    }
    from.1 + (to.1 - from.1) * (at - from.0) / (to.0 - from.0)
}

/// Sums of pairs of one-way delays, in order: the resulting round trips.
fn sums(way: &[f64]) -> Vec<f64> {
    // A lattice instead of random pairs: every pair of strata occurs about equally often.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = |n: u64| (n.wrapping_mul(GOLDEN) >> 51) as usize;
    let pair = |n: usize| way[n * FINE / PAIRS] + way[place(n as u64)];
    let mut sums: Vec<f64> = (0..PAIRS).map(pair).collect();
    sums.sort_by(f64::total_cmp);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drawn(trips: &RoundTrips, part: f64) -> f64 {
        let way = trips.one_way();
        let mut rng = crate::rng::Rng::new(1, 2);
        let mut all: Vec<u64> =
            (0..400_000).map(|_| way.of(rng.next()) + way.of(rng.next())).collect();
        all.sort_unstable();
        all[(part * all.len() as f64) as usize] as f64 / 1e6
    }

    #[test]
    fn two_ways_make_round_trips() {
        let trips = RoundTrips::quantiles(&[(50.0, MS), (99.0, MS * 20), (99.9, MS * 80)]).unwrap();
        for (part, wanted) in [(0.5, 1.0), (0.9, 3.4), (0.99, 20.0), (0.999, 80.0)] {
            let found = drawn(&trips, part);
            assert!((found / wanted - 1.0).abs() < 0.15, "p{part}: {found} ms for {wanted} ms");
        }
        let trips = RoundTrips::constant(MS * 3).unwrap();
        for part in [0.0, 0.5, 0.9999] {
            assert!((drawn(&trips, part) - 3.0).abs() < 0.001);
        }
    }

    #[test]
    fn tails_continue_their_slope() {
        let trips = RoundTrips::quantiles(&[(50.0, MS), (99.0, MS * 10)]).unwrap();
        let at = |part| trips.quantile(part).as_secs_f64() * 1e3;
        assert!((at(0.5) - 1.0).abs() < 0.01 && (at(0.99) - 10.0).abs() < 0.1);
        // Between p50 and p99 the round trip grows tenfold, within 1.7 nines. So the next nine
        // makes it 3.88 times as long.
        assert!((at(0.999) - 38.8).abs() < 2.0, "{}", at(0.999));
        assert!(at(1.0) < 160.0, "{}", at(1.0));
        let ends = RoundTrips::quantiles(&[(50.0, MS), (99.0, MS * 10), (100.0, MS * 12)]).unwrap();
        assert_eq!(ends.quantile(1.0).as_millis(), 12);
    }

    #[test]
    fn nonsense_is_refused_with_both_numbers() {
        let error = RoundTrips::quantiles(&[(99.0, MS), (50.0, MS * 2)]).unwrap_err();
        assert_eq!(error.to_string(), "p99 is 1ms, and must be at least p50, which is 2ms");
        assert_eq!(RoundTrips::measured(&[]), Err(TripsError::Empty));
        let error = RoundTrips::quantiles(&[(101.0, MS)]).unwrap_err();
        assert_eq!(error.to_string(), "p101 is no percentile: it must be from 0 to 100");
        assert!(RoundTrips::quantiles(&[(0.0, MS), (100.0, MS)]).is_ok());
        assert!(RoundTrips::constant(Duration::ZERO).is_err());
        assert!(RoundTrips::constant(MS * 100_000).is_err());
    }
}
