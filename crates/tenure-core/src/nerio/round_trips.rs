//! d of single members: the longest of the latest round trips, by which repetitions are spaced.
//! [`QuorumTrips`](super::quorum_trips::QuorumTrips) measures d of quorums.

use core::time::Duration;

const WINDOW: u8 = 64;

/// The longest of the last 64 to 128 round trips.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct RoundTrips {
    current: Duration,
    previous: Duration,
    count: u8,
}

impl RoundTrips {
    pub(super) fn observe(&mut self, trip: Duration) {
        if self.count == WINDOW {
            self.previous = core::mem::take(&mut self.current);
            self.count = 0;
        }
        self.current = self.current.max(trip);
        self.count += 1;
    }

    /// d, or `otherwise` before the first measurement.
    pub(super) fn high(&self, otherwise: Duration) -> Duration {
        match self.current.max(self.previous) {
            Duration::ZERO => otherwise,
            high => high,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_trip_lasts_two_windows() {
        let mut trips = RoundTrips::default();
        let configured = Duration::from_millis(10);
        assert_eq!(trips.high(configured), configured);
        trips.observe(Duration::from_millis(80));
        for _ in 0..64 {
            trips.observe(Duration::from_millis(2));
        }
        assert_eq!(trips.high(configured), Duration::from_millis(80));
        for _ in 0..64 {
            trips.observe(Duration::from_millis(2));
        }
        assert_eq!(trips.high(configured), Duration::from_millis(2));
    }
}
