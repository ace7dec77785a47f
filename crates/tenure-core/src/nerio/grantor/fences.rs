//! Fences at a grantor: the fences seen, and the durable bound on fences to be accepted.

use super::super::record::Tenancy;
use super::election::ElectionState;
use super::flush::Flush;
use crate::contract::Ticket;
use crate::fence::Fence;

/// Number of fences reserved with one flush.
const BLOCK: u64 = 1 << 10;
/// Distance above the seen fences up to which a proposal is accepted, so that one message cannot
/// exhaust the numbers.
pub(in crate::nerio) const REACH: u64 = 1 << 42;

/// The durable bound `H` on the fences of all elections, and the floor for elections that are not
/// remembered one by one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Fences {
    /// Bound on all fences ever seen in elections that are not kept here.
    floor: Fence,
    /// Bound on all fences ever seen in any election, kept for answers.
    highest: Fence,
    /// `H`: the grantor accepts no fence above `H` before a higher `H` is durable.
    high: Fence,
    /// A higher `H` on its way to the disk, and the flush that carries it.
    pending: Option<(Flush, Fence)>,
    /// Whether the last input put the flush of the reserve behind a record: if the write of the
    /// record fails, the driver drops the flush.
    behind: bool,
    /// Highest fence for which there was no room while a reserve was on its way to the disk.
    wanted: Fence,
}

impl Fences {
    /// The fences at a start, with `H` from the disk.
    pub(in crate::nerio) fn new(high: Fence) -> Self {
        let (floor, highest, wanted) = (high, high, Fence::NONE);
        Self { floor, highest, high, pending: None, behind: false, wanted }
    }

    /// The highest fence seen in an election; the floor if the grantor does not keep the election.
    pub(in crate::nerio) fn seen(&self, state: Option<&ElectionState>) -> Fence {
        state.map_or(self.floor, |state| state.fence_seen)
    }

    /// Raises the floor to a bound on every fence ever seen in any election.
    pub(in crate::nerio) fn raise_floor(&mut self, seen: Fence) {
        self.floor = self.floor.max(seen);
        self.note(seen);
    }

    pub(in crate::nerio) fn note(&mut self, seen: Fence) {
        self.highest = self.highest.max(seen);
    }

    pub(in crate::nerio) fn highest(&self) -> Fence {
        self.highest
    }

    pub(in crate::nerio) fn floor(&self) -> Fence {
        self.floor
    }

    /// Whether a proposal is so far ahead that the grantor must refuse it.
    pub(in crate::nerio) fn is_too_far(
        &self,
        state: Option<&ElectionState>,
        proposed: Fence,
    ) -> bool {
        let reach = self.seen(state).number().saturating_add(REACH);
        proposed.number() > reach
    }

    /// Takes a proposal for a leadership, with the grant that carries it; true if accepted.
    pub(in crate::nerio) fn propose(
        &mut self,
        state: &mut ElectionState,
        fence: Fence,
        by: &Tenancy,
    ) -> bool {
        let seen = state.fence_seen;
        if fence > seen && fence <= self.high {
            state.fence_seen = fence;
            self.note(fence);
            state.fence_owner = Some(by.clone());
            return true;
        }
        // Only the attempt that owns the fence may repeat it, not another attempt under the same
        // name.
        fence == seen && state.fence_owner.as_ref() == Some(by)
    }

    /// Whether to make the next reserve durable now: half of the last reserve is used up, and none
    /// is on its way to the disk. Proposals during a flush are noted, and together cause one more
    /// reserve.
    pub(in crate::nerio) fn is_short(&mut self, highest: Fence) -> bool {
        let needed = highest.number().saturating_add(BLOCK / 2);
        let enough = |high: Fence| high.number() >= needed;
        if enough(self.high) || self.pending.is_some_and(|(_, high)| enough(high)) {
            return false;
        }
        let waits = self.pending.is_some();
        if waits {
            self.wanted = self.wanted.max(highest);
        }
        !waits
    }

    pub(in crate::nerio) fn take_wanted(&mut self) -> Fence {
        core::mem::take(&mut self.wanted)
    }

    /// A reserve with room above `highest`, for `flush` to make durable. `behind` says that records
    /// of the same input come first: if their write fails, the driver drops the flush as well.
    pub(in crate::nerio) fn reserve_above(
        &mut self,
        highest: Fence,
        flush: Flush,
        behind: bool,
    ) -> Fence {
        let high = Fence::new(highest.number().saturating_add(BLOCK)).max(self.high);
        (self.pending, self.behind) = (Some((flush, high)), behind);
        high
    }

    /// Handles the end of a flush. Only the flush of the latest reserve raises `H`: an earlier
    /// reserve may be durable while the latest is not.
    pub(in crate::nerio) fn settled(&mut self, flushed: Ticket, written: bool) {
        let this = |(flush, _): &mut (Flush, Fence)| flush.ticket == flushed;
        if let Some((_, high)) = self.pending.take_if(this).filter(|_| written) {
            self.high = self.high.max(high);
        }
    }

    pub(in crate::nerio) fn flush(&self) -> Option<Flush> {
        self.pending.map(|(flush, _)| flush)
    }

    /// Handles a failed write of the last input's records, after which the driver dropped every
    /// effect. If the reserve was among these effects, a later proposal asks for it again. Any
    /// other reserve is under way.
    pub(in crate::nerio) fn dropped(&mut self) {
        if self.behind {
            self.pending = None;
        }
    }

    /// Notes that another input has come: the reserve of the last input is then under way.
    pub(in crate::nerio) fn records_written(&mut self) {
        self.behind = false;
    }
}
