//! A lease that follows the measured network (section 10.1): opt-in, by
//! [`Config::lease_auto`](super::Config::lease_auto).
//!
//! The lease of the settings is the shortest lease, and `delta_max` the longest. A change of the
//! lease affects later requests only. A new lease has room for one and a half times the measured d.
//! The lease grows when it has room for less than one and a quarter d. The lease shrinks, at most
//! once in [`PAUSE`], when d has fallen by a quarter.

use core::fmt;
use core::time::Duration;

use super::config::Checked;
use super::event::OwnEvent;
use super::quorum_trips::QuorumTrips;
use crate::time::Time;

/// Least span between a change of the lease and the next decrease.
const PAUSE: Duration = Duration::from_secs(60);
/// Span for which a grantor's refusal of a longer lease counts. Afterwards an operator may have
/// given the grantor a larger `delta_max`.
const REFUSED_FOR: Duration = Duration::from_secs(10 * 60);

/// A change of a lease that follows the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeaseChange {
    pub before: Duration,
    pub lease: Duration,
    /// Measured round trip; `None` if a grantor gives no longer lease.
    pub round_trip: Option<Duration>,
}

impl fmt::Display for LeaseChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, lease, round_trip } = self;
        match round_trip {
            Some(round_trip) => write!(
                f,
                "the lease changes from {before:?} to {lease:?}, to follow the network: quorums \
                 answer within {round_trip:?}"
            ),
            None => {
                write!(
                    f,
                    "the lease falls from {before:?} to {lease:?}: a grantor gives at most this \
                     lease"
                )
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FollowingLease {
    least: Duration,
    longest: Duration,
    /// d at the last decision.
    judged: Duration,
    changed: Time,
    /// Longest lease of a grantor that has refused a longer lease, and the time of the refusal.
    refused: Option<(Duration, Time)>,
}

impl FollowingLease {
    /// `None` unless the settings ask for a lease that follows.
    pub(super) fn of(config: &Checked) -> Option<Self> {
        let (least, longest) = (config.lease, config.delta_max.max(config.lease));
        let (judged, changed) = (Duration::ZERO, Time::ZERO);
        config.lease_auto.then_some(Self { least, longest, judged, changed, refused: None })
    }

    /// The longest lease for which this node may have asked.
    pub(super) const fn longest(&self) -> Duration {
        self.longest
    }

    /// `3R + 2d` with the measured d: the first lease lasts until its first renewal has arrived.
    pub(super) fn first_needed(&self, config: &Checked) -> Duration {
        config.parked_for().saturating_add(self.judged.saturating_mul(2))
    }

    /// Gives `config` another lease if the present lease has become too short or too long for the
    /// measured round trips.
    pub(super) fn follow(
        &mut self,
        now: Time,
        config: &mut Checked,
        trips: &QuorumTrips,
    ) -> Option<OwnEvent> {
        let high = trips.fresh().filter(|high| *high != self.judged)?;
        let shortest = |trip| config.shortest_lease(trip).unwrap_or(self.longest);
        let lease = shortest(high + high / 2).max(self.least).min(self.bound(now));
        let grows = shortest(high + high / 4) > config.lease && lease > config.lease;
        let shrinks = shortest(high * 2) < config.lease && lease < config.lease;
        if !grows && (!shrinks || now.since(self.changed) < PAUSE) {
            return None;
        }
        self.judged = high;
        self.set(now, lease, Some(high), config)
    }

    /// Shortens the lease to `delta_max`, the longest that a grantor gives. `None`, without a
    /// change, if `delta_max` is below the least lease, or the lease is short enough already.
    pub(super) fn refused(
        &mut self,
        now: Time,
        delta_max: Duration,
        config: &mut Checked,
    ) -> Option<OwnEvent> {
        if delta_max < self.least || config.lease <= delta_max {
            return None;
        }
        self.refused = Some((delta_max, now));
        self.set(now, delta_max, None, config)
    }

    fn bound(&self, now: Time) -> Duration {
        let refused = self.refused.filter(|(_, at)| now.since(*at) < REFUSED_FOR);
        refused.map_or(self.longest, |(delta_max, _)| self.longest.min(delta_max))
    }

    fn set(
        &mut self,
        now: Time,
        lease: Duration,
        round_trip: Option<Duration>,
        config: &mut Checked,
    ) -> Option<OwnEvent> {
        let before = config.lease;
        self.changed = now;
        *config = config.with_other_lease(lease);
        Some(OwnEvent::LeaseFollows(LeaseChange { before, lease, round_trip }))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::config::{Config, Member};
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Lease 5 s to 20 s, grace 1 s, kill margin 100 ms.
    struct Network {
        config: Checked,
        following: FollowingLease,
        trips: QuorumTrips,
        now: Time,
    }

    impl Network {
        fn new() -> Self {
            let member = Member::at("a".parse().unwrap(), ([127, 0, 0, 1], 7_101).into());
            let config = Config::new("x".parse().unwrap(), [member].into());
            let config = Config { lease_auto: true, delta_max: ms(20_000), ..config };
            let config = config.check().unwrap();
            let following = FollowingLease::of(&config).unwrap();
            Self { config, following, trips: QuorumTrips::default(), now: Time::ZERO }
        }

        /// The leases that the node takes during a hundred more trips of this length.
        fn takes(&mut self, trip: Duration) -> Vec<Duration> {
            let mut leases = Vec::new();
            for _ in 0..100 {
                self.now = self.now.after(self.config.renew_after());
                self.trips.observe(self.now, trip, &self.config);
                let event = self.following.follow(self.now, &mut self.config, &self.trips);
                if let Some(OwnEvent::LeaseFollows(change)) = event {
                    leases.push(change.lease);
                }
            }
            leases
        }
    }

    #[test]
    fn lease_follows_between_bounds() {
        let mut network = Network::new();
        assert_eq!(network.takes(ms(10)), [], "the least lease has room");
        let [lease] = network.takes(ms(600))[..] else { panic!() };
        assert!(lease > ms(6_500) && lease < ms(8_000), "{lease:?}");
        assert!(network.config.check_lease(ms(900)).is_ok());
        assert_eq!(network.takes(ms(660)), [], "a tenth more fits");
        assert_eq!(network.takes(ms(500)), [], "a sixth less is no reason");
        let [lease] = network.takes(ms(9_000))[..] else { panic!() };
        assert_eq!(lease, ms(20_000), "lease-max");
        let [lease] = network.takes(ms(10))[..] else { panic!() };
        assert_eq!(lease, ms(5_000), "the lease of the settings");
    }

    /// Whatever d is measured, the lease is at least δ = d + max(i, (1 + ρ)(E − C)) (section 10.1).
    #[test]
    fn lease_is_never_below_the_needed() {
        for trip in (1..40).map(|nth| ms(nth * 50)) {
            let mut network = Network::new();
            network.takes(trip);
            let config = &network.config;
            let needed = config.lease_needed(trip, config.renew_after(), config.usable());
            assert!(config.lease >= needed, "{:?} < {needed:?}", config.lease);
            let fits = config.check_lease(trip).is_ok();
            assert!(fits || config.lease == ms(20_000), "{trip:?}: {:?}", config.lease);
        }
    }

    #[test]
    fn grantor_bounds_the_lease() {
        let mut network = Network::new();
        network.takes(ms(1_500));
        assert!(network.config.lease > ms(10_000), "{:?}", network.config.lease);
        let Network { config, following, now, .. } = &mut network;
        assert_eq!(following.refused(*now, ms(4_000), config), None, "below the least");
        assert!(following.refused(*now, ms(9_000), config).is_some());
        assert_eq!(config.lease, ms(9_000));
        assert_eq!(network.takes(ms(1_800)), [], "not above that, for ten minutes");
        network.now = network.now.after(REFUSED_FOR);
        assert_eq!(network.takes(ms(1_900)).len(), 1);
    }
}
