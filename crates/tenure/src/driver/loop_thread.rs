//! The thread of a node's loop, and the connection of handles to the loop. The connection can still
//! be asked after the loop has ended.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;

use tenure_core::ElectionName;
use tenure_core::contract::Words;
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::backend::{Backend, WordsOf};
use super::run::Loop;
use crate::election::Election;
use crate::error::SystemError;
use crate::request::{DriverHandle, Request, Timing};
use crate::safety::SafetyClass;

/// Notices that a slow listener may leave unread. Older notices are lost, and the listener learns
/// that.
const NOTICES: usize = 256;

pub(super) enum Call<C: SafetyClass, A> {
    Handle(Request<C>),
    Node(A),
    Close(oneshot::Sender<()>),
}

/// 128 random bits: the only randomness of a node, drawn at its start.
pub fn random() -> Result<u128, SystemError> {
    let refused =
        |error| SystemError { doing: "drawing random numbers", source: io::Error::other(error) };
    crate::entropy::number().map_err(refused)
}

/// 64 random bits, from which a core derives its draws.
pub fn seed() -> Result<u64, SystemError> {
    Ok(u64::try_from(random()? >> 64).unwrap_or(0))
}

/// The connection of a node and all its handles to a running loop. When the last owner drops it,
/// the loop gives everything up and ends.
pub struct Hold<C: SafetyClass, A> {
    asked: mpsc::UnboundedSender<Call<C, A>>,
    timing: Box<dyn Fn() -> Timing + Send + Sync>,
}

impl<C: SafetyClass, A: Send + 'static> DriverHandle<C> for Hold<C, A> {
    fn request(&self, request: Request<C>) {
        let _ = self.asked.send(Call::Handle(request));
    }

    fn timing(&self) -> Timing {
        (self.timing)()
    }
}

/// The backend, its core, and the input with which the core starts.
pub type LoopParts<B> = (B, <B as Backend>::Core, <WordsOf<B> as Words>::Start);

/// The hold of a node that drives `B`.
pub type HoldOf<B> = Arc<Hold<<B as Backend>::Class, <B as Backend>::Ask>>;

/// Starts the loop on its own thread, so that an application that blocks cannot starve a renewal.
/// `begin` makes the backend, in the runtime of the loop; `timing` answers
/// [`DriverHandle::timing`].
pub fn spawn<B: Backend>(
    begin: impl FnOnce() -> LoopParts<B>,
    timing: impl Fn() -> Timing + Send + Sync + 'static,
) -> Result<HoldOf<B>, SystemError> {
    let refused = |doing| move |source| SystemError { doing, source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(refused("making a runtime"))?;
    let (asked, taken) = mpsc::unbounded_channel();
    let (give, take) = std::sync::mpsc::channel::<(Runtime, Loop<B>)>();
    let begun = {
        let _entered = runtime.enter();
        let thread = thread::Builder::new().name(B::THREAD.to_owned());
        let work = move || {
            take.recv().into_iter().for_each(|(runtime, work)| {
                runtime.block_on(work.run());
            })
        };
        thread.spawn(work).map_err(refused("starting a thread")).and_then(|_| {
            let (backend, core, start) = begin();
            Loop::new(backend, core, start, taken).map_err(refused("making a timer"))
        })
    };
    match begun {
        // The thread waits for its work on this channel.
        Ok(work) => drop(give.send((runtime, work))),
        Err(error) => {
            // The caller may be in another runtime, where dropping this runtime would panic.
            runtime.shutdown_background();
            return Err(error);
        }
    }
    Ok(Arc::new(Hold { asked, timing: Box::new(timing) }))
}

impl<C: SafetyClass, A: Send + 'static> Hold<C, A> {
    /// The handle of an election.
    #[must_use]
    pub fn election(self: &Arc<Self>, name: ElectionName) -> Election<C> {
        Election::new(self.clone(), name)
    }

    /// Passes a request of the node on; `false` if the loop has ended.
    pub fn tell(&self, ask: A) -> bool {
        self.asked.send(Call::Node(ask)).is_ok()
    }

    /// Sends a request to the loop and returns its answer; `None` once the loop has ended. Cancel
    /// safe.
    pub async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> A) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(ask(reply));
        answer.await.ok()
    }

    /// Gives everything up, and waits until others know of the end, but no longer than
    /// [`Backend::farewell`]. Dropping the future does not stop the closing.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        let _ = self.asked.send(Call::Close(done));
        let _ = closed.await;
    }

    /// Whether the loop has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.asked.is_closed()
    }
}

impl<C: SafetyClass, A: Send + 'static> fmt::Debug for Hold<C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("is_closed", &self.is_closed()).finish()
    }
}

/// Notices for an operator. The first listener gets all notices since the start.
#[derive(Clone, Debug)]
pub struct Notices<N> {
    said: broadcast::Sender<N>,
    first: Arc<Mutex<Option<broadcast::Receiver<N>>>>,
}

impl<N: Clone> Notices<N> {
    /// Makes the listeners' side and the sender of notices. Notices may be sent without listeners.
    #[must_use]
    pub fn new() -> (Self, broadcast::Sender<N>) {
        let (said, first) = broadcast::channel(NOTICES);
        (Self { said: said.clone(), first: Arc::new(Mutex::new(Some(first))) }, said)
    }

    /// Adds a listener. The first listener gets all notices since the start, later listeners get
    /// only new notices. A slow listener misses the oldest notices.
    #[must_use]
    pub fn listen(&self) -> broadcast::Receiver<N> {
        let first = self.first.lock().map(|mut first| first.take());
        first.ok().flatten().unwrap_or_else(|| self.said.subscribe())
    }
}
