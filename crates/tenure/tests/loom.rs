//! Every interleaving of a driver that raises or lowers a claim with a handle that asks.
#![cfg(tenure_loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

#[path = "../src/cell.rs"]
#[allow(dead_code, unreachable_pub)]
mod cell;

use cell::ClaimCell;

/// What `is_current` does: the clock first, then the cell.
fn is_current(clock: &AtomicU64, cell: &ClaimCell) -> bool {
    let now = clock.load(Ordering::SeqCst);
    now < cell.until()
}

/// A renewal that completes after the lapse must not bring a leadership back: a handle that has
/// said "no longer" says so for ever.
#[test]
fn a_lapsed_claim_never_comes_back() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(5));
        let cell = Arc::new(ClaimCell::new(10));
        let (driver_clock, driver_cell) = (clock.clone(), cell.clone());
        let driver = thread::spawn(move || {
            let now = driver_clock.load(Ordering::SeqCst);
            driver_cell.raise(now, 20);
            driver_clock.store(12, Ordering::SeqCst);
            let now = driver_clock.load(Ordering::SeqCst);
            driver_cell.raise(now, 30);
        });
        let first = is_current(&clock, &cell);
        let second = is_current(&clock, &cell);
        assert!(first || !second, "a leadership came back");
        driver.join().unwrap();
    });
}

/// Once the driver has lowered a claim and told others, nobody sees it any more, not even who
/// paused in the middle of asking, and not even if a raise was under way.
#[test]
fn after_the_release_left_nobody_is_current() {
    loom::model(|| {
        let clock = Arc::new(AtomicU64::new(5));
        let cell = Arc::new(ClaimCell::new(10));
        let released = Arc::new(AtomicU64::new(0));
        let (giver_cell, giver_released) = (cell.clone(), released.clone());
        let giver = thread::spawn(move || {
            giver_cell.lower();
            giver_released.store(1, Ordering::SeqCst);
        });
        let raiser_cell = cell.clone();
        let raiser = thread::spawn(move || {
            raiser_cell.raise(6, 20);
        });
        let gone = released.load(Ordering::SeqCst) == 1;
        let current = is_current(&clock, &cell);
        assert!(!(gone && current), "current after the release left");
        giver.join().unwrap();
        raiser.join().unwrap();
        assert_eq!(cell.until(), 0, "a raise undid the end");
    });
}
