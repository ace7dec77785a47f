//! The phases of a grantor before its first grant: it writes its boot down, waits out forgotten
//! leases, and reads the fences that it may have forgotten.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::super::body::Service;
use super::super::identity::Instance;
use super::super::quorum::MemberSet;
use super::super::roster::Roster;
use super::super::timer::Timer;
use super::flush::Flush;
use crate::fence::Fence;
use crate::time::{Deadline, Time};

/// Questions of a grantor to the others before it serves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Read {
    /// No question: the grantor's memory is intact.
    Nothing,
    /// Fences: the grantor's memory was lost, or the cluster is new.
    Fences,
}

/// A member's answer to a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct ReadAnswer {
    /// Bound on the fences that the member has seen.
    pub(in crate::nerio) seen: Fence,
    pub(in crate::nerio) delta_max: Duration,
    /// Whether the memory of the member is intact.
    pub(in crate::nerio) whole: bool,
    /// Latest time until which a leader that the member has heard of may lead.
    pub(in crate::nerio) leader: Time,
    /// Whether the member has written down the asker's memory.
    pub(in crate::nerio) recorded: bool,
    pub(in crate::nerio) instance: Option<Instance>,
    /// The memories that the member has written down.
    pub(in crate::nerio) roster: Roster,
}

/// The members that keep a read from completing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Missing {
    /// Members whose memory is intact.
    pub(in crate::nerio) whole: MemberSet,
    /// Members that have not answered.
    pub(in crate::nerio) silent: MemberSet,
    /// Members whose directory is empty, too.
    pub(in crate::nerio) empty: MemberSet,
    /// Members, among those that answered, that do not recognize this grantor as a member.
    pub(in crate::nerio) strange: MemberSet,
    /// Members for whose memory alone a founding waits: each waits for an answer itself.
    pub(in crate::nerio) deaf: MemberSet,
    /// Members, among the deaf, that have not asked this grantor.
    pub(in crate::nerio) unasked: MemberSet,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) enum Phase {
    /// The node has no memory yet: the driver has not started it.
    Unborn,
    /// The grantor writes its boot down.
    Opening {
        flush: Flush,
        quarantine: Option<Time>,
        read: Read,
    },
    /// The write of the boot failed; the grantor tries again at `at`.
    Unwritten {
        at: Time,
        quarantine: Option<Time>,
        read: Read,
    },
    /// The grantor waits until every lease that it may have given has ended.
    Quarantine {
        until: Time,
        read: Read,
    },
    /// The grantor asks the others for their fences.
    Reading {
        /// Time of the first question, which each answer names.
        since: Time,
        /// Time at which the questions are sent again.
        again: Time,
        answers: BTreeMap<usize, ReadAnswer>,
        /// Whether the grantor has heard of a newer memory of some member since the first question.
        news: bool,
        /// The last report of members for which the read waits.
        told: Option<Missing>,
    },
    /// The grantor writes the fences down that it read.
    Storing {
        flush: Flush,
    },
    /// The write of the fences that the grantor read failed; the grantor tries again at `at`.
    Unstored {
        at: Time,
    },
    Serving,
    /// A later memory of this member is known: the grantor never grants again.
    Replaced,
}

impl Phase {
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
