//! Bounds of an exploration.

use std::ops::Range;
use std::time::Duration;

use tenure_core::nerio::Checked;

/// How often each event may happen on one way through the states. Events without a count may happen
/// in any order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Budget {
    /// Messages and timers that are not handled in the earliest possible tick. A late message
    /// arrives at any later time, or never: so loss is included.
    pub(crate) late: u8,
    /// Faults that come while messages of the same tick are on their way: all events below except
    /// campaigns and repetitions.
    pub(crate) hasty: u8,
    /// Campaigns of each candidate, in their order.
    pub(crate) campaigns: [u8; 2],
    pub(crate) resigns: u8,
    /// Campaigns that are withdrawn before they are won.
    pub(crate) withdrawals: u8,
    /// Candidates that stop, and go on later or never.
    pub(crate) pauses: u8,
    /// Requests with a second copy that arrives late or never.
    pub(crate) repeated_requests: u8,
    /// Releases with a second copy that arrives late or never.
    pub(crate) repeated_releases: u8,
    /// Candidates that begin another life.
    pub(crate) rebirths: u8,
    /// Grantors whose process starts again.
    pub(crate) crashes: u8,
    /// Grantors whose machine starts again.
    pub(crate) reboots: u8,
    /// Grantors whose state directory is lost.
    pub(crate) losses: u8,
}

impl Budget {
    /// No event at all.
    pub(crate) const NONE: Self = Self {
        late: 0,
        hasty: 0,
        campaigns: [0; 2],
        resigns: 0,
        withdrawals: 0,
        pauses: 0,
        repeated_requests: 0,
        repeated_releases: 0,
        rebirths: 0,
        crashes: 0,
        reboots: 0,
        losses: 0,
    };
}

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// True time from one instant to the next.
    pub(crate) tick: Duration,
    pub(crate) horizon: u8,
    /// Rate of the clock of each node.
    pub(crate) rates: &'static [u64],
    /// Grantors that may change places, because only their names differ.
    pub(crate) alike: Range<usize>,
    /// Grantors that may start again.
    pub(crate) struck: Range<usize>,
    pub(crate) budget: Budget,
    /// Marks that some state must show: otherwise the exploration proves nothing.
    pub(crate) must_show: &'static [&'static str],
    pub(crate) config: Checked,
}
