//! Being the leader: to know it, to prove it, to use it and to give it up.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ElectionName, Fence, Loss, NodeName, Time, Waiting};
use tokio::sync::watch;

use crate::claim::SharedClaim;
use crate::clock;
use crate::driver::{Elected, Office, Order, Progress, SeatId, TransferReply, Won};
use crate::error::TransferError;
use crate::kind::{AtMostOne, Kind};

/// How far a timer of the runtime may be behind; work is ended this much earlier.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// A won election. Whether it still holds is computed at each question.
///
/// Dropping it resigns: [`is_current`](Self::is_current) is false from that instant, and others
/// are told in the background. Whatever is done under a leadership should be done by
/// [`run`](Self::run), or end before it is dropped.
pub struct Leadership<K: Kind> {
    claim: SharedClaim,
    elected: Elected<K>,
    progress: watch::Receiver<Progress>,
    waits: watch::Receiver<Option<Waiting>>,
    resignation: Resignation<K>,
}

/// Gives a candidacy or a leadership up when dropped.
pub(crate) struct Resignation<K: Kind> {
    office: Arc<dyn Office<K>>,
    election: ElectionName,
    seat: SeatId,
}

impl<K: Kind> Resignation<K> {
    pub(crate) fn new(office: Arc<dyn Office<K>>, election: ElectionName, seat: SeatId) -> Self {
        Self { office, election, seat }
    }

    fn order(&self) {
        let (election, seat) = (self.election.clone(), self.seat);
        self.office.order(Order::Resign { election, seat });
    }
}

impl<K: Kind> Drop for Resignation<K> {
    fn drop(&mut self) {
        self.order();
    }
}

impl<K: Kind> Leadership<K> {
    pub(crate) fn new(won: Won<K>, resignation: Resignation<K>) -> Self {
        let Won { elected, cell, progress, waits } = won;
        Self { claim: SharedClaim::new(cell), elected, progress, waits, resignation }
    }

    /// Whether this node leads now. One clock read, then one atomic load, in that order: right
    /// even after a long pause, up to the moment of the question.
    ///
    /// Ask it in the process that won. A child made by `fork` without `exec` has a copy that
    /// nobody lowers: it goes on saying yes until the lease it had at the `fork` is over, also
    /// after its parent has resigned, and it must not be used there.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.claim.is_current()
    }

    /// How much longer this node leads unless it renews; zero once it is over. Read now.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let now = clock::now();
        self.claim.until().since(now)
    }

    /// The first instant of `CLOCK_BOOTTIME` at which this node no longer leads, unless it
    /// renews; [`Time::ZERO`] once it is over.
    #[must_use]
    pub fn until(&self) -> Time {
        self.claim.until()
    }

    /// What names this leader: what observers are told as
    /// [`LeaderView::id`](crate::LeaderView::id).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.elected.id
    }

    /// The election that was won.
    #[must_use]
    pub fn election(&self) -> &ElectionName {
        &self.resignation.election
    }

    /// Why it is over, once that is known: a moment after [`is_current`](Self::is_current) has
    /// become false, unless the lease ran out.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        let ended = self.progress.borrow().ended;
        let lapsed = || !self.is_current() && !self.is_lowered();
        ended.or_else(|| lapsed().then_some(Loss::Expired))
    }

    /// Resolves once a lease of full length was obtained, one round trip after the election;
    /// the first one is short, so that a candidate that dies in the moment it wins costs little.
    /// Fails if the leadership is over before. Cancel safe.
    pub async fn settled(&self) -> Result<(), Loss> {
        let mut progress = self.progress.clone();
        let settled = progress.wait_for(|progress| progress.settled || progress.ended.is_some());
        match settled.await.map(|progress| *progress) {
            Ok(Progress { ended: None, .. }) => Ok(()),
            Ok(Progress { ended: Some(loss), .. }) => Err(loss),
            Err(_) => Err(Loss::Closed),
        }
    }

    /// Resolves with the new end when the lease was renewed to later than `known`, or fails when
    /// the leadership is over. For whoever hands the end on to others. Cancel safe.
    pub async fn renewed(&self, known: Time) -> Result<Time, Loss> {
        let mut progress = self.progress.clone();
        let renewed = progress.wait_for(|p| p.ended.is_some() || p.until > known);
        match renewed.await.map(|progress| *progress) {
            Ok(Progress { ended: Some(loss), .. }) => Err(loss),
            Ok(Progress { until, .. }) => Ok(until),
            Err(_) => Err(Loss::Closed),
        }
    }

    /// Resolves when no more than the configured grace is left of the lease and no renewal has
    /// come: the time to wind up. Resolves at once when the leadership is over. Cancel safe.
    ///
    /// A warning, not the end: a renewal may still come. It depends on the caller's runtime;
    /// [`is_current`](Self::is_current) does not.
    pub async fn expiring(&self) {
        self.closer_than(self.resignation.office.timing().grace).await;
    }

    /// Resolves when the leadership is over, with the reason. Cancel safe.
    ///
    /// Depends on the caller's runtime; before each act ask [`is_current`](Self::is_current).
    pub async fn lost(&self) -> Loss {
        let mut progress = self.progress.clone();
        let ended = async {
            match progress.wait_for(|progress| progress.ended.is_some()).await {
                Ok(progress) => progress.ended.unwrap_or(Loss::Expired),
                Err(_) => Loss::Closed,
            }
        };
        tokio::select! {
            biased;
            loss = ended => loss,
            () = self.lapsed() => Loss::Expired,
        }
    }

    /// Runs `work` as long as this node leads, and resigns after it.
    ///
    /// The work is dropped before the lease ends, by the configured kill margin: it must be
    /// cancel safe, and must give way to the runtime more often than that. The leadership is
    /// given up only after the work has ended or was dropped, so that nobody else begins before.
    /// Dropping the future drops the work and then resigns.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, Loss> {
        let margin = self.resignation.office.timing().kill_margin + TIMER_SLACK;
        let outcome = {
            // Dropped at the end of this block, before anything is given up.
            let mut work = Box::pin(work);
            let mut progress = self.progress.clone();
            tokio::select! {
                biased;
                _ = progress.wait_for(|progress| progress.ended.is_some()) => None,
                () = self.closer_than(margin) => None,
                output = &mut work => Some(output),
            }
        };
        match outcome {
            Some(output) => {
                self.resign().await;
                Ok(output)
            }
            // Too little is left.
            None if self.is_current() => Err(Loss::Expired),
            None => Err(self.lost().await),
        }
    }

    /// Gives the leadership up, and waits until others know or the lease would have ended.
    /// Repeating it does nothing. If a verification promised that this node leads for longer
    /// (Nerio), others are told only when that has run out.
    ///
    /// Dropping the future changes nothing: it is given up all the same.
    pub async fn resign(&self) {
        self.resignation.order();
        self.released().await;
    }

    /// Until when others are not told that this leadership is over, because a verification
    /// promised that it lasts until then (Nerio); `None` while it lasts, and when nothing holds it
    /// up. On `CLOCK_BOOTTIME`.
    #[must_use]
    pub fn held_until(&self) -> Option<Time> {
        self.progress.borrow().held
    }

    /// What keeps others from knowing that it is over, once it was given up: a promise, or
    /// grantors that have not confirmed it (Nerio). `None` while it lasts, and if nothing is known
    /// to hold it up.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        let gives_up = !self.progress.borrow().released;
        self.waits.borrow().clone().filter(|_| gives_up)
    }

    /// Waits until others know that it is over, or the lease would have ended.
    async fn released(&self) {
        let mut progress = self.progress.clone();
        let longest = self.resignation.office.timing().resignation_max;
        let released = progress.wait_for(|progress| progress.released);
        // An error means that the driver has ended, and then it was given up too.
        let _ = tokio::time::timeout(longest, released).await;
    }

    /// Hands over to the candidate called `to`: once it is known to wait, the leadership ends,
    /// and it goes first. An error leaves the leadership as it was. Dropping the future does not
    /// call it back. Only some protocols can do this (Nerio).
    ///
    /// When this returns, this node does not lead any more. The other one leads a round trip
    /// later, unless [`held_until`](Self::held_until) says that a promise must run out before;
    /// [`resign`](Self::resign) waits for it.
    pub async fn transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, false).await
    }

    /// Whether the candidate called `to` is known to wait, so that a transfer to it can begin:
    /// for work that has to be stopped first. Cancel safe.
    pub async fn can_transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, true).await
    }

    async fn transfer(&self, to: NodeName, probe: bool) -> Result<(), TransferError> {
        let (reply, answer) = TransferReply::new();
        let Resignation { office, election, seat } = &self.resignation;
        let (election, seat) = (election.clone(), *seat);
        office.order(Order::Transfer { election, seat, to, probe, reply });
        answer.await.unwrap_or(Err(TransferError::NotLeading))
    }

    pub(crate) fn claim(&self) -> &SharedClaim {
        &self.claim
    }

    pub(crate) fn extra(&self) -> Arc<dyn Any + Send + Sync> {
        self.elected.extra.clone()
    }

    /// Whether the driver has ended it: it says why right after that.
    fn is_lowered(&self) -> bool {
        self.claim.until() == Time::ZERO
    }

    /// Resolves when it has run out by itself.
    async fn lapsed(&self) {
        self.closer_than(Duration::ZERO).await;
        if self.is_lowered() {
            std::future::pending().await
        }
    }

    /// Resolves when at most `margin` is left.
    async fn closer_than(&self, margin: Duration) {
        loop {
            let remaining = self.remaining();
            if remaining <= margin {
                return;
            }
            tokio::time::sleep(remaining - margin).await;
        }
    }
}

impl Leadership<AtMostOne> {
    /// The fence of this leadership: greater than that of every leadership of this election
    /// before it. Whoever guards a resource should check it, with a
    /// [`FenceGate`](crate::FenceGate).
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.elected.fence
    }
}

impl<K: Kind> Drop for Leadership<K> {
    fn drop(&mut self) {
        // Before the resignation is dropped, and so before anybody is told.
        self.claim.lower();
    }
}

impl<K: Kind> fmt::Debug for Leadership<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("election", &self.resignation.election)
            .field("id", &self.elected.id)
            .field("fence", &self.elected.fence)
            .finish_non_exhaustive()
    }
}
