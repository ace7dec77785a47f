//! Requests of a candidate, and the oks that count: from when, and for how long.

use alloc::vec::Vec;
use core::time::Duration;

use super::super::body::Granted;
use super::super::identity::{Instance, Mark, Stamp};
use crate::drift::Drift;
use crate::fence::Fence;
use crate::time::Time;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct SentRequest {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) delta: Duration,
    pub(in crate::nerio) fence: Fence,
}

/// The counted ok of one grantor: its ok with the highest Start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Answer {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) instance: Instance,
    /// Memories of members that the grantor has written down.
    pub(in crate::nerio) memories: Vec<Mark>,
    pub(in crate::nerio) stamp: Stamp,
    /// Fence that the grantor accepted for this leadership.
    pub(in crate::nerio) accepted: Option<Fence>,
    /// Earliest time of reports about other candidates that still count: the Start of the grant, or
    /// its arrival if the request had waited for a rival.
    pub(in crate::nerio) news: Time,
    /// `Start + (1 − ρ)δ`: the end of the ok, on the candidate's clock.
    pub(in crate::nerio) good_until: Time,
}

impl Answer {
    /// Makes the answer from an ok to `sent`. Every field comes from this ok, none from an earlier
    /// one (parked requests 4, 5). The ok is good for a span that begins with the send (section 3,
    /// step 8).
    pub(in crate::nerio) fn of(
        now: Time,
        granted: &Granted,
        sent: &SentRequest,
        drift: Drift,
    ) -> Self {
        Self {
            start: sent.start,
            instance: granted.instance,
            memories: granted.memories.clone(),
            stamp: granted.stamp,
            accepted: granted.accepted.then_some(sent.fence),
            news: if granted.waited { now } else { sent.start },
            good_until: sent.start.after(drift.shrink(sent.delta)),
        }
    }
}
