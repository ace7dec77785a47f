//! The claim of one leadership, shared between the driver that raises it and the handle that
//! asks.

#[cfg(not(tenure_loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(tenure_loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

/// Until when one leadership holds, in nanoseconds of `CLOCK_BOOTTIME`; zero once it is over.
///
/// A handle reads *the clock first, then* the cell. Were it the other way round, a thread that
/// paused in between would compare a claim that has since been given up with the time now. One
/// cell belongs to one leadership, and never grows again once it has lapsed or was lowered: a
/// handle that once said "no longer" says so for ever.
#[derive(Debug)]
pub(crate) struct ClaimCell(AtomicU64);

impl ClaimCell {
    /// A claim that holds until `until`.
    pub(crate) fn new(until: u64) -> Self {
        Self(AtomicU64::new(until))
    }

    /// Until when the claim holds. Read the clock before.
    #[inline]
    pub(crate) fn until(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Raises the claim, unless it has lapsed at `now` or is over. Says whether it did.
    pub(crate) fn raise(&self, now: u64, until: u64) -> bool {
        let mut current = self.0.load(Ordering::Acquire);
        while now < current {
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            let raised = until.max(current);
            match self.0.compare_exchange_weak(current, raised, success, failure) {
                Ok(_) => return true,
                Err(changed) => current = changed,
            }
        }
        false
    }

    /// Ends the claim for ever. An exchange, as a raise is: of the two that meet, one sees the
    /// other.
    pub(crate) fn lower(&self) {
        self.0.swap(0, Ordering::AcqRel);
    }
}
