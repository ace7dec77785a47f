//! Clock skew: the times at which a leader stops, and at which others stop believing in its claim,
//! by wall clocks that differ. H is `heartbeat`, K `max_clock_skew`.

use super::context::Context;
use crate::time::{Time, WallTime};

impl Context<'_> {
    /// The time at which the holder of a claim stops: the earliest time at which its wall clock can
    /// show K + H before `until` (rulings 2 and 3).
    pub(super) fn holder_ends(&self, until: WallTime) -> Time {
        self.sooner(until.before(self.config.max_clock_skew).before(self.config.heartbeat))
    }

    /// The time at which others stop believing in a claim: the latest time at which this process's
    /// wall clock can show K after `until` (ruling 3).
    pub(super) fn others_wait(&self, until: WallTime) -> Time {
        self.later(until.after(self.config.max_clock_skew))
    }

    /// The time until which the leader certainly leads, unless it gives up: its clock may be 2K
    /// ahead of this process's clock.
    pub(super) fn certain(&self, until: WallTime) -> Time {
        let Self { config, .. } = self;
        self.sooner(until.before(config.max_clock_skew.saturating_mul(3)).before(config.heartbeat))
    }

    /// The earliest time at which the wall clock can show `wall`. Wall time was read no earlier
    /// than `boot`, so `apart` is left out.
    fn sooner(&self, wall: WallTime) -> Time {
        self.now.boot.after(self.config.drift.shrink(wall.since(self.now.wall)))
    }

    /// The latest time at which the wall clock can show `wall`.
    pub(super) fn later(&self, wall: WallTime) -> Time {
        if wall <= self.now.wall {
            return self.now.boot;
        }
        let span = wall.since(self.now.wall).saturating_add(self.now.apart);
        self.now.boot.after(self.config.drift.stretch(span))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::allcall::config::Config;
    use crate::allcall::context::Me;
    use crate::allcall::identity::{Participant, Rank};
    use crate::clocks::BothClocks;
    use crate::deadlines::Deadlines;

    const SECOND: u64 = 1_000_000_000;
    const EPOCH: u64 = 1_800_000_000 * SECOND;

    fn shifted(by: i64) -> WallTime {
        WallTime::from_nanos(EPOCH.saturating_add_signed(by))
    }

    fn at<T>(now: BothClocks, config: &Config, see: impl FnOnce(&Context<'_>) -> T) -> T {
        let config = config.clone().check().unwrap();
        let who = Participant { id: config.id.clone(), incarnation: 1 };
        let me = Me { who, rank: Rank { number: 1, tie: 1 } };
        let mut terms = 0;
        let mut deadlines = Deadlines::default();
        let mut out = Vec::new();
        let mut resigned = Vec::new();
        see(&Context {
            now,
            config: &config,
            me: &me,
            connected: true,
            clock_off: false,
            clock_due: false,
            undecided: false,
            terms: &mut terms,
            deadlines: &mut deadlines,
            out: &mut out,
            resigned: &mut resigned,
        })
    }

    /// The span between the two readings never revives a claim that is over.
    #[test]
    fn past_claims_are_over() {
        let config = Config::new("c".parse().unwrap(), "n".parse().unwrap());
        let boot = Time::from_nanos(100 * SECOND);
        let now = BothClocks { boot, wall: shifted(0), apart: Duration::from_micros(50) };
        for past in [0, -1, -1_000_000_000] {
            assert_eq!(at(now, &config, |context| context.later(shifted(past))), boot);
        }
        assert!(at(now, &config, |context| context.later(shifted(1))) > boot.after(now.apart));
    }

    proptest! {
        /// Takes two wall clocks within K of true time, two CLOCK_BOOTTIMEs within ρ of its rate,
        /// readings with a span between them, and a message of any delay. The holder stops H before
        /// the other process stops waiting (rulings 2 and 3).
        #[test]
        fn holder_stops_before_others_stand(
            holder in -1_000_000_000_i64..=1_000_000_000,
            other in -1_000_000_000_i64..=1_000_000_000,
            delay in 0..10 * SECOND,
            apart in 0..SECOND / 10,
        ) {
            let config = Config::new("c".parse().unwrap(), "n".parse().unwrap());
            // The lease is granted at EPOCH in true time, when both clocks read 100 s since boot.
            let boot = Time::from_nanos(100 * SECOND);
            let apart = Duration::from_nanos(apart);
            // The process reads wall time as late as possible after `boot`.
            let now = BothClocks { boot, wall: shifted(holder).after(apart), apart };
            let until = now.wall.after(config.lease);
            let stops = at(now, &config, |context| context.holder_ends(until)).since(boot);
            let heard = shifted(other).after(Duration::from_nanos(delay));
            // Here both clocks are read at one instant.
            let now = BothClocks { boot, wall: heard, apart };
            let (waits, certain) = at(now, &config, |context| {
                (context.others_wait(until).since(boot), context.certain(until).since(boot))
            });
            // Convert to true time with one clock as slow and the other as fast as possible.
            let stopped = config.drift.real_at_most(stops);
            let waited = config.drift.real_at_least(waits) + Duration::from_nanos(delay);
            prop_assert!(stopped + config.heartbeat <= waited, "{stopped:?} {waited:?}");
            // The observer reports a certain leader only while that leader leads, with clocks
            // within bounds.
            let told = certain + Duration::from_nanos(delay);
            let early = stops + apart + Duration::from_millis(30);
            prop_assert!(certain.is_zero() || told <= early, "{told:?} {stops:?}");
        }
    }
}
