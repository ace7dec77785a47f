//! Being the leader: to know it, to prove it, to use it and to give it up.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::nerio::{EdictTimestamp, QuorumTimestamp, Who};
use tenure_core::{ElectionName, Fence, NodeName, Time};
use tokio::sync::{oneshot, watch};

use crate::cell::ClaimCell;
use crate::clock;
use crate::error::{Loss, NotLeading, TransferError};
use crate::kind::{AtMostOne, Kind};
use crate::nerio::{Node, Order, Progress, SeatId, Won};

/// How far a timer of the runtime may be behind; work is ended this much earlier.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// A won election. Whether it still holds is computed at each question.
///
/// Dropping it resigns: [`is_current`](Self::is_current) is false from that instant, and the
/// grantors are told in the background. Whatever is done under a leadership should be done by
/// [`run`](Self::run), or end before it is dropped.
pub struct Leadership<K> {
    cell: Arc<ClaimCell>,
    who: Who,
    fence: Fence,
    timestamp: QuorumTimestamp,
    edicts: AtomicU64,
    progress: watch::Receiver<Progress>,
    resignation: Resignation,
    kind: PhantomData<fn() -> K>,
}

/// Gives a candidacy or a leadership up when dropped.
pub(crate) struct Resignation {
    node: Node,
    election: ElectionName,
    seat: SeatId,
    armed: bool,
}

impl Resignation {
    pub(crate) fn new(node: Node, election: ElectionName, seat: SeatId) -> Self {
        Self { node, election, seat, armed: true }
    }

    /// There is nothing to give up.
    pub(crate) fn defuse(mut self) {
        self.armed = false;
    }

    fn order(&self) {
        let (election, seat) = (self.election.clone(), self.seat);
        self.node.order(Order::Resign { election, seat });
    }
}

impl Drop for Resignation {
    fn drop(&mut self) {
        if self.armed {
            self.order();
        }
    }
}

impl<K: Kind> Leadership<K> {
    pub(crate) fn new(won: Won, resignation: Resignation) -> Self {
        let Won { who, cell, fence, timestamp, progress } = won;
        let edicts = AtomicU64::new(0);
        Self { cell, who, fence, timestamp, edicts, progress, resignation, kind: PhantomData }
    }

    /// Whether this node leads now. One clock read, then one atomic load, in that order: right
    /// even after a long pause, up to the moment of the question.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        let now = clock::now().as_nanos();
        now < self.cell.until()
    }

    /// How much longer this node leads unless it renews; zero once it is over. Read now.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let now = clock::now();
        Time::from_nanos(self.cell.until()).since(now)
    }

    /// The first instant of `CLOCK_BOOTTIME` at which this node no longer leads, unless it
    /// renews; [`Time::ZERO`] once it is over.
    #[must_use]
    pub fn until(&self) -> Time {
        Time::from_nanos(self.cell.until())
    }

    /// Which life of which node leads.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// The election that was won.
    #[must_use]
    pub fn election(&self) -> &ElectionName {
        &self.resignation.election
    }

    /// Why it is over, once it is.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        let ended = self.progress.borrow().ended;
        match ended {
            None if !self.is_current() => Some(Loss::Expired),
            ended => ended,
        }
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
        self.closer_than(self.resignation.node.config().grace).await;
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
            () = self.closer_than(Duration::ZERO) => self.loss().unwrap_or(Loss::Expired),
        }
    }

    /// Runs `work` as long as this node leads, and resigns after it.
    ///
    /// The work is dropped before the lease ends, by the configured kill margin: it must be
    /// cancel safe, and must give way to the runtime more often than that. The leadership is
    /// given up only after the work has ended or was dropped, so that nobody else begins before.
    /// Dropping the future drops the work and then resigns.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, Loss> {
        let margin = self.resignation.node.config().kill_margin + TIMER_SLACK;
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
            None => Err(self.loss().unwrap_or(Loss::Expired)),
        }
    }

    /// Gives the leadership up, and waits until a quorum of grantors knows or the lease would
    /// have ended. Repeating it does nothing. If a verification promised that this node leads
    /// for longer, others are told only when that has run out.
    ///
    /// Dropping the future changes nothing: it is given up all the same.
    pub async fn resign(&self) {
        self.resignation.order();
        let mut progress = self.progress.clone();
        let config = self.resignation.node.config();
        let longest = config.drift.stretch(config.lease) + config.lease_first();
        let released = progress.wait_for(|progress| progress.released);
        // An error means that the node is closed, and then it was given up too.
        let _ = tokio::time::timeout(longest, released).await;
    }

    /// Hands over to the candidate called `to`: once a quorum of grantors knows it as waiting,
    /// the leadership ends, and its request is handled first. An error leaves the leadership
    /// as it was. Dropping the future does not call it back.
    pub async fn transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, false).await
    }

    /// Whether a quorum of grantors knows the candidate called `to` as waiting, so that a
    /// transfer to it can begin: for work that has to be stopped first. Cancel safe.
    pub async fn can_transfer_to(&self, to: NodeName) -> Result<(), TransferError> {
        self.transfer(to, true).await
    }

    async fn transfer(&self, to: NodeName, probe: bool) -> Result<(), TransferError> {
        let (reply, answer) = oneshot::channel();
        let Resignation { node, election, seat, .. } = &self.resignation;
        let (election, seat) = (election.clone(), *seat);
        node.order(Order::Transfer { election, seat, to, probe, reply });
        answer.await.unwrap_or(Err(TransferError::NotLeading))
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
        self.fence
    }

    /// Creates an edict (Nerio, section 7): samples the clock last and checks that this node
    /// still leads then. Edicts are ordered by their timestamps as they were created in real
    /// time, across leaders too; a recipient checks with an [`EdictGate`](crate::EdictGate).
    ///
    /// Check [`is_current`](Self::is_current) once more before sending.
    pub fn edict(&self) -> Result<EdictTimestamp, NotLeading> {
        let counter = self.edicts.fetch_add(1, Ordering::Relaxed);
        let edict = EdictTimestamp { epoch: 0, quorum: self.timestamp.clone(), counter };
        if self.is_current() { Ok(edict) } else { Err(NotLeading) }
    }

    /// The quorum timestamp of this leadership.
    #[must_use]
    pub fn timestamp(&self) -> &QuorumTimestamp {
        &self.timestamp
    }
}

impl<K> Drop for Leadership<K> {
    fn drop(&mut self) {
        // Before the resignation is dropped, and so before anybody is told.
        self.cell.lower();
    }
}

impl<K> fmt::Debug for Leadership<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("election", &self.resignation.election)
            .field("who", &self.who)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
