//! The handle of an application: the `Claim` of the core crate, as in drivers.

use tenure_core::{Claim, Fence, Standing, Time, WallTime};

/// The handle of the present leadership of one election at one node. A driver raises and lowers the
/// claim; an application reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handle {
    claim: Option<(Option<Fence>, Claim)>,
    /// End of the claim on the wall clock.
    wall: Option<WallTime>,
}

impl Handle {
    /// Raises the claim at `now` and `shown`, as a driver does. Returns the new end, or `None` if
    /// the claim has lapsed or is over, so that the driver resigns. Another fence is another
    /// leadership.
    pub(super) fn raise(
        &mut self,
        (now, shown): (Time, WallTime),
        fence: Option<Fence>,
        until: Time,
    ) -> Option<Time> {
        let claim = match self.claim(fence) {
            Some(_) if self.has_lapsed_at(shown) => return None,
            Some(claim) => claim.raised(now, until)?,
            None => Claim::new(until),
        };
        self.claim = Some((fence, claim));
        Some(claim.until())
    }

    /// Moves the end on the wall clock later. Does nothing if the process slept past that end after
    /// its core had decided, at the reading `decided` of the wall clock.
    pub(super) fn bound(&mut self, shown: WallTime, decided: WallTime, wall: WallTime) {
        if self.has_lapsed_at(decided) || !self.has_lapsed_at(shown) {
            self.wall = self.wall.max(Some(wall));
        }
    }

    /// The end of the claim on the wall clock.
    pub(super) const fn wall(&self) -> Option<WallTime> {
        self.wall
    }

    pub(super) fn lower(&mut self) {
        self.claim = self.claim.map(|(fence, _)| (fence, Claim::OVER));
    }

    /// Ends the leadership: the next is another leadership, even with the same fence, as after the
    /// restore of a store.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// The answer of the handle at `now`.
    #[must_use]
    pub fn standing(&mut self, now: Time, shown: WallTime) -> Standing {
        if self.has_lapsed_at(shown) {
            // The answer stays, even if the clock is set back.
            self.lower();
        }
        match self.claim.filter(|(_, claim)| claim.holds(now)) {
            Some((fence, claim)) => Standing::Leading { until: claim.until(), fence },
            None => Standing::NotLeading,
        }
    }

    /// Whether the leadership with this fence was already over at `at`.
    pub(super) fn has_lapsed(&self, fence: Option<Fence>, at: Time) -> bool {
        self.claim(fence).is_some_and(|claim| !claim.holds(at))
    }

    fn has_lapsed_at(&self, shown: WallTime) -> bool {
        self.wall.is_some_and(|wall| shown >= wall)
    }

    fn claim(&self, fence: Option<Fence>) -> Option<Claim> {
        self.claim.filter(|(own, _)| *own == fence).map(|(_, claim)| claim)
    }
}
