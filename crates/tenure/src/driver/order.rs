//! What handles ask of a driver, and what it tells them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{ElectionName, Loss, NodeName, Time, View, Waiting};
use tokio::sync::{oneshot, watch};

use crate::cell::ClaimCell;
use crate::error::{CampaignError, TransferError};
use crate::kind::Kind;

/// Names one campaign and what becomes of it, among all of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SeatId(u64);

impl SeatId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A request of a handle, about one election.
#[derive(Debug)]
pub enum Order<K: Kind> {
    /// Contend until elected or resigned: [`Seats::open`](super::Seats::open).
    Campaign {
        /// The election.
        election: ElectionName,
        /// Names the campaign.
        seat: SeatId,
        /// What others should know of the candidate when it leads. What is allowed is the
        /// protocol's affair; [`CampaignReply::refuse`] with
        /// [`CampaignError::Value`] or [`CampaignError::Refused`] what is not.
        value: String,
        /// The higher goes first among those who wait, where the protocol can do so.
        priority: u8,
        /// To be opened, or refused.
        reply: CampaignReply<K>,
    },
    /// Stop contending or leading: [`Seats::resign`](super::Seats::resign). May come late, and
    /// more than once.
    Resign {
        /// The election.
        election: ElectionName,
        /// The campaign that is given up, and no later one.
        seat: SeatId,
    },
    /// Hand over to this candidate if it waits: [`Seats::transfer`](super::Seats::transfer).
    Transfer {
        /// The election.
        election: ElectionName,
        /// The leadership that is to be handed over.
        seat: SeatId,
        /// The candidate.
        to: NodeName,
        /// Only find out whether it waits, and keep leading.
        probe: bool,
        /// [`TransferReply::refuse`] with [`TransferError::Unsupported`] where the protocol has
        /// no such thing.
        reply: TransferReply,
    },
    /// Follow who leads: [`Boards::observe`](super::Boards::observe).
    Observe {
        /// The election.
        election: ElectionName,
        /// How often to ask at least. A driver whose store tells of changes by itself has its
        /// own pace.
        every: Duration,
        /// Who wants to see it.
        reply: ObserveReply,
    },
    /// An observer has left: [`Boards::unobserve`](super::Boards::unobserve).
    Unobserve {
        /// The election.
        election: ElectionName,
    },
}

/// Whoever waits for a campaign to be won. Dropped, it says that the driver has ended.
pub struct CampaignReply<K: Kind> {
    won: oneshot::Sender<Result<Won<K>, CampaignError>>,
    waits: watch::Sender<Option<Waiting>>,
}

/// The side of [`CampaignReply`] that waits.
pub(crate) struct CampaignAnswer<K: Kind> {
    pub(crate) won: oneshot::Receiver<Result<Won<K>, CampaignError>>,
    pub(crate) waits: watch::Receiver<Option<Waiting>>,
}

impl<K: Kind> CampaignReply<K> {
    pub(crate) fn new() -> (Self, CampaignAnswer<K>) {
        let (won, taken) = oneshot::channel();
        let (waits, seen) = watch::channel(None);
        (Self { won, waits }, CampaignAnswer { won: taken, waits: seen })
    }

    /// The campaign will never be won.
    pub fn refuse(self, why: CampaignError) {
        // Nobody waits any more: nothing to tell.
        let _ = self.won.send(Err(why));
    }

    /// Whether somebody took it.
    pub(super) fn won(self, won: Won<K>) -> bool {
        self.won.send(Ok(won)).is_ok()
    }

    /// Says whether it is news.
    pub(super) fn waits(&self, waiting: Waiting) -> bool {
        say(&self.waits, waiting)
    }
}

/// Says what is waited for, and whether that is news.
pub(super) fn say(to: &watch::Sender<Option<Waiting>>, waiting: Waiting) -> bool {
    to.send_if_modified(|known| {
        let news = known.as_ref() != Some(&waiting);
        *known = Some(waiting);
        news
    })
}

/// Whoever waits for a hand-over. Dropped, it says that there is nothing to hand over any more.
pub struct TransferReply(oneshot::Sender<Result<(), TransferError>>);

impl TransferReply {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<(), TransferError>>) {
        let (reply, answer) = oneshot::channel();
        (Self(reply), answer)
    }

    /// It does not take place.
    pub fn refuse(self, why: TransferError) {
        self.answer(Err(why));
    }

    pub(super) fn answer(self, answer: Result<(), TransferError>) {
        let _ = self.0.send(answer);
    }
}

/// Whoever wants to see an election. Dropped, it says that the driver has ended.
pub struct ObserveReply(oneshot::Sender<watch::Receiver<Sight>>);

impl ObserveReply {
    pub(crate) fn new() -> (Self, oneshot::Receiver<watch::Receiver<Sight>>) {
        let (reply, answer) = oneshot::channel();
        (Self(reply), answer)
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_dropped(&self) -> bool {
        self.0.is_closed()
    }

    pub(super) fn show(self, sight: watch::Receiver<Sight>) {
        let _ = self.0.send(sight);
    }
}

/// What a driver knows of a leadership that was just won.
pub struct Elected<K: Kind> {
    /// What names this leader: the same as others are told by
    /// [`LeaderView::id`](crate::LeaderView::id).
    pub id: Arc<str>,
    /// The fence of the leadership; `()` where there is none.
    pub fence: K::Fence,
    /// What the protocol offers its leaders beyond the handle; [`extra`](super::extra) gives it
    /// back. `Arc::new(())` where that is nothing.
    pub extra: Arc<dyn Any + Send + Sync>,
}

/// A won election.
pub(crate) struct Won<K: Kind> {
    pub(crate) elected: Elected<K>,
    pub(crate) cell: Arc<ClaimCell>,
    pub(crate) progress: watch::Receiver<Progress>,
    /// What keeps others from knowing that it is over.
    pub(crate) waits: watch::Receiver<Option<Waiting>>,
}

/// How far a leadership has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// A lease of full length was obtained.
    pub(crate) settled: bool,
    /// Until when the claim holds, as last raised.
    pub(crate) until: Time,
    /// It is over.
    pub(crate) ended: Option<Loss>,
    /// Until when others are not told that it is over, because of a promise.
    pub(crate) held: Option<Time>,
    /// Others know that it is over, or the lease has run out.
    pub(crate) released: bool,
}

/// What an observer sees, with a number that grows with each change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    pub(crate) change: u64,
    pub(crate) view: Option<View>,
}

impl<K: Kind> fmt::Debug for CampaignReply<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CampaignReply")
    }
}

impl fmt::Debug for TransferReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransferReply")
    }
}

impl fmt::Debug for ObserveReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObserveReply")
    }
}

impl<K: Kind> fmt::Debug for Elected<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elected")
            .field("id", &self.id)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
