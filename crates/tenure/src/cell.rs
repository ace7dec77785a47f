//! The claim of one leadership, shared between the driver that raises it and its handles.

use tenure_core::{Claim, Time, WallTime};

use crate::atomic::{AtomicU64, Ordering};

/// A [`Claim`] that two threads share.
///
/// A handle reads *the clock first, then* the cell. In the other order, another thread could lower
/// the claim between the two reads. The handle would then answer that it leads, while another node
/// leads.
#[derive(Debug)]
pub(crate) struct ClaimCell {
    until: AtomicU64,
    /// End on the wall clock, where the protocol compares wall clocks.
    wall: Option<AtomicU64>,
}

impl ClaimCell {
    pub(crate) fn new(claim: Claim, wall: Option<WallTime>) -> Self {
        let until = AtomicU64::new(claim.until().as_nanos());
        Self { until, wall: wall.map(|wall| AtomicU64::new(wall.as_nanos())) }
    }

    /// Whether the claim holds at the times that the clocks return. The wall clock is read only if
    /// the claim ends on it.
    #[inline]
    pub(crate) fn holds(
        &self,
        clock: impl FnOnce() -> Time,
        wall_clock: impl FnOnce() -> WallTime,
    ) -> bool {
        let now = clock();
        if let Some(wall) = &self.wall
            && self.has_lapsed(wall, wall_clock())
        {
            return false;
        }
        self.claim().holds(now)
    }

    /// The claim. To compare it with the clock, read the clock first.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        claim(self.until.load(Ordering::Acquire))
    }

    /// Raises the claim, unless it has lapsed at `now` or is over; true if raised.
    pub(crate) fn raise(&self, now: Time, until: Time) -> bool {
        let mut current = self.until.load(Ordering::Acquire);
        while let Some(raised) = claim(current).raised(now, until) {
            let success = Ordering::AcqRel;
            let failure = Ordering::Acquire;
            let raised = raised.until().as_nanos();
            match self.until.compare_exchange_weak(current, raised, success, failure) {
                Ok(_) => return true,
                Err(changed) => current = changed,
            }
        }
        false
    }

    /// Moves the claim's end on the wall clock to a later time. Does nothing if the claim has
    /// lapsed at `shown`, a reading of that clock.
    pub(crate) fn bound(&self, shown: WallTime, until: WallTime) {
        if let Some(wall) = &self.wall
            && !self.has_lapsed(wall, shown)
        {
            wall.fetch_max(until.as_nanos(), Ordering::AcqRel);
        }
    }

    /// Ends the claim for ever. Raise and lower are both atomic exchanges: if two threads act at
    /// once, the second sees the result of the first.
    pub(crate) fn lower(&self) {
        self.until.swap(Claim::OVER.until().as_nanos(), Ordering::AcqRel);
    }

    /// Whether the claim has lapsed on the wall clock. A lapsed claim is over for ever, even if the
    /// clock is set back.
    fn has_lapsed(&self, wall: &AtomicU64, shown: WallTime) -> bool {
        let lapsed = shown.as_nanos() >= wall.load(Ordering::Acquire);
        if lapsed {
            self.lower();
        }
        lapsed
    }
}

#[inline]
fn claim(until: u64) -> Claim {
    Claim::new(Time::from_nanos(until))
}
