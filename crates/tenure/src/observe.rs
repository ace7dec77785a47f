//! Observers of an election.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{oneshot, watch};

use crate::request::VersionedView;
use tenure_core::View;

/// An observer of an election. A slow reader sees the latest state, and learns that it missed
/// states. Dropping the observer ends its queries. The observer ends with its participant.
pub struct Observer {
    answer: Option<oneshot::Receiver<watch::Receiver<VersionedView>>>,
    latest: Option<watch::Receiver<VersionedView>>,
    told: u64,
    after_reset: Option<View>,
    // Dropped last: the driver counts the receivers when the observer leaves.
    leaving: Arc<Leaving>,
}

type Leave = Box<dyn Fn() + Send + Sync>;

/// Tells the driver that an observer and all of its readers have gone.
struct Leaving(Leave);

impl Drop for Leaving {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A reader of the latest state that an [`Observer`] knows, for another thread. The queries go on
/// as long as the observer or one of its readers exists. Reading waits for nothing.
#[derive(Clone)]
pub struct Latest {
    latest: watch::Receiver<VersionedView>,
    _leaving: Arc<Leaving>,
}

impl Latest {
    /// The latest state, with its present lease; `None` once the participant is closed.
    #[must_use]
    pub fn view(&self) -> Option<View> {
        self.latest.has_changed().ok()?;
        self.latest.borrow().view.clone()
    }
}

impl fmt::Debug for Latest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latest").field(&self.view()).finish()
    }
}

/// Changes that an observer reports.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    View(View),
    /// At least one state was missed; the latest one follows.
    Reset,
}

impl Change {
    /// The state, unless it is a [`Change::Reset`].
    #[must_use]
    pub const fn view(&self) -> Option<&View> {
        match self {
            Self::View(view) => Some(view),
            Self::Reset => None,
        }
    }
}

impl Observer {
    /// Makes an observer that calls `leave` once it has dropped every part of the answer.
    pub(crate) fn new(
        answer: oneshot::Receiver<watch::Receiver<VersionedView>>,
        leave: Leave,
    ) -> Self {
        let leaving = Arc::new(Leaving(leave));
        Self { answer: Some(answer), latest: None, told: 0, after_reset: None, leaving }
    }

    /// Resolves with the state once it is known, then with every change. A renewal of the lease is
    /// no change. `None` once the participant is closed, or if it cannot observe this election; its
    /// notices say why. Cancel safe.
    pub async fn next(&mut self) -> Option<Change> {
        if let Some(view) = self.after_reset.take() {
            return Some(Change::View(view));
        }
        if let Some(answer) = &mut self.answer {
            self.latest = answer.await.ok();
            self.answer = None;
        }
        let told = self.told;
        let latest = self.latest.as_mut()?;
        let (version, view) = match latest.wait_for(|latest| latest.version > told).await {
            Ok(latest) => (latest.version, latest.view.clone()?),
            Err(_) => return None,
        };
        // An observer that starts late has missed nothing.
        let missed = self.told != 0 && version > self.told + 1;
        self.told = version;
        if missed {
            self.after_reset = Some(view);
            return Some(Change::Reset);
        }
        Some(Change::View(view))
    }

    /// The latest state, if known, with its present lease.
    #[must_use]
    pub fn latest(&self) -> Option<View> {
        self.latest.as_ref()?.borrow().view.clone()
    }

    /// A reader of the latest state; `None` until [`next`](Self::next) has returned the first.
    #[must_use]
    pub fn reader(&self) -> Option<Latest> {
        let latest = self.latest.clone()?;
        Some(Latest { latest, _leaving: self.leaving.clone() })
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("latest", &self.latest()).finish_non_exhaustive()
    }
}
