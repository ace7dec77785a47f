//! The claim of one leadership, as its handles hold it.

use std::sync::Arc;

use tenure_core::Time;

use crate::cell::ClaimCell;
use crate::clock;

#[derive(Clone, Debug)]
pub(crate) struct SharedClaim {
    cell: Arc<ClaimCell>,
    /// Id of the only process that may lead by this claim; `None` if forked children may lead, too.
    process: Option<u32>,
}

impl SharedClaim {
    pub(crate) fn new(cell: Arc<ClaimCell>, process: Option<u32>) -> Self {
        Self { cell, process }
    }

    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.cell.holds(clock::now, clock::wall) && self.is_here()
    }

    /// The end of the claim; [`Time::ZERO`] once the claim is over; `None` for a claim without an
    /// end, which a core expresses as [`Time::MAX`].
    #[inline]
    pub(crate) fn until(&self) -> Option<Time> {
        if !self.is_here() {
            return Some(Time::ZERO);
        }
        let until = self.cell.claim().until();
        (until < Time::MAX).then_some(until)
    }

    /// Whether this process may lead by the claim. A forked child has the memory of its parent, but
    /// another process id.
    #[inline]
    fn is_here(&self) -> bool {
        self.process.is_none_or(|process| process == std::process::id())
    }

    pub(crate) fn lower(&self) {
        self.cell.lower();
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Claim;

    use super::*;

    #[test]
    fn forked_copy_is_over() {
        let claim = |process| {
            let until = Time::from_nanos(u64::MAX - 1);
            SharedClaim::new(Arc::new(ClaimCell::new(Claim::new(until), None)), process)
        };
        let own = claim(Some(std::process::id()));
        assert!(own.is_current() && own.until() > Some(Time::ZERO));
        let of_parent = claim(Some(std::process::id() + 1));
        assert!(!of_parent.is_current());
        assert_eq!(of_parent.until(), Some(Time::ZERO));
        assert!(claim(None).is_current());
    }
}
