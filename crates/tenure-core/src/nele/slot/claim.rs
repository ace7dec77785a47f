//! A claim to a partition, and the evidence that no other process has claimed it since
//! (`at_most_one`).

use core::time::Duration;

use crate::fence::Fence;
use crate::nele::context::Context;
use crate::nele::identity::{EntryNumber, Reading};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct SlotClaim {
    pub(in crate::nele) bid: Bid,
    pub(in crate::nele) held: Option<HeldClaim>,
    /// The send time of the last record of this process that was read back.
    pub(in crate::nele) own: Option<Time>,
    /// Leader epoch and offset of the last claim, if these made no fence.
    pub(in crate::nele) fenceless: Option<(Option<u32>, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) enum Bid {
    #[default]
    Idle,
    /// The time at which the next claim is published.
    Due(Time),
    UnderWay {
        number: EntryNumber,
        /// The reading that must bring the claim back; otherwise the claim is ignored.
        reading: Reading,
        until: Time,
        /// Whether the claim was appended ahead of the reading, so that the reading will bring the
        /// claim.
        kept: bool,
    },
}

/// A claim that was read back and is not void.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) struct HeldClaim {
    /// The time at which the first claim after the last break was read back.
    pub(in crate::nele) since: Time,
    pub(in crate::nele) grace: Duration,
    /// The time at which the first claim of the present leader epoch was read back.
    pub(in crate::nele) renewed: Time,
    /// No role is won before this time: G after `renewed`, or later if other members have a longer
    /// T. A running leadership goes on before this time, too.
    pub(in crate::nele) begins: Time,
    pub(in crate::nele) fence: Fence,
    pub(in crate::nele) epoch: Option<u32>,
    /// The send time of the latest record of this process that was read back after the claim.
    pub(in crate::nele) evidence: Option<Time>,
    /// Whether the claim wins no more roles (ruling 10). An ended leadership has used the fence of
    /// the claim, or another process may have led in a later leader epoch.
    pub(in crate::nele) spent: bool,
}

impl Bid {
    pub(in crate::nele) fn is(&self, claim: EntryNumber, read: Reading) -> bool {
        match self {
            Self::UnderWay { number, reading, .. } => *number == claim && *reading == read,
            Self::Idle | Self::Due(_) => false,
        }
    }

    pub(in crate::nele) const fn due(&self) -> Option<Time> {
        match *self {
            Self::Idle => None,
            Self::Due(at) | Self::UnderWay { until: at, .. } => Some(at),
        }
    }
}

impl HeldClaim {
    pub(in crate::nele) fn wait_for_all(&mut self, context: &Context<'_>) {
        let grace = context.peers.grace(self.renewed, context.config);
        self.begins = self.begins.max(self.renewed.after(grace));
    }

    /// The evidence plus T: the end of a leadership by this claim.
    pub(in crate::nele) fn until(&self, context: &Context<'_>) -> Option<Time> {
        Some(self.evidence?.after(context.config.takeover))
    }

    /// The end of a leadership by this claim, if the grace period is over and the end is ahead.
    pub(in crate::nele) fn leads(&self, context: &Context<'_>) -> Option<Time> {
        let until = self.until(context)?;
        let waited = self.since.after(self.grace) <= context.now;
        (waited && context.now < until).then_some(until)
    }

    /// Whether the claim cannot win a role now, because recent evidence is missing.
    pub(in crate::nele) fn is_barren(&self, context: &Context<'_>) -> bool {
        let over = self.until(context).is_none_or(|until| until <= context.now);
        over && self.begins <= context.now
    }
}
