//! Holding a won election. How it is given up is in `release.rs`.

use std::fmt;
use std::ops::Deref;

use crate::leader::Leader;
use crate::request::Victory;
use crate::resignation::Resignation;
use crate::safety::SafetyClass;

/// A won election: a [`Leader`], which answers for it, and the right to give it up.
///
/// Dropping it resigns: [`is_current`](Leader::is_current) is false from that instant, here and in
/// every `Leader` that came from it, and others are told in the background. Whatever is done under
/// a leadership should be done by [`run`](Self::run), or end before it is dropped.
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

    /// A handle for the work that is done under this leadership.
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
        // Before the resignation is dropped, and so before anybody is told.
        self.leader.lower();
    }
}

impl<S: SafetyClass> fmt::Debug for Leadership<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership").field("leader", &self.leader).finish_non_exhaustive()
    }
}
