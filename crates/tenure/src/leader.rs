//! The leader: a handle that answers whether this node leads, and reports the end.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tenure_core::{ElectionName, Fence, LeaderValue, Loss, NodeName, Time, Waiting};

use crate::claim::SharedClaim;
use crate::clock;
use crate::error::TransferError;
use crate::overdue::Overdue;
use crate::request::{CampaignId, DriverHandle, Progress, Request, TransferReply, Victory};
use crate::safety::{AtMostOne, SafetyClass};

/// A handle on a won election, for the work under it. The handle computes at each question whether
/// this node still leads.
///
/// A clone is cheap and is the same leader: give one to every task that must ask before it acts.
/// Only the [`Leadership`](crate::Leadership) that makes the handle keeps this node in office.
/// Dropping a `Leader` gives nothing up, and holding a `Leader` does not keep the leadership. Once
/// the `Leadership` was dropped or resigned, [`is_current`](Self::is_current) is false in every
/// clone.
#[derive(Clone)]
pub struct Leader<C: SafetyClass> {
    // Outside the shared state, so that a question reaches the cell in one step.
    claim: SharedClaim,
    about: Arc<About<C>>,
}

struct About<C: SafetyClass> {
    election: ElectionName,
    campaign: CampaignId,
    driver: Weak<dyn DriverHandle<C>>,
    value: LeaderValue,
    won: Victory<C>,
}

impl<C: SafetyClass> Leader<C> {
    pub(crate) fn new(
        won: Victory<C>,
        value: LeaderValue,
        driver: &Arc<dyn DriverHandle<C>>,
        election: ElectionName,
        campaign: CampaignId,
    ) -> Self {
        let claim = SharedClaim::new(won.cell.clone(), won.process);
        let driver = Arc::downgrade(driver);
        Self { claim, about: Arc::new(About { election, campaign, driver, value, won }) }
    }

    /// Whether this node leads now: one clock read, then one atomic load, in that order. The answer
    /// is right at the moment of the question, even after a long pause.
    ///
    /// Ask in the process that won. A child made by `fork` without `exec` must not use its copy,
    /// which no driver lowers. The copy answers yes until the lease at the time of the `fork` is
    /// over, even after the parent has resigned. If another process watches this process, and ends
    /// this process's leases when this process ends, the copy always answers no.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.claim.is_current()
    }

    /// The time that is left of the leadership unless it is renewed, computed now; zero once it is
    /// over. `None` where the protocol gives leaderships no end.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let now = clock::now();
        Some(self.claim.until()?.since(now))
    }

    /// The first instant of `CLOCK_BOOTTIME` at which this node no longer leads, unless it renews;
    /// [`Time::ZERO`] once the leadership is over. `None` where the protocol gives leaderships no
    /// end.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        self.claim.until()
    }

    /// The id of this leader, which observers see as [`LeaderView::id`](crate::LeaderView::id).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.about.won.elected.id
    }

    /// The value of this leader, which observers see as
    /// [`LeaderView::value`](crate::LeaderView::value).
    #[must_use]
    pub fn value(&self) -> &LeaderValue {
        &self.about.value
    }

    /// The election that was won.
    #[must_use]
    pub fn election(&self) -> &ElectionName {
        &self.about.election
    }

    /// The fence of this leadership, for reports about leaders of any class: `None` where leaders
    /// may overlap.
    #[must_use]
    pub fn told_fence(&self) -> Option<Fence> {
        C::told(self.about.won.elected.fence)
    }

    /// The reason of the end, which is known a moment after [`is_current`](Self::is_current) has
    /// become false, or later if the lease ran out.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        let ended = self.about.won.progress.borrow().ended;
        let lapsed = || !self.is_current() && !self.is_lowered();
        ended.or_else(|| lapsed().then_some(Loss::Expired))
    }

    /// Resolves once a lease of full length was obtained, or fails if the leadership is over.
    /// Cancel safe. A full lease takes one round trip after the election. The first lease is short,
    /// so that a candidate that dies in the moment of its victory costs little.
    pub async fn settled(&self) -> Result<(), Loss> {
        match self.progress(|progress| progress.settled).await? {
            None => Ok(()),
            Some(loss) => Err(loss),
        }
    }

    /// Resolves with the new end once a renewal has moved the end beyond `known`, or fails once the
    /// leadership is over. Cancel safe. Use it to pass the end on to other processes. If the
    /// leadership has no end, the future can only fail.
    pub async fn renewed(&self, known: Option<Time>) -> Result<Option<Time>, Loss> {
        let known = known.unwrap_or(Time::MAX);
        loop {
            // Listen before the read of the claim, so that no renewal between the two is missed.
            let mut raised = pin!(self.about.won.signals.raised.notified());
            raised.as_mut().enable();
            let until = self.until();
            if until.unwrap_or(Time::MAX) > known {
                return Ok(until);
            }
            tokio::select! {
                biased;
                loss = self.ended() => return Err(loss),
                () = raised => {}
            }
        }
    }

    /// Resolves when the lease has no more than the configured grace left and no renewal has come:
    /// the time to shut down. Resolves at once if the leadership is over. Cancel safe.
    ///
    /// A renewal may still come after this warning. The warning depends on the caller's runtime;
    /// [`is_current`](Self::is_current) does not.
    pub async fn expiring(&self) {
        // Without its node the leadership is over.
        let Some(driver) = self.about.driver.upgrade() else { return };
        let grace = driver.timing().grace;
        drop(driver);
        tokio::select! {
            biased;
            _ = self.ended() => {}
            () = self.closer_than(grace) => {}
        }
    }

    /// Resolves with the reason once the leadership is over. Cancel safe.
    ///
    /// This depends on the caller's runtime: before each act ask [`is_current`](Self::is_current).
    pub async fn lost(&self) -> Loss {
        tokio::select! {
            biased;
            loss = self.ended() => loss,
            () = self.lapsed() => Loss::Expired,
        }
    }

    /// The instant of `CLOCK_BOOTTIME` until which a verification promised this leadership (Nerio).
    /// Others learn only after that instant that the leadership is over. `None` while the
    /// leadership lasts, and without a promise.
    #[must_use]
    pub fn held_until(&self) -> Option<Time> {
        self.about.won.progress.borrow().held
    }

    /// The reason why others do not know yet that the leadership is over: a promise, or grantors
    /// that have not confirmed the release (Nerio). `None` while the leadership lasts, and if no
    /// reason is known.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        let progress = self.about.won.progress.borrow();
        progress.waits.clone().filter(|_| !progress.released)
    }

    /// The reason why the lease is not renewed, while a renewal is overdue (Nerio); once the
    /// leadership is over, the last reason. `None` after a renewal.
    #[must_use]
    pub fn overdue(&self) -> Option<Overdue> {
        self.about.won.progress.borrow().overdue.as_deref().cloned()
    }

    /// Resolves when a renewal is overdue for another reason than `known`; never once the
    /// leadership is over. Cancel safe.
    pub async fn falls_overdue(&self, known: Option<&Overdue>) -> Overdue {
        let is_news = |progress: &Progress| {
            progress.overdue.is_some() && progress.overdue.as_deref() != known
        };
        if let Ok(None) = self.progress(is_news).await
            && let Some(overdue) = self.overdue()
        {
            return overdue;
        }
        std::future::pending().await
    }

    /// The reason why the lease came to its end at `end`, as a line for people: a renewal that is
    /// overdue, or else a pause of this process. `None` if the driver knows of neither. The driver
    /// knows of every pause once it has reported the end of the leadership.
    #[must_use]
    pub fn why_lapsed(&self, end: Time) -> Option<String> {
        self.about.won.progress.borrow().why_lapsed(end)
    }

    /// Hands over to the candidate `to`. Once `to` is known to wait, this leadership ends, and `to`
    /// comes first. After an error the leadership is as before. Dropping the future does not cancel
    /// the hand-over. Only some protocols can hand over (Nerio).
    ///
    /// When this returns, this node does not lead any more. So end the work under the leadership
    /// before the call, even if the work itself makes the call. The successor leads a round trip
    /// later. If [`held_until`](Self::held_until) shows a promise, the successor leads only after
    /// that instant; [`Leadership::resign`](crate::Leadership::resign) waits for it.
    pub async fn transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, false).await
    }

    /// Resolves if the candidate `to` is known to wait, so that a hand-over to it can begin. Cancel
    /// safe. Ask this before you stop work for a hand-over.
    pub async fn can_transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, true).await
    }

    async fn transfer(&self, to: NodeName, probe: bool) -> Result<(), TransferError> {
        let (reply, answer) = TransferReply::new();
        let About { election, campaign, driver, .. } = &*self.about;
        let election = election.clone();
        let campaign = *campaign;
        let driver = driver.upgrade().ok_or(TransferError::NotLeading)?;
        driver.request(Request::Transfer { election, campaign, to, probe, reply });
        drop(driver);
        answer.await.unwrap_or(Err(TransferError::NotLeading))
    }

    pub(crate) fn extra(&self) -> Arc<dyn Any + Send + Sync> {
        self.about.won.elected.extra.clone()
    }

    /// Lowers the claim in every clone, before others learn of the end.
    pub(crate) fn lower(&self) {
        self.claim.lower();
    }

    /// Waits until others know of the end, for `longest` at most.
    pub(crate) async fn released(&self, longest: Duration) {
        // Do not wait on `progress`: the end of the leadership changes it at once, and would wake
        // the caller. Candidates that wait for the release need the processor at that moment. The
        // driver closes the semaphore at the release, and when the driver itself ends.
        let released = self.about.won.signals.released.acquire();
        let _ = tokio::time::timeout(longest, released).await;
    }

    /// Does `work` while this node leads and more than `margin` is left. When this returns or is
    /// dropped, the work has been dropped.
    pub(crate) async fn run_while_leading<F: Future>(
        &self,
        margin: Duration,
        work: F,
    ) -> Result<F::Output, Loss> {
        let outcome = {
            // The work is dropped at the end of this block, before anything is given up.
            let mut work = Box::pin(work);
            tokio::select! {
                biased;
                _ = self.ended() => None,
                () = self.closer_than(margin) => None,
                output = &mut work => Some(output),
            }
        };
        match outcome {
            Some(output) => Ok(output),
            // Too little of the lease is left.
            None if self.is_current() => Err(Loss::Expired),
            None => Err(self.lost().await),
        }
    }

    /// Waits until the progress of the leadership is `enough`, or the leadership is over. Returns
    /// the end, if any.
    async fn progress(&self, enough: impl Fn(&Progress) -> bool) -> Result<Option<Loss>, Loss> {
        let mut progress = self.about.won.progress.clone();
        let waited = progress.wait_for(|progress| progress.ended.is_some() || enough(progress));
        // An error means that the driver has ended.
        waited.await.map(|progress| progress.ended).map_err(|_| Loss::Closed)
    }

    async fn ended(&self) -> Loss {
        let ended = self.progress(|_| false).await;
        ended.map_or_else(|loss| loss, |ended| ended.unwrap_or(Loss::Expired))
    }

    /// Whether the claim was lowered: the driver then reports the reason soon.
    fn is_lowered(&self) -> bool {
        self.claim.until() == Some(Time::ZERO)
    }

    async fn lapsed(&self) {
        self.closer_than(Duration::ZERO).await;
        if self.is_lowered() {
            std::future::pending().await
        }
    }

    /// Resolves when at most `margin` is left; never if the leadership has no end.
    async fn closer_than(&self, margin: Duration) {
        loop {
            let Some(remaining) = self.remaining() else { return std::future::pending().await };
            if remaining <= margin {
                return;
            }
            tokio::time::sleep(remaining - margin).await;
        }
    }
}

impl Leader<AtMostOne> {
    /// The fence of this leadership, greater than the fence of every earlier leadership of this
    /// election. Let a resource check it, with a [`FenceGate`](crate::FenceGate).
    ///
    /// ```
    /// fn guard(leader: &tenure::Leader<tenure::AtMostOne>) -> u64 {
    ///     leader.fence().number()
    /// }
    /// ```
    ///
    /// Leaders that may overlap have no fence, so that no caller takes another number for a fence:
    ///
    /// ```compile_fail,E0599
    /// fn guard(leader: &tenure::Leader<tenure::MayOverlap>) -> u64 {
    ///     leader.fence().number()
    /// }
    /// ```
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.about.won.elected.fence
    }
}

impl<C: SafetyClass> fmt::Debug for Leader<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leader")
            .field("election", &self.about.election)
            .field("id", &self.about.won.elected.id)
            .field("fence", &self.about.won.elected.fence)
            .finish_non_exhaustive()
    }
}
