//! The bounds on clocks: drift ρ (section 3), and skew Δ (section 4) in a cluster that compares
//! wall clocks. All arithmetic on deadlines with ρ and Δ is here.
//!
//! Every result errs against the claimant: a claim ends early, a grant ends late.

use core::time::Duration;

use crate::clocks::BothClocks;
use crate::drift::Drift;
use crate::time::{Time, WallTime};

/// The bounds on the clocks of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClockBound {
    pub(super) drift: Drift,
    /// Δ; `None` where wall clocks are not compared.
    pub(super) skew: Option<Duration>,
}

/// A smaller shift of the wall clock against time since boot moves no deadline: one reading of both
/// clocks takes time, so two readings differ without a shift.
pub(super) const SLACK: Duration = Duration::from_millis(1);

/// Each translated deadline allows for two unnoticed shifts, each within [`SLACK`]: before the
/// translation and after it.
const ALLOWANCE: Duration = Duration::from_millis(2);

impl ClockBound {
    /// The longest time for which a grantor keeps a grant of `delta`, on its own clock since the
    /// request arrived: `(1 + ρ)(δ + 2Δ)`. The Start of a request is at most Δ ahead of the
    /// grantor's clock, and the grant lasts until Start + δ + Δ.
    pub(super) fn outlasts(self, delta: Duration) -> Duration {
        let skew = self.skew.unwrap_or_default();
        self.drift.stretch(delta.saturating_add(skew.saturating_mul(2)))
    }

    /// `Start + (1 − ρ)δ`: the end of a claim on the clock that showed `start`.
    pub(super) fn claim_ends(self, start: Time, delta: Duration) -> Time {
        start.after(self.drift.shrink(delta))
    }

    /// `T + (1 + ρ)δ`: the end of a grant on the clock that showed `arrival`.
    pub(super) fn grant_ends(self, arrival: Time, delta: Duration) -> Time {
        arrival.after(self.drift.stretch(delta))
    }

    /// The end of a claim in time since boot, if the claim holds until the wall clock shows `wall`.
    pub(super) fn claim_ends_at(self, wall: WallTime, now: &BothClocks) -> Time {
        now.earliest(wall).before(ALLOWANCE)
    }

    /// The end, in time since boot, of a grant that lasts until the wall clock shows `wall`. The
    /// grant lasts at least `(1 + ρ)` times the span from the wall clock's present reading to
    /// `wall`.
    pub(super) fn grant_ends_at(self, wall: WallTime, now: &BothClocks) -> Time {
        let rest = wall.since(now.wall);
        now.latest(wall).max(now.boot.after(self.drift.stretch(rest))).after(ALLOWANCE)
    }
}

/// Bounds, in nanoseconds, on the lead of time since boot over wall time when the clocks were read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lead {
    least: i128,
    most: i128,
}

impl Lead {
    pub(super) fn of(now: &BothClocks) -> Self {
        let least = i128::from(now.boot.as_nanos()) - i128::from(now.wall.as_nanos());
        Self { least, most: least.saturating_add_unsigned(now.apart.as_nanos()) }
    }

    /// Whether the two clocks have moved against each other since `before`, beyond [`SLACK`].
    pub(super) fn has_moved(self, before: Self) -> bool {
        let moved = (self.most - before.least).max(before.least - self.least);
        moved.unsigned_abs() > SLACK.as_nanos()
    }
}

#[cfg(test)]
mod tests;
