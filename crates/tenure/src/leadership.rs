//! A won election. `release.rs` gives it up.

use std::fmt;
use std::ops::Deref;

use crate::leader::Leader;
use crate::request::Victory;
use crate::resignation::Resignation;
use crate::safety::SafetyClass;

/// A won election: a [`Leader`], which answers for it, and the right to give it up.
///
/// Dropping it resigns: [`is_current`](Leader::is_current) is false from that instant, here and in
/// every `Leader` that came from it, and others learn of the end in the background. Do all work
/// under a leadership by [`run`](Self::run), or end it before the drop.
pub struct Leadership<S: SafetyClass> {
    leader: Leader<S>,
    pub(crate) resignation: Resignation<S>,
}

impl<S: SafetyClass> Leadership<S> {
    pub(crate) fn new(won: Victory<S>, resignation: Resignation<S>) -> Self {
        let Resignation { driver, election, campaign } = &resignation;
        let leader = Leader::new(won, driver, election.clone(), *campaign);
        Self { leader, resignation }
    }

    /// A handle for the work under this leadership.
    #[must_use]
    pub fn leader(&self) -> Leader<S> {
        self.leader.clone()
    }
}

impl<S: SafetyClass> Deref for Leadership<S> {
    type Target = Leader<S>;

    #[inline]
    fn deref(&self) -> &Leader<S> {
        &self.leader
    }
}

impl<S: SafetyClass> Drop for Leadership<S> {
    fn drop(&mut self) {
        // Lower the claim before the resignation is dropped, and so before others learn of the end.
        self.leader.lower();
    }
}

impl<S: SafetyClass> fmt::Debug for Leadership<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership").field("leader", &self.leader).finish_non_exhaustive()
    }
}
