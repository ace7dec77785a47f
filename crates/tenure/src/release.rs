//! The end of a leadership: after its work, and before the next leader.

use std::future::Future;
use std::time::Duration;

use tenure_core::Loss;

use crate::leader::Leader;
use crate::leadership::Leadership;
use crate::safety::SafetyClass;

/// Most delay of a runtime's timer; work is ended this much earlier.
const TIMER_SLACK: Duration = Duration::from_millis(2);

impl<C: SafetyClass> Leadership<C> {
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
    /// The work is dropped before the lease ends, by the configured kill margin: it must be cancel
    /// safe, and must give way to the runtime more often than that. The leadership is given up only
    /// after the work has ended or was dropped, so that no other leader begins before. Where the
    /// first lease, which is short, may be no longer than the margin, wait for
    /// [`settled`](Leader::settled) before.
    ///
    /// Dropping the future drops the work and then resigns; so does work that panics.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, Loss> {
        let output = self.hold(work).await?;
        self.resign().await;
        Ok(output)
    }

    /// Runs work like [`run`](Self::run), but gives nothing up.
    pub(crate) async fn hold<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        let margin = self.resignation.driver.timing().kill_margin + TIMER_SLACK;
        Leader::hold(self, margin, work).await
    }

    /// Gives the leadership up at once, and waits until others know or the lease would have ended.
    /// A repetition does nothing. If a verification promised that this node leads for longer
    /// (Nerio), others learn of the end only after that.
    ///
    /// Dropping the future changes nothing: the leadership is given up all the same.
    pub async fn resign(&self) {
        self.lower();
        self.resignation.request();
        self.released(self.resignation.driver.timing().resignation_max).await;
    }
}
