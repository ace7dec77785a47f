//! The claim of a leadership, which a driver keeps for its handles.

use crate::time::Time;

/// The end of one leadership's claim. Each renewal moves the end later, until the claim has lapsed
/// or was lowered.
///
/// A claim belongs to one leadership, and never holds again once it has lapsed. A handle that once
/// said "no longer" says so for ever, even if a renewal completes after the lapse. A driver shares
/// the claim with its handles through an atomic cell.
///
/// ```
/// use tenure_core::{Claim, Time};
///
/// let [five, ten, twenty] = [5, 10, 20].map(Time::from_nanos);
/// let claim = Claim::new(ten);
/// assert!(claim.holds(five) && !claim.holds(ten));
/// assert_eq!(claim.raised(five, twenty), Some(Claim::new(twenty)));
/// assert_eq!(claim.raised(ten, twenty), None);
/// assert!(!Claim::OVER.holds(Time::ZERO));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    until: Time,
}

impl Claim {
    /// A claim that was lowered: it holds at no instant.
    pub const OVER: Self = Self { until: Time::ZERO };

    /// A claim that holds until `until`, on the clock of the process.
    #[inline]
    #[must_use]
    pub const fn new(until: Time) -> Self {
        Self { until }
    }

    /// The first instant at which the claim does not hold; [`Time::ZERO`] once the claim was
    /// lowered.
    #[inline]
    #[must_use]
    pub const fn until(self) -> Time {
        self.until
    }

    /// Whether the claim holds at `now`. Read the clock first, then a shared claim: the driver may
    /// lower the claim between the two reads.
    #[inline]
    #[must_use]
    pub fn holds(self, now: Time) -> bool {
        now < self.until
    }

    /// The claim after a renewal to `until` that is carried out at `now`; `None` where the claim
    /// has lapsed or is over. The end of a claim never moves back.
    #[inline]
    #[must_use]
    pub fn raised(self, now: Time, until: Time) -> Option<Self> {
        self.holds(now).then(|| Self { until: until.max(self.until) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_end_never_moves_back() {
        let at = Time::from_nanos;
        let claim = Claim::new(at(10));
        assert_eq!(claim.raised(at(9), at(20)), Some(Claim::new(at(20))));
        assert_eq!(claim.raised(at(9), at(8)), Some(claim), "an older answer takes nothing away");
        assert_eq!(claim.raised(at(10), at(20)), None, "lapsed");
        assert_eq!(Claim::OVER.raised(Time::ZERO, Time::MAX), None, "lowered");
        assert!(claim.holds(at(9)) && !claim.holds(at(10)) && !Claim::OVER.holds(Time::ZERO));
    }
}
