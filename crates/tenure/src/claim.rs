//! The claim of one leadership, as those who ask hold it.

use std::sync::Arc;

use tenure_core::Time;

use crate::cell::ClaimCell;
use crate::clock;

/// Asks a cell by the clock of leases.
#[derive(Clone, Debug)]
pub(crate) struct SharedClaim(Arc<ClaimCell>);

impl SharedClaim {
    pub(crate) fn new(cell: Arc<ClaimCell>) -> Self {
        Self(cell)
    }

    /// Whether it holds now.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.0.holds(clock::now)
    }

    /// Until when it holds; [`Time::ZERO`] once it is over, `None` if it has no end, which a core
    /// names [`Time::MAX`].
    #[inline]
    pub(crate) fn until(&self) -> Option<Time> {
        let until = self.0.claim().until();
        (until < Time::MAX).then_some(until)
    }

    /// Ends it for ever.
    pub(crate) fn lower(&self) {
        self.0.lower();
    }
}
