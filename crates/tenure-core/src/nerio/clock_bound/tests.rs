use proptest::prelude::*;

use super::*;
use crate::nerio::config::Config;

const SECOND: u64 = 1_000_000_000;
const EPOCH: u64 = 1_800_000_000 * SECOND;
const DELTA: Duration = Duration::from_secs(5);

fn bound(skew_ms: u64) -> ClockBound {
    ClockBound { drift: Drift::DEFAULT, skew: Some(Duration::from_millis(skew_ms)) }
}

fn shifted(by: i64) -> WallTime {
    WallTime::from_nanos(EPOCH.saturating_add_signed(by))
}

fn read(boot: u64, wall: i64, apart: u64) -> BothClocks {
    let apart = Duration::from_nanos(apart);
    BothClocks { boot: Time::from_nanos(boot), wall: shifted(wall), apart }
}

#[test]
fn skew_adds_to_grants_only() {
    let (with, without) = (bound(100), ClockBound { drift: Drift::DEFAULT, skew: None });
    let start = Time::from_nanos(SECOND);
    assert_eq!(with.claim_ends(start, DELTA), without.claim_ends(start, DELTA));
    assert_eq!(without.outlasts(DELTA), Duration::from_millis(5_005));
    assert_eq!(with.outlasts(DELTA), Duration::from_nanos(5_205_200_000));
    let long = bound(Config::SKEW_MAX.as_millis() as u64);
    assert_eq!(long.outlasts(Duration::MAX), Duration::from_nanos(u64::MAX));
}

#[test]
fn small_shifts_move_nothing() {
    let before = Lead::of(&read(SECOND, 0, 50_000));
    let after = |boot, wall, apart| Lead::of(&read(boot, wall, apart)).has_moved(before);
    assert!(!after(2 * SECOND, SECOND as i64 + 900_000, 50_000), "ahead");
    assert!(!after(2 * SECOND, SECOND as i64 - 900_000, 50_000), "behind");
    assert!(after(2 * SECOND, SECOND as i64 + 1_000_001, 0), "ahead");
    assert!(after(2 * SECOND, SECOND as i64 - 1_000_001, 0), "behind");
    assert!(after(2 * SECOND, SECOND as i64, 1_000_001), "behind, or only read late");
}

proptest! {
    /// Two wall clocks differ by at most Δ, and each node reads its two clocks any span apart. The
    /// claim ends on the candidate's wall clock at least Δ before the grant ends on the grantor's
    /// wall clock.
    #[test]
    fn walls_within_skew_suffice(
        candidate in -50_000_000_i64..=50_000_000,
        grantor in -50_000_000_i64..=50_000_000,
        delay in 0..6 * SECOND,
        apart in 0..SECOND / 10,
        moved in -1_000_000_i64..=1_000_000,
    ) {
        let bound = bound(100);
        let start = shifted(candidate);
        let sent = read(100 * SECOND, candidate, 0);
        let claim = bound.claim_ends_at(start.after(DELTA), &sent);
        // The candidate's wall clock moves by less than the node notices. `ends` is its reading at
        // E.
        let ends = candidate + i64::try_from(claim.since(sent.boot).as_nanos()).unwrap() + moved;
        prop_assert!(shifted(ends) <= start.after(DELTA));
        let arrives = delay as i64 + grantor;
        // The wall clock of the grantor is read at the end of the span, or at its beginning.
        for late in [0, apart] {
            let now = read(700 * SECOND, arrives + late as i64, apart);
            let finish = start.after(DELTA).after(bound.skew.unwrap());
            let grant = bound.grant_ends_at(finish, &now);
            let lasts = i64::try_from(grant.since(now.boot).as_nanos()).unwrap();
            // When the grant ends, the grantor's wall clock shows at least this time.
            prop_assert!(shifted(arrives + lasts + moved) >= finish);
        }
    }

    /// Rates are within ρ, and wall clocks show any time. A claim by a slow clock, for the rest of
    /// a grant, ends before that grant by a fast clock.
    #[test]
    fn rates_within_drift_suffice(
        wall in -1_000_000_000_i64..=1_000_000_000,
        delay in 0..SECOND,
    ) {
        let bound = bound(100);
        let finish = shifted(0).after(DELTA).after(bound.skew.unwrap());
        let now = read(700 * SECOND, wall, 0);
        let start = Time::from_nanos(100 * SECOND);
        let rest = finish.since(now.wall);
        let claim = bound.claim_ends(start, DELTA.min(rest)).since(start);
        let grant = bound.grant_ends_at(finish, &now).since(now.boot);
        let grant = Duration::from_nanos(delay) + bound.drift.real_at_least(grant);
        prop_assert!(bound.drift.real_at_most(claim) <= grant);
    }
}
