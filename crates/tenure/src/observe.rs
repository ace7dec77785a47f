//! Observers of an election.

use std::fmt;

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
    leave: Option<Leave>,
}

type Leave = Box<dyn FnOnce() + Send + Sync>;

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
        Self { answer: Some(answer), latest: None, told: 0, after_reset: None, leave: Some(leave) }
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
}

impl Drop for Observer {
    fn drop(&mut self) {
        // Drop the receivers first: the driver counts them.
        self.answer = None;
        self.latest = None;
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("latest", &self.latest()).finish_non_exhaustive()
    }
}
