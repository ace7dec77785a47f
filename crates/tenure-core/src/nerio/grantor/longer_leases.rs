//! A larger `delta_max` than before: reported, then waited for, then given.
//!
//! A grantor elsewhere that lost its memory may have asked while this one still answered the
//! smaller `delta_max`, and have waited no longer than the smaller one. Among the grants that it
//! forgot may be an ok to a longer lease, which this grantor must not complete before every such ok
//! has ended. So this grantor gives longer leases only `(1 + ρ)` of the larger one after the start
//! that brought it. From that start on answers carry the larger one; the grantor writes it down
//! when it gives it, so a start in between waits again.

use core::time::Duration;

use super::super::body::Raising;
use super::super::config::Checked;
use super::super::memory::Kept;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::time::{Deadline, Time};

/// A larger `delta_max` that the grantor does not give yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Raise {
    pub(super) before: Duration,
    pub(super) stage: Stage,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Waiting { until: Time },
    Writing { flush: Flush },
}

impl Raise {
    /// The wait after a start that allows more than `ever`. A start that has forgotten its grants
    /// waits as long anyway before it grants at all; before a very first start no member has asked.
    pub(super) fn begin(now: Time, kept: &Kept, ever: Duration, config: &Checked) -> Option<Self> {
        let larger = matches!(kept, Kept::Grants(_)) && config.delta_max > ever;
        let stage = Stage::Waiting { until: now.after(config.quarantine()) };
        larger.then_some(Self { before: ever, stage })
    }

    pub(super) const fn before(&self) -> Duration {
        self.before
    }

    /// The rest of the wait; zero while the larger one is being written down.
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

    pub(super) const fn flush(&self) -> Option<Flush> {
        match self.stage {
            Stage::Waiting { .. } => None,
            Stage::Writing { flush } => Some(flush),
        }
    }
}
