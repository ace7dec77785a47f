//! A larger `delta_max` than before: reported, then waited for, then given.
//!
//! Another grantor may have lost its memory, heard the smaller `delta_max` from this grantor, and
//! so waited only for leases of that length. The other grantor may have forgotten an ok for a
//! longer lease. A new grant here must not complete the quorum of that lease before the ok has
//! ended. So this grantor gives longer leases only `(1 + ρ)·delta_max` after the start that raised
//! `delta_max`. From this start on the answers carry the larger value. The grantor writes the
//! larger value down only at the end of the wait, so a start during the wait begins the wait anew.

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
    /// Begins the wait after a start that allows longer leases than `ever`. No wait (`None`) is
    /// needed in two cases. A grantor that has forgotten its grants already grants nothing for as
    /// long. Before a very first start no candidate has asked.
    pub(super) fn begin(now: Time, kept: &Kept, ever: Duration, config: &Checked) -> Option<Self> {
        let larger = matches!(kept, Kept::Grants(_)) && config.delta_max > ever;
        let stage = Stage::Waiting { until: now.after(config.quarantine()) };
        larger.then_some(Self { before: ever, stage })
    }

    pub(super) const fn before(&self) -> Duration {
        self.before
    }

    /// The rest of the wait; zero while the larger `delta_max` is being written down.
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
