//! The claim of one leadership, as its handles hold it.

use std::sync::Arc;

use tenure_core::Time;

use crate::cell::ClaimCell;
use crate::clock;

#[derive(Clone, Debug)]
pub(crate) struct SharedClaim(Arc<ClaimCell>);

impl SharedClaim {
    pub(crate) fn new(cell: Arc<ClaimCell>) -> Self {
        Self(cell)
    }

    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.0.holds(clock::now, clock::wall)
    }

    /// The end of the claim; [`Time::ZERO`] once it is over; `None` without an end, for which a
    /// core says [`Time::MAX`].
    #[inline]
    pub(crate) fn until(&self) -> Option<Time> {
        let until = self.0.claim().until();
        (until < Time::MAX).then_some(until)
    }

    pub(crate) fn lower(&self) {
        self.0.lower();
    }
}
