//! What a grantor must do before it may grant: be known to its disk, wait out what it may have
//! forgotten, and learn which fences it may have forgotten.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::super::message::{Recall, Service};
use super::super::quorum::MemberSet;
use super::super::rule::{Rule, ruling};
use super::super::timer::Timer;
use super::flush::Flush;
use crate::fence::Fence;
use crate::time::{Deadline, Time};

/// What a grantor asks the others before it serves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Read {
    /// Nothing: its own memory is whole.
    Nothing,
    /// The fences: its memory was lost.
    Fences,
    /// Whether there has been a leadership: its memory may have been lost, and is said not to be.
    Founding,
}

/// What a member answered to a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub(super) seen: Fence,
    pub(super) delta_max: Duration,
    pub(super) recall: Recall,
}

impl Known {
    /// Whether that member knows of a leadership, or of one that may have been.
    pub(super) fn knows_a_leader(&self) -> bool {
        matches!(self.recall, Recall::Led | Recall::Lost)
    }
}

/// Who keeps a read from being done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Missing {
    /// What it is needed for.
    pub(super) read: Read,
    /// Whether somebody is known to have led.
    pub(super) led: bool,
    pub(super) silent: MemberSet,
    pub(super) unfounded: MemberSet,
}

/// What a grantor is doing before it may grant, or that it grants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
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
        read: Read,
        answers: BTreeMap<usize, Known>,
        told: Option<Missing>,
    },
    /// What it read is being written down.
    Storing { flush: Flush, read: Read },
    /// What it read could not be written down: it knows it, and writes again at `at`.
    Unstored { at: Time, read: Read },
    /// It grants.
    Serving,
}

impl Phase {
    /// What it is going to ask the others, or asks them.
    pub(super) fn read_mut(&mut self) -> Option<&mut Read> {
        match self {
            Self::Opening { read, .. }
            | Self::Unwritten { read, .. }
            | Self::Quarantine { read, .. }
            | Self::Reading { read, .. } => Some(read),
            Self::Unborn | Self::Storing { .. } | Self::Unstored { .. } | Self::Serving => None,
        }
    }

    /// What it says of itself, which knows by itself whether somebody `led`.
    pub(super) fn service(&self, now: Time, led: bool) -> Service {
        match self {
            Self::Serving => Service::Serving,
            Self::Reading { .. } | Self::Storing { .. } | Self::Unstored { .. }
                if !ruling(Rule::ReadBeforeGrant) =>
            {
                Service::Serving
            }
            Self::Unwritten { .. } | Self::Unstored { .. } => Service::Failing,
            Self::Opening { quarantine: Some(until), .. } if *until > now => {
                Service::Quarantine { remaining: until.since(now) }
            }
            Self::Quarantine { until, .. } => Service::Quarantine { remaining: until.since(now) },
            Self::Unborn | Self::Opening { .. } | Self::Storing { .. }
                if ruling(Rule::StartingSaid) =>
            {
                Service::Starting
            }
            Self::Reading { read: Read::Founding, .. } => Service::Founding,
            Self::Reading { answers, .. } => {
                Service::Recovering { led: led || answers.values().any(Known::knows_a_leader) }
            }
            Self::Unborn | Self::Opening { .. } | Self::Storing { .. } => {
                Service::Recovering { led }
            }
        }
    }

    /// The flush that it waits for.
    pub(super) const fn flush(&self) -> Option<Flush> {
        match self {
            Self::Opening { flush, .. } | Self::Storing { flush, .. } => Some(*flush),
            Self::Unborn
            | Self::Unwritten { .. }
            | Self::Quarantine { .. }
            | Self::Reading { .. }
            | Self::Unstored { .. }
            | Self::Serving => None,
        }
    }

    /// When it has something to do by itself.
    pub(super) fn due(&self) -> Option<Deadline> {
        let (at, timer) = match self {
            Self::Quarantine { until, .. } => (*until, Timer::Quarantine),
            Self::Reading { again, .. } => (*again, Timer::ReadFences),
            Self::Unwritten { at, .. } => (*at, Timer::WriteBoot),
            Self::Unstored { at, .. } => (*at, Timer::WriteFences),
            Self::Unborn | Self::Opening { .. } | Self::Storing { .. } | Self::Serving => {
                return None;
            }
        };
        Some(timer.at(at))
    }
}
