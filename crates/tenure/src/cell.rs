//! The claim of one leadership, shared between the driver that raises it and its handles.

use tenure_core::{Claim, Time};

use crate::atomic::{AtomicU64, Ordering};

/// A [`Claim`] that two threads share.
///
/// A handle reads *the clock first, then* the cell. In the other order a thread could pause between
/// the two reads: the claim could be given up meanwhile, and the thread would find itself the
/// leader while another node leads.
#[derive(Debug)]
pub(crate) struct ClaimCell(AtomicU64);

impl ClaimCell {
    pub(crate) fn new(claim: Claim) -> Self {
        Self(AtomicU64::new(claim.until().as_nanos()))
    }

    /// Whether the claim holds at the time that `clock` returns.
    #[inline]
    pub(crate) fn holds(&self, clock: impl FnOnce() -> Time) -> bool {
        let now = clock();
        self.claim().holds(now)
    }

    /// The claim. To compare it with the clock, read the clock first.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        claim(self.0.load(Ordering::Acquire))
    }

    /// Raises the claim, unless it has lapsed at `now` or is over; true if raised.
    pub(crate) fn raise(&self, now: Time, until: Time) -> bool {
        let mut current = self.0.load(Ordering::Acquire);
        while let Some(raised) = claim(current).raised(now, until) {
            let success = Ordering::AcqRel;
            let failure = Ordering::Acquire;
            let raised = raised.until().as_nanos();
            match self.0.compare_exchange_weak(current, raised, success, failure) {
                Ok(_) => return true,
                Err(changed) => current = changed,
            }
        }
        false
    }

    /// Ends the claim for ever. Raise and lower are both atomic exchanges: of two at once, the
    /// later sees the earlier.
    pub(crate) fn lower(&self) {
        self.0.swap(Claim::OVER.until().as_nanos(), Ordering::AcqRel);
    }
}

#[inline]
fn claim(until: u64) -> Claim {
    Claim::new(Time::from_nanos(until))
}
