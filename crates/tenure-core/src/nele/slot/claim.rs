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
    /// The send of the last own record that was read back.
    pub(in crate::nele) own: Option<Time>,
    /// Leader epoch and offset of the last claim, if they make no fence.
    pub(in crate::nele) fenceless: Option<(Option<u32>, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) enum Bid {
    #[default]
    Idle,
    /// The next claim is published at this time.
    Due(Time),
    UnderWay {
        number: EntryNumber,
        /// The claim counts only if it is read back by this reading.
        reading: Reading,
        until: Time,
        /// The ledger has appended the claim where this process will read it.
        kept: bool,
    },
}

/// A claim that was read back, and is not void.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) struct HeldClaim {
    /// The first claim of this office was read back at this time.
    pub(in crate::nele) since: Time,
    pub(in crate::nele) grace: Duration,
    /// The first claim of the present leader epoch was read back at this time.
    pub(in crate::nele) renewed: Time,
    /// No role is won before this time: G after `renewed`, and later if others of the group have a
    /// longer T. A leader leads on.
    pub(in crate::nele) begins: Time,
    pub(in crate::nele) fence: Fence,
    pub(in crate::nele) epoch: Option<u32>,
    /// The send of the latest own record that was read back after the claim.
    pub(in crate::nele) evidence: Option<Time>,
    /// The claim wins no more roles (ruling 10): its fence was used by a leadership that is over,
    /// or another leader epoch began, which may have had another leader.
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

    /// T after its evidence: the end of a leadership by this claim, once the grace period is over.
    pub(in crate::nele) fn until(&self, context: &Context<'_>) -> Option<Time> {
        Some(self.evidence?.after(context.config.takeover))
    }

    /// The same, if the grace period is over and that end is not.
    pub(in crate::nele) fn leads(&self, context: &Context<'_>) -> Option<Time> {
        let until = self.until(context)?;
        let waited = self.since.after(self.grace) <= context.now;
        (waited && context.now < until).then_some(until)
    }

    /// Whether the claim can win no role now: no own record was read back lately.
    pub(in crate::nele) fn is_barren(&self, context: &Context<'_>) -> bool {
        let over = self.until(context).is_none_or(|until| until <= context.now);
        over && self.begins <= context.now
    }
}
