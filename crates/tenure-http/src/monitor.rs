//! The elections of a process, and how the process is.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use tenure::{Election, ElectionName, SafetyClass};
use tokio::runtime::Handle;
use utoipa::ToSchema;

use crate::events::Events;
use crate::metrics::Counts;
use crate::watch::{Watch, Watched, lock};

/// Names that the answers carry.
#[derive(Clone, Debug)]
pub struct About {
    /// The name of this node.
    pub name: String,
    pub protocol: String,
    pub version: String,
}

impl About {
    /// A node of this name, in this version of the library.
    #[must_use]
    pub fn new(name: impl Into<String>, protocol: impl Into<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { name: name.into(), protocol: protocol.into(), version }
    }
}

/// How a process is, at the moment of a question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// Whether the loop of the driver answers.
    pub alive: bool,
    /// Why the process cannot do its part: a grantor serves, a candidate is connected.
    pub unready: Option<String>,
    pub members: Vec<MemberState>,
    /// Totals that the driver counts: errors of disks, and dropped datagrams by cause.
    pub disk_errors: Option<u64>,
    pub dropped: Vec<(&'static str, u64)>,
}

/// A member of the protocol, as this process sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct MemberState {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// One word of the protocol for the member's state.
    pub state: String,
    /// Whether the member does its part; null if this process does not know.
    pub up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Asks the process how it is.
pub type Ask = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Health> + Send>> + Send + Sync>;

/// The elections of one process, and the answers about them. Clones are the same monitor.
#[derive(Clone)]
pub struct Monitor {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) about: About,
    pub(crate) runtime: Handle,
    pub(crate) events: Arc<Events>,
    pub(crate) counts: Counts,
    ask: Option<Ask>,
    elections: Mutex<BTreeMap<ElectionName, Arc<Watched>>>,
}

impl Monitor {
    /// A monitor whose tasks run on `runtime`.
    #[must_use]
    pub fn new(about: About, runtime: Handle) -> Self {
        Self::build(about, runtime, None)
    }

    /// A monitor that asks the process how it is. Without this, a process is alive and ready as
    /// long as it answers.
    #[must_use]
    pub fn with_health(about: About, runtime: Handle, ask: Ask) -> Self {
        Self::build(about, runtime, Some(ask))
    }

    fn build(about: About, runtime: Handle, ask: Option<Ask>) -> Self {
        let shared = Shared {
            about,
            runtime,
            events: Arc::default(),
            counts: Counts::default(),
            ask,
            elections: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Watches an election, until the returned value is dropped. The participant of the election
    /// runs at least as long.
    #[must_use]
    pub fn watch<C: SafetyClass>(&self, election: &Election<C>) -> Watch {
        let watch = Watch::begin(election, &self.shared);
        let watched = watch.watched.clone();
        lock(&self.shared.elections).insert(watched.name.clone(), watched);
        watch
    }
}

impl Shared {
    pub(crate) fn forget(&self, watched: &Arc<Watched>) {
        let mut elections = lock(&self.elections);
        let is_this = |known: &Arc<Watched>| Arc::ptr_eq(known, watched);
        if elections.get(&watched.name).is_some_and(is_this) {
            elections.remove(&watched.name);
        }
    }

    pub(crate) fn election(&self, name: &str) -> Option<Arc<Watched>> {
        lock(&self.elections).get(&ElectionName::new(name).ok()?).cloned()
    }

    /// At most `limit` elections after the name `after`, and whether more follow.
    pub(crate) fn page(
        &self,
        after: Option<&ElectionName>,
        limit: usize,
    ) -> (Vec<Arc<Watched>>, bool) {
        let elections = lock(&self.elections);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = elections.range::<ElectionName, _>((from, Bound::Unbounded));
        let page = rest.by_ref().take(limit).map(|(_, watched)| watched.clone()).collect();
        (page, rest.next().is_some())
    }

    pub(crate) async fn health(&self) -> Health {
        match &self.ask {
            Some(ask) => ask().await,
            None => Health { alive: true, ..Health::default() },
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("about", &self.shared.about).finish_non_exhaustive()
    }
}
