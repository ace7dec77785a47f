//! A won election: work under it, and its release after the work.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::time::Duration;

use tenure_core::{LeaderValue, Loss};

use crate::leader::Leader;
use crate::request::Victory;
use crate::resignation::Resignation;
use crate::safety::SafetyClass;

/// The longest delay of a runtime's timer. Work is dropped this much earlier.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// A won election: a [`Leader`], which says whether this node still leads, and the right to give
/// the leadership up.
///
/// Dropping a leadership resigns. From that instant [`is_current`](Leader::is_current) is false,
/// here and in every `Leader` that came from this leadership. Other nodes learn of the end in the
/// background. Do all work under a leadership through [`run`](Self::run), or end the work before
/// the drop.
pub struct Leadership<S: SafetyClass> {
    leader: Leader<S>,
    pub(crate) resignation: Resignation<S>,
}

impl<S: SafetyClass> Leadership<S> {
    pub(crate) fn new(won: Victory<S>, value: LeaderValue, resignation: Resignation<S>) -> Self {
        let Resignation { driver, election, campaign } = &resignation;
        let leader = Leader::new(won, value, driver, election.clone(), *campaign);
        Self { leader, resignation }
    }

    /// A handle for the work under this leadership.
    #[must_use]
    pub fn leader(&self) -> Leader<S> {
        self.leader.clone()
    }

    /// Runs `work` as long as this node leads, and resigns after it. Work that must ask whether
    /// this node still leads takes a [`Leader`] with it:
    ///
    /// ```no_run
    /// # use tenure::{AtMostOne, Leadership, Loss};
    /// # async fn example(leadership: Leadership<AtMostOne>) -> Result<(), Loss> {
    /// let leader = leadership.leader();
    /// let work = async move {
    ///     while leader.is_current() {
    ///         // One act, with `leader.fence()`.
    ///         # tokio::task::yield_now().await;
    ///     }
    /// };
    /// leadership.run(work).await
    /// # }
    /// ```
    ///
    /// Work must be cancel safe. Work is dropped when the configured kill margin is left of the
    /// lease, so it must yield to the runtime more often than once per kill margin. The leadership
    /// is given up only after the work has ended or was dropped, so that no other leader begins
    /// during the work. The first lease is short, and may be no longer than the margin: if so, wait
    /// for [`settled`](Leader::settled) first.
    ///
    /// Dropping the future drops the work and then resigns. The same happens if the work panics.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, Loss> {
        let output = self.run_and_keep(work).await?;
        self.resign().await;
        Ok(output)
    }

    /// Runs work like [`run`](Self::run), but gives nothing up.
    pub(crate) async fn run_and_keep<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        let margin = self.resignation.driver.timing().kill_margin + TIMER_SLACK;
        self.run_while_leading(margin, work).await
    }

    /// Gives the leadership up at once, and waits until others know of the end, or until the lease
    /// would have ended. A second call only waits. If a verification promised that this node leads
    /// for longer (Nerio), others learn of the end only after that time.
    ///
    /// Dropping the future changes nothing: the leadership is given up all the same.
    pub async fn resign(&self) {
        self.lower();
        self.resignation.request();
        self.released(self.resignation.driver.timing().resignation_max).await;
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
        // Lower the claim first: dropping the resignation tells others of the end.
        self.leader.lower();
    }
}

impl<S: SafetyClass> fmt::Debug for Leadership<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership").field("leader", &self.leader).finish_non_exhaustive()
    }
}
