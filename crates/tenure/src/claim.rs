//! The claim of one leadership, as those who ask hold it.

use std::sync::Arc;

use tenure_core::Time;

use crate::cell::ClaimCell;
use crate::clock;

/// Reads a cell as it must be read.
#[derive(Clone, Debug)]
pub(crate) struct Claim(Arc<ClaimCell>);

impl Claim {
    pub(crate) fn new(cell: Arc<ClaimCell>) -> Self {
        Self(cell)
    }

    /// The clock first, then the cell.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        let now = clock::now().as_nanos();
        now < self.0.until()
    }

    /// Until when it holds; [`Time::ZERO`] once it is over.
    #[inline]
    pub(crate) fn until(&self) -> Time {
        Time::from_nanos(self.0.until())
    }

    /// Ends it for ever.
    pub(crate) fn lower(&self) {
        self.0.lower();
    }
}
