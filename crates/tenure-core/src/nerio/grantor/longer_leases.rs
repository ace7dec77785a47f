//! A larger `delta_max` than before: first known, then waited for, then given.
//!
//! A grantor elsewhere that lost its memory may have asked while this one still answered the
//! smaller one, and have waited no longer than that. What it forgot is an ok to a longer lease,
//! which this grantor must not complete: not before every such ok has ended. So longer leases are
//! given only `(1 + ρ)` of the larger one after the start that brought it. From that start on
//! answers have the larger one, and it is written down when it is given: a start in between waits
//! again.

use core::time::Duration;

use super::super::body::Raising;
use super::super::config::Checked;
use super::super::memory::Kept;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::time::{Deadline, Time};

/// A larger `delta_max` that is not given yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Raise {
    /// What was given before.
    pub(super) before: Duration,
    pub(super) stage: Stage,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Waiting { until: Time },
    Writing { flush: Flush },
}

impl Raise {
    /// What a start that allows more than `ever` has to wait for. One that has forgotten its
    /// grants waits as long anyway before it grants at all; before a very first start nobody has
    /// asked.
    pub(super) fn begin(now: Time, kept: &Kept, ever: Duration, config: &Checked) -> Option<Self> {
        let larger = matches!(kept, Kept::Grants(_)) && config.delta_max > ever;
        let stage = Stage::Waiting { until: now.after(config.quarantine()) };
        larger.then_some(Self { before: ever, stage })
    }

    /// What was given before, and is given until then.
    pub(super) const fn before(&self) -> Duration {
        self.before
    }

    /// How much longer it is not given; zero while it is being written down.
    pub(super) fn describe(&self, now: Time) -> Raising {
        let remaining = match self.stage {
            Stage::Waiting { until } => until.since(now),
            Stage::Writing { .. } => Duration::ZERO,
        };
        Raising { before: self.before, remaining }
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        match self.stage {
            Stage::Waiting { until: at } => Some(Timer::LongerLeases.at(at)),
            Stage::Writing { .. } => None,
        }
    }

    /// The flush that it waits for.
    pub(super) const fn flush(&self) -> Option<Flush> {
        match self.stage {
            Stage::Waiting { .. } => None,
            Stage::Writing { flush } => Some(flush),
        }
    }
}
