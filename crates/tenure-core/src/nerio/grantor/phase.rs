//! What a grantor must do before it may grant: be known to its disk, wait out what it may have
//! forgotten, and learn which fences it may have forgotten.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::super::body::Service;
use super::super::identity::Instance;
use super::super::quorum::MemberSet;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::fence::Fence;
use crate::time::{Deadline, Time};

/// What a grantor asks the others before it serves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Read {
    /// Nothing: its own memory is whole.
    Nothing,
    /// The fences: its memory was lost, or the cluster is new.
    Fences,
}

/// What a member answered to a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Known {
    pub(in crate::nerio) seen: Fence,
    pub(in crate::nerio) delta_max: Duration,
    /// Whether it remembers everything.
    pub(in crate::nerio) whole: bool,
    /// Until when a leader that it has heard may lead.
    pub(in crate::nerio) leader: Time,
    /// Whether it has written down which memory the asker has.
    pub(in crate::nerio) recorded: bool,
    /// The memory that it has itself.
    pub(in crate::nerio) instance: Option<Instance>,
}

/// Who keeps a read from being done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Missing {
    pub(in crate::nerio) whole: MemberSet,
    pub(in crate::nerio) silent: MemberSet,
    pub(in crate::nerio) empty: MemberSet,
    /// Which of those that answered do not take this grantor for the member that it is.
    pub(in crate::nerio) strange: MemberSet,
}

/// What a grantor is doing before it may grant, or that it grants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Phase {
    /// This node is no grantor yet: `Start` has not come.
    Unborn,
    /// Its boot is being written down.
    Opening { flush: Flush, quarantine: Option<Time>, read: Read },
    /// It could not write its boot down, and tries again at `at`.
    Unwritten { at: Time, quarantine: Option<Time>, read: Read },
    /// It waits until every lease that it may have given has ended.
    Quarantine { until: Time, read: Read },
    /// It asks the others for their fences.
    Reading {
        since: Time,
        again: Time,
        answers: BTreeMap<usize, Known>,
        /// Since the first of these questions another memory of some member was heard of.
        news: bool,
        told: Option<Missing>,
    },
    /// What it read is being written down.
    Storing { flush: Flush },
    /// What it read could not be written down: it knows it, and writes again at `at`.
    Unstored { at: Time },
    /// It grants.
    Serving,
    /// A later memory has taken the place of its own: it never grants again.
    Replaced,
}

impl Phase {
    /// What it says of itself.
    pub(in crate::nerio) fn service(&self, now: Time) -> Service {
        match self {
            Self::Serving => Service::Serving,
            Self::Replaced => Service::Replaced,
            Self::Unwritten { .. } | Self::Unstored { .. } => Service::Failing,
            Self::Opening { quarantine: Some(until), .. } if *until > now => {
                Service::Quarantine { remaining: until.since(now) }
            }
            Self::Quarantine { until, .. } => Service::Quarantine { remaining: until.since(now) },
            Self::Unborn | Self::Opening { .. } | Self::Storing { .. } => Service::Starting,
            Self::Reading { answers, .. } => {
                Service::Recovering { known: answers.values().any(|known| known.whole) }
            }
        }
    }

    /// The flush that it waits for.
    pub(in crate::nerio) const fn flush(&self) -> Option<Flush> {
        match self {
            Self::Opening { flush, .. } | Self::Storing { flush, .. } => Some(*flush),
            Self::Unborn
            | Self::Unwritten { .. }
            | Self::Quarantine { .. }
            | Self::Reading { .. }
            | Self::Unstored { .. }
            | Self::Serving
            | Self::Replaced => None,
        }
    }

    /// When it has something to do by itself.
    pub(in crate::nerio) fn due(&self) -> Option<Deadline> {
        let (at, timer) = match self {
            Self::Quarantine { until, .. } => (*until, Timer::Quarantine),
            Self::Reading { again, .. } => (*again, Timer::ReadFences),
            Self::Unwritten { at, .. } => (*at, Timer::WriteBoot),
            Self::Unstored { at, .. } => (*at, Timer::WriteFences),
            Self::Unborn
            | Self::Opening { .. }
            | Self::Storing { .. }
            | Self::Serving
            | Self::Replaced => return None,
        };
        Some(timer.at(at))
    }
}
