//! Every interleaving of two threads: a driver that raises or lowers a claim, and a handle that
//! asks whether it leads.

use loom::sync::Arc;
use loom::thread;

/// Loom's atomics, which `cell.rs` finds here in place of the library's.
mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../src/cell.rs"]
#[allow(dead_code, unreachable_pub)]
mod cell;

use atomic::{AtomicU64, Ordering};
use cell::ClaimCell;
use tenure_core::{Claim, Time, WallTime};

/// The time of a clock that all threads share.
fn show(clock: &AtomicU64) -> Time {
    Time::from_nanos(clock.load(Ordering::SeqCst))
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn until(nanos: u64) -> Arc<ClaimCell> {
    Arc::new(ClaimCell::new(Claim::new(at(nanos)), None))
}

/// A renewal that completes after the lapse must not bring a leadership back: a handle that has
/// said "no longer" says so for ever.
#[test]
fn a_lapsed_claim_never_comes_back() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(5));
        let cell = until(10);
        let driver_clock = clock.clone();
        let driver_cell = cell.clone();
        let driver = thread::spawn(move || {
            driver_cell.raise(show(&driver_clock), at(20));
            driver_clock.store(12, Ordering::SeqCst);
            driver_cell.raise(show(&driver_clock), at(30));
        });
        let first = cell.holds(|| show(&clock), WallTime::default);
        let second = cell.holds(|| show(&clock), WallTime::default);
        assert!(first || !second, "a leadership came back");
        driver.join().unwrap();
    });
}

/// Once others know that the driver has lowered a claim, no handle sees the claim any more. This
/// holds even if the handle paused while it asked, or if a renewal was under way.
#[test]
fn no_handle_leads_after_release() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(5));
        let cell = until(10);
        let released = Arc::new(AtomicU64::new(0));
        let giver_cell = cell.clone();
        let giver_released = released.clone();
        let giver = thread::spawn(move || {
            giver_cell.lower();
            giver_released.store(1, Ordering::SeqCst);
        });
        let raiser_cell = cell.clone();
        let raiser = thread::spawn(move || {
            raiser_cell.raise(at(6), at(20));
        });
        let gone = released.load(Ordering::SeqCst) == 1;
        let current = cell.holds(|| show(&clock), WallTime::default);
        assert!(!(gone && current), "current after the release left");
        giver.join().unwrap();
        raiser.join().unwrap();
        assert_eq!(cell.claim(), Claim::OVER, "a raise undid the end");
    });
}

/// A handle that says "I lead" speaks of the instant at which it read the clock. No other node has
/// begun to lead by then, even if this thread paused while it asked.
#[test]
fn leaders_never_overlap() {
    const BEGINS: u64 = 6;
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(5));
        let cell = until(10);
        let giver_clock = clock.clone();
        let giver_cell = cell.clone();
        let giver = thread::spawn(move || {
            giver_cell.lower();
            // The release has left, so the next node leads from this instant on.
            giver_clock.store(BEGINS, Ordering::SeqCst);
        });
        let mut sampled = Time::ZERO;
        let sample = || {
            sampled = show(&clock);
            sampled
        };
        let current = cell.holds(sample, WallTime::default);
        assert!(!current || sampled < at(BEGINS), "leads at {sampled:?}, when the next one does");
        giver.join().unwrap();
    });
}

/// A claim that a handle has seen lapse on the wall clock is over, even if that clock is set back
/// and a renewal comes.
#[test]
fn lapse_on_wall_clock_is_final() {
    loom::model(|| {
        let wall = WallTime::from_nanos;
        let cell = Arc::new(ClaimCell::new(Claim::new(at(100)), Some(wall(10))));
        let driver_cell = cell.clone();
        let driver = thread::spawn(move || {
            driver_cell.bound(wall(9), wall(20));
            driver_cell.raise(at(6), at(200));
        });
        let first = cell.holds(|| at(5), || wall(12));
        let second = cell.holds(|| at(6), || wall(9));
        assert!(first || !second, "a leadership came back");
        driver.join().unwrap();
    });
}
