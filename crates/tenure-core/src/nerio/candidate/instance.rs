//! An instance of OQwBD, as its candidate remembers it: requests sent, and oks that count.

use alloc::vec::Vec;
use core::time::Duration;

use super::super::body::Granted;
use super::super::identity::{Instance, Mark, Stamp};
use crate::drift::Drift;
use crate::fence::Fence;
use crate::time::Time;

/// A request that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Sent {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) delta: Duration,
    pub(in crate::nerio) fence: Fence,
}

/// The ok of one grantor that counts: the one with the highest Start, everything from that one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Answer {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) instance: Instance,
    /// Which memories its grantor has written down.
    pub(in crate::nerio) memories: Vec<Mark>,
    pub(in crate::nerio) stamp: Stamp,
    /// The fence that it accepted for this leadership.
    pub(in crate::nerio) accepted: Option<Fence>,
    /// What others said before this grant is out of date: its Start, or when it arrived if the
    /// request had waited for somebody to leave.
    pub(in crate::nerio) news: Time,
    /// `Start + (1 − ρ)δ`: what this grantor's word is good for.
    pub(in crate::nerio) good_until: Time,
}

impl Answer {
    /// What an ok to `sent` counts for: all of it comes from this one, nothing from one before
    /// (parked requests 4, 5). What it is good for counts from the send (section 3, step 8).
    pub(in crate::nerio) fn of(now: Time, granted: &Granted, sent: &Sent, drift: Drift) -> Self {
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
