//! d: a high percentile of the times in which quorums answer renewals, and whether the lease has
//! room for it (sections 8 and 10.1).

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use super::config::Checked;
use super::event::OwnEvent;
use crate::time::Time;
use crate::timing::TimingError;

/// Number of trips that are kept, and that are needed before a lease is judged. The percentile of a
/// hundred trips leaves out the longest, so a single stall decides nothing.
const SAMPLES: usize = 100;
/// Least span between two reports.
const PAUSE: Duration = Duration::from_secs(60);

/// The latest times from the first request of a renewal until a quorum had answered, of all leaders
/// of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct QuorumTrips {
    /// Trips in microseconds, rounded up; the latest ones overwrite the oldest.
    latest: Vec<u32>,
    next: usize,
    /// Time from which the next trip counts.
    open: Time,
    /// Whether a trip was noted since the lease was last judged.
    is_news: bool,
    /// Whether the last report was that the lease is too short.
    outgrown: bool,
    reported: Option<Time>,
}

/// Empty, because trips decide only what is reported: the model check in `tenure-sim`, which
/// compares hashes, need not tell them apart.
impl Hash for QuorumTrips {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl QuorumTrips {
    /// Notes a trip that ends at `now`. In half the pause between two renewals only one trip
    /// counts. Otherwise a leader of thousands of elections would judge its network by a single
    /// moment.
    pub(super) fn observe(&mut self, now: Time, trip: Duration, config: &Checked) {
        if now < self.open {
            return;
        }
        self.open = now.after(config.renew_after() / 2);
        self.is_news = true;
        let micros = u32::try_from(trip.as_nanos().div_ceil(1_000)).unwrap_or(u32::MAX);
        match self.latest.get_mut(self.next) {
            Some(oldest) => *oldest = micros,
            None => self.latest.push(micros),
        }
        self.next = (self.next + 1) % SAMPLES;
    }

    /// d: 99 % of the trips took at most this long; `None` before there are enough trips.
    fn high(&self) -> Option<Duration> {
        if self.latest.len() < SAMPLES {
            return None;
        }
        let (mut longest, mut second) = (0, 0);
        for trip in &self.latest {
            second = second.max(longest.min(*trip));
            longest = longest.max(*trip);
        }
        Some(Duration::from_micros(second.into()))
    }

    /// d, if a trip was noted since the lease was last judged.
    pub(super) fn fresh(&self) -> Option<Duration> {
        if self.is_news { self.high() } else { None }
    }

    /// Reports whether the lease is too short for d, if the answer has changed, at most once in
    /// [`PAUSE`]. The lease suffices again when it has room for a round trip a quarter longer than
    /// d.
    pub(super) fn news(&mut self, now: Time, config: &Checked) -> Option<OwnEvent> {
        let pauses = self.reported.is_some_and(|at| now.since(at) < PAUSE);
        if !self.is_news || pauses {
            return None;
        }
        self.is_news = false;
        let high = self.high()?;
        let judged = if self.outgrown { high + high / 4 } else { high };
        let event = match (self.outgrown, config.check_lease(judged)) {
            (false, Err(TimingError::TooShort(short))) => {
                OwnEvent::LeaseOutgrown { samples: SAMPLES, short }
            }
            (true, Ok(())) => OwnEvent::LeaseSuffices { samples: SAMPLES, round_trip: high },
            _ => return None,
        };
        self.outgrown = !self.outgrown;
        self.reported = Some(now);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, Member};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Lease 5 s, grace 1 s, kill margin 100 ms: round trips below 558 ms fit.
    fn config() -> Checked {
        let address = ([127, 0, 0, 1], 7_101).into();
        let member = Member::at("a".parse().unwrap(), address);
        Config::new("x".parse().unwrap(), [member].into()).check().unwrap()
    }

    /// A clock, and the events since its beginning.
    #[derive(Default)]
    struct Network {
        trips: QuorumTrips,
        seconds: u64,
        events: Vec<OwnEvent>,
    }

    impl Network {
        /// Notes as many trips of this length, one each second.
        fn takes(&mut self, trips: usize, trip: Duration) {
            for _ in 0..trips {
                self.seconds += 1;
                let now = Time::from_nanos(self.seconds * SECOND);
                self.trips.observe(now, trip, &config());
                self.events.extend(self.trips.news(now, &config()));
            }
        }
    }

    #[test]
    fn percentile_needs_a_hundred_trips() {
        let mut network = Network::default();
        network.takes(99, ms(600));
        assert_eq!((network.trips.high(), network.events.len()), (None, 0));
        network.takes(1, ms(600));
        assert_eq!((network.trips.high(), network.events.len()), (Some(ms(600)), 1));
    }

    #[test]
    fn single_stall_is_no_percentile() {
        let mut network = Network::default();
        network.takes(150, ms(5));
        network.takes(1, ms(4_000));
        assert_eq!((network.trips.high(), network.events.len()), (Some(ms(5)), 0));
        network.takes(50, ms(5));
        network.takes(1, ms(3_000));
        let [OwnEvent::LeaseOutgrown { samples: 100, short }] = &network.events[..] else {
            panic!("{:?}", network.events);
        };
        assert_eq!(short.beside.round_trip, ms(3_000), "all but the longest");
        network.takes(100, ms(5));
        assert_eq!(network.trips.high(), Some(ms(5)), "the oldest trips are forgotten");
    }

    #[test]
    fn end_needs_room_to_spare() {
        let mut network = Network::default();
        network.takes(100, ms(560));
        network.takes(200, ms(450));
        assert_eq!(network.events.len(), 1, "450 ms and a quarter do not fit");
        network.takes(100, ms(440));
        let ended = OwnEvent::LeaseSuffices { samples: 100, round_trip: ms(440) };
        assert_eq!(network.events[1..], [ended]);
    }

    #[test]
    fn reports_pause_for_a_minute() {
        let mut network = Network::default();
        network.takes(100, ms(5));
        for _ in 0..100 {
            // The percentile is long while the latest hundred trips include both long ones.
            network.takes(2, ms(600));
            network.takes(99, ms(5));
        }
        let reports = network.events.len() as u64;
        assert!(reports > 2 && reports <= network.seconds / 60, "{reports}");
    }

    #[test]
    fn many_leaders_share_samples() {
        let mut network = Network::default();
        network.takes(100, ms(5));
        let now = Time::from_nanos((network.seconds + 1) * SECOND);
        for _ in 0..1_000 {
            network.trips.observe(now, ms(3_000), &config());
        }
        assert_eq!(network.trips.news(now, &config()), None, "an instant is a single trip");
    }
}
