//! Fences at a grantor: what was seen, and what the disk has promised never to repeat.

use super::super::record::{Record, Tenancy};
use super::election::ElectionState;
use super::flush::Flush;
use crate::contract::Ticket;
use crate::fence::Fence;

/// How many fences are reserved ahead with one flush.
const BLOCK: u64 = 1 << 10;
/// A proposal further above what was seen is refused: one message must not exhaust the numbers.
pub(in crate::nerio) const REACH: u64 = 1 << 42;

/// The durable bound `H` on the fences of all elections, and the floor under those that are not
/// remembered one by one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Fences {
    /// At least every fence ever seen in an election that is not kept here.
    floor: Fence,
    /// At least every fence ever seen in any election: kept, because it is asked for.
    highest: Fence,
    /// `H`: no fence above it is accepted before a higher one is durable.
    high: Fence,
    /// A higher `H` on its way to the disk, and the flush that carries it.
    pending: Option<(Flush, Fence)>,
    /// Whether the last input asked for it behind a record: if that was not written, the flush is
    /// not under way.
    behind: bool,
    /// Above which room was wanted meanwhile.
    wanted: Fence,
}

impl Fences {
    /// After a start: `H` from the disk, where a restart begins.
    pub(in crate::nerio) fn new(high: Fence) -> Self {
        let (floor, highest, wanted) = (high, high, Fence::NONE);
        Self { floor, highest, high, pending: None, behind: false, wanted }
    }

    /// The highest fence seen in an election; the floor when it is not kept here.
    pub(in crate::nerio) fn seen(&self, state: Option<&ElectionState>) -> Fence {
        state.map_or(self.floor, |state| state.fence_seen)
    }

    /// At least every fence ever seen in any election.
    pub(in crate::nerio) fn raise_floor(&mut self, seen: Fence) {
        self.floor = self.floor.max(seen);
        self.note(seen);
    }

    /// A fence was seen in some election.
    pub(in crate::nerio) fn note(&mut self, seen: Fence) {
        self.highest = self.highest.max(seen);
    }

    /// At least every fence ever seen in any election.
    pub(in crate::nerio) fn highest(&self) -> Fence {
        self.highest
    }

    pub(in crate::nerio) fn floor(&self) -> Fence {
        self.floor
    }

    /// Whether a proposal is so far ahead that it must be refused.
    pub(in crate::nerio) fn is_too_far(
        &self,
        state: Option<&ElectionState>,
        proposed: Fence,
    ) -> bool {
        let reach = self.seen(state).number().saturating_add(REACH);
        proposed.number() > reach
    }

    /// Takes a proposal for a leadership, with the grant that carries it; says whether it was
    /// accepted (the scalar fence, rule 1).
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
        // It belongs to one attempt, which may repeat it, and not to a name.
        fence == seen && state.fence_owner.as_ref() == Some(by)
    }

    /// Whether the next reserve should be made durable now: half of the last one is used up, and
    /// none is on its way. Proposals come faster than a disk flushes, and what they want meanwhile
    /// is one reserve more.
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

    /// Above which room was wanted while a reserve was on its way.
    pub(in crate::nerio) fn take_wanted(&mut self) -> Fence {
        core::mem::take(&mut self.wanted)
    }

    /// A reserve that leaves room above `highest`, to be made durable by `flush`.
    /// `behind` records of the same input, it is dropped with them.
    pub(in crate::nerio) fn reserve_above(
        &mut self,
        highest: Fence,
        flush: Flush,
        behind: bool,
    ) -> Record {
        let high = Fence::new(highest.number().saturating_add(BLOCK)).max(self.high);
        (self.pending, self.behind) = (Some((flush, high)), behind);
        Record::Reserve { high }
    }

    /// A flush is durable, or could not be written. Only the latest reserve counts: the one
    /// before it may be durable while this one is not.
    pub(in crate::nerio) fn settled(&mut self, flushed: Ticket, written: bool) {
        let this = |(flush, _): &mut (Flush, Fence)| flush.ticket == flushed;
        if let Some((_, high)) = self.pending.take_if(this).filter(|_| written) {
            self.high = self.high.max(high);
        }
    }

    /// The flush of a higher `H` that is on its way to the disk.
    pub(in crate::nerio) fn flush(&self) -> Option<Flush> {
        self.pending.map(|(flush, _)| flush)
    }

    /// A record of the last input was not written, and what was behind it was dropped: ask for the
    /// reserve anew, if that was. Any other one is under way.
    pub(in crate::nerio) fn dropped(&mut self) {
        if self.behind {
            self.pending = None;
        }
    }

    /// Another input has come: what the last one asked for is under way.
    pub(in crate::nerio) fn records_written(&mut self) {
        self.behind = false;
    }
}
