//! Requests of handles to a driver, and its answers.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{ElectionName, Loss, NodeName, Time, View, Waiting};
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use crate::cell::ClaimCell;
use crate::clock;
use crate::error::{CampaignError, TransferError};
use crate::overdue::{Overdue, Pause};
use crate::safety::SafetyClass;

/// A driver, as its handles see it.
pub trait DriverHandle<C: SafetyClass>: Send + Sync + 'static {
    /// Passes a request on to the driver's loop, in the order of the calls. Must not block:
    /// destructors call it, too. After the end of the loop the request is dropped; a sender that
    /// waits for an answer notices that.
    fn request(&self, request: Request<C>);

    /// The times that handles need. Handles ask at each use, so the times may change.
    fn timing(&self) -> Timing;
}

/// The times that a handle needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Rest of the lease at which [`Leader::expiring`](crate::Leader::expiring) resolves.
    pub grace: Duration,
    /// Rest of the lease at which [`Leadership::run`](crate::Leadership::run) drops its work.
    pub kill_margin: Duration,
    /// Longest wait of [`Leadership::resign`](crate::Leadership::resign) until others know of the
    /// end.
    pub resignation_max: Duration,
}

/// The number of a campaign and its leadership, unique in the process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CampaignId(u64);

impl CampaignId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A request of a handle, about one election.
#[derive(Debug)]
pub enum Request<C: SafetyClass> {
    /// Campaign until elected or resigned: [`Campaigns::open`](crate::driver::Campaigns::open).
    Campaign {
        election: ElectionName,
        campaign: CampaignId,
        /// The value that others see while the candidate leads. The protocol decides which values
        /// are allowed: refuse others by [`CampaignReply::refuse`] with [`CampaignError::Value`] or
        /// [`CampaignError::Refused`].
        value: String,
        /// Rank among waiting candidates, the highest first, where the protocol has priorities.
        priority: u8,
        reply: CampaignReply<C>,
    },
    /// Stop campaigning or leading: [`Campaigns::resign`](crate::driver::Campaigns::resign). The
    /// request may come late, and more than once.
    Resign {
        election: ElectionName,
        /// The campaign to give up; a later campaign goes on.
        campaign: CampaignId,
    },
    /// Hand over to this candidate if it waits:
    /// [`Campaigns::transfer`](crate::driver::Campaigns::transfer).
    Transfer {
        election: ElectionName,
        /// The leadership to hand over.
        campaign: CampaignId,
        to: NodeName,
        /// Report whether the candidate waits, and keep leading.
        probe: bool,
        /// The reply. Without a hand-over in the protocol, use [`TransferReply::refuse`] with
        /// [`TransferError::Unsupported`].
        reply: TransferReply,
    },
    /// Follow the leader: [`Subscriptions::observe`](crate::driver::Subscriptions::observe).
    Observe {
        election: ElectionName,
        /// The longest interval between queries. A driver whose store reports changes may choose
        /// its own.
        every: Duration,
        /// Whether the first view must be read after this request, where the protocol can do that.
        afresh: bool,
        reply: ObserveReply,
    },
    /// An observer has left: [`Subscriptions::unobserve`](crate::driver::Subscriptions::unobserve).
    Unobserve { election: ElectionName },
}

/// The reply to a campaigning handle. A dropped reply means that the driver has ended.
#[derive(Debug)]
pub struct CampaignReply<C: SafetyClass> {
    won: oneshot::Sender<Result<Victory<C>, CampaignError>>,
    waits: watch::Sender<Option<Waiting>>,
}

pub(crate) struct CampaignAnswer<C: SafetyClass> {
    pub(crate) won: oneshot::Receiver<Result<Victory<C>, CampaignError>>,
    pub(crate) waits: watch::Receiver<Option<Waiting>>,
}

impl<C: SafetyClass> CampaignReply<C> {
    pub(crate) fn new() -> (Self, CampaignAnswer<C>) {
        let (won, taken) = oneshot::channel();
        let (waits, seen) = watch::channel(None);
        (Self { won, waits }, CampaignAnswer { won: taken, waits: seen })
    }

    /// Reports that the campaign will never be won.
    pub fn refuse(self, why: CampaignError) {
        // The send fails if no caller waits any more; ignore that.
        let _ = self.won.send(Err(why));
    }

    pub(crate) fn won(self, won: Victory<C>) -> bool {
        self.won.send(Ok(won)).is_ok()
    }

    pub(crate) fn waits(&self, waiting: Waiting) -> bool {
        self.waits.send_if_modified(|known| keep(known, waiting))
    }
}

/// Keeps a reason for waiting; true if the reason is new.
pub(crate) fn keep(known: &mut Option<Waiting>, waiting: Waiting) -> bool {
    let changed = known.as_ref() != Some(&waiting);
    *known = Some(waiting);
    changed
}

/// The reply to a handle that hands over. A dropped reply means that there is nothing to hand over.
#[derive(Debug)]
pub struct TransferReply(oneshot::Sender<Result<(), TransferError>>);

impl TransferReply {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<(), TransferError>>) {
        let (reply, answer) = oneshot::channel();
        (Self(reply), answer)
    }

    /// Refuses the hand-over.
    pub fn refuse(self, why: TransferError) {
        self.answer(Err(why));
    }

    pub(crate) fn answer(self, answer: Result<(), TransferError>) {
        let _ = self.0.send(answer);
    }
}

/// The reply to an observing handle. A dropped reply means that the driver has ended.
#[derive(Debug)]
pub struct ObserveReply(oneshot::Sender<watch::Receiver<VersionedView>>);

impl ObserveReply {
    pub(crate) fn new() -> (Self, oneshot::Receiver<watch::Receiver<VersionedView>>) {
        let (reply, answer) = oneshot::channel();
        (Self(reply), answer)
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.0.is_closed()
    }

    pub(crate) fn show(self, latest: watch::Receiver<VersionedView>) {
        let _ = self.0.send(latest);
    }
}

/// A leadership that was just won, as the driver reports it.
#[derive(Debug)]
pub struct Elected<C: SafetyClass> {
    /// Id of this leader, which others see as [`LeaderView::id`](crate::LeaderView::id).
    pub id: Arc<str>,
    /// `()` where the protocol has no fences.
    pub fence: C::Fence,
    /// The protocol's own object for its leaders, which [`extra`](crate::driver::extra) returns;
    /// `Arc::new(())` if the protocol has no such object.
    pub extra: Arc<dyn Any + Send + Sync>,
}

#[derive(Debug)]
pub(crate) struct Victory<C: SafetyClass> {
    pub(crate) elected: Elected<C>,
    pub(crate) cell: Arc<ClaimCell>,
    /// Id of the only process whose handles may lead; `None` if handles in forked children may
    /// lead, too.
    pub(crate) process: Option<u32>,
    pub(crate) progress: watch::Receiver<Progress>,
    pub(crate) signals: Arc<Signals>,
}

/// Changes of a leadership that wake only the callers that wait for them. A change of [`Progress`]
/// wakes all of its listeners.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Wakes callers of `Leader::renewed` at each renewal.
    pub(crate) raised: Notify,
    /// Has no permits; closed once others know of the end, or the driver has ended.
    pub(crate) released: Semaphore,
}

impl Default for Signals {
    fn default() -> Self {
        Self { raised: Notify::new(), released: Semaphore::new(0) }
    }
}

/// The progress of a leadership, in one channel: each channel takes about 400 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) settled: bool,
    pub(crate) ended: Option<Loss>,
    /// The reason why the lease is not renewed; stays at the end of the leadership.
    pub(crate) overdue: Option<Box<Overdue>>,
    /// The last pause of this process.
    pub(crate) pause: Option<Pause>,
    /// The time before which others do not learn of the end, because of a promise.
    pub(crate) held: Option<Time>,
    /// The reason why others do not know yet that the leadership is over.
    pub(crate) waits: Option<Waiting>,
    /// Whether others know of the end, or the lease has run out.
    pub(crate) released: bool,
}

impl Progress {
    /// The reason why the lease came to its end at `end`, as a line for people.
    pub(crate) fn why_lapsed(&self, end: Time) -> Option<String> {
        match &self.overdue {
            Some(overdue) => Some(overdue.told(clock::now()).to_string()),
            None => self.pause.filter(|pause| pause.explains(end)).map(|pause| pause.to_string()),
        }
    }
}

/// A view, with a number that grows with each change.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionedView {
    pub(crate) version: u64,
    pub(crate) view: Option<View>,
}
