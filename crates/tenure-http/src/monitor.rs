//! The elections of a process, and its health.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tenure::{Election, ElectionName, SafetyClass, Time, View, clock};
use tokio::runtime::Handle;
use utoipa::ToSchema;

use crate::events::Events;
use crate::inquiry::Inquiry;
use crate::metrics::Counts;
use crate::shared_answers::SharedAnswers;
use crate::watch::{FRESH, Watch, Watched, lock};

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

/// The health of a process, at the moment of a question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// Whether the loop of the driver answers.
    pub alive: bool,
    /// The reason why the process is not ready: a grantor does not serve, or a candidate is not
    /// connected.
    pub unready: Option<String>,
    pub members: Vec<MemberState>,
    /// Whether the members that serve are a quorum, if this process knows.
    pub quorum: Option<bool>,
    /// Totals that the driver counts: errors of disks, and dropped datagrams by cause.
    pub disk_errors: Option<u64>,
    pub dropped: Vec<(&'static str, u64)>,
}

/// A member of the protocol, as this process sees the member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct MemberState {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// A word of the protocol for the member's state.
    pub state: String,
    /// Whether the member serves; null if this process does not know.
    pub up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A question to the process.
pub type Ask<T> = Box<dyn Fn() -> Pin<Box<dyn Future<Output = T> + Send>> + Send + Sync>;

/// Questions of a monitor to its process.
#[derive(Default)]
pub struct Sources {
    /// Asks for the health of the process. Without this question, a process that answers counts as
    /// alive and ready.
    pub health: Option<Ask<Health>>,
    /// Asks participants for a list. If the question fails, with `None`, the last list stays, and
    /// its age grows.
    pub list: Option<Ask<Option<List>>>,
}

/// The elections and members that participants list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct List {
    /// Elections beside those that the process [watches](Monitor::watch).
    pub elections: Vec<Listed>,
    /// The members and their quorum, in place of those of [`Health`].
    pub members: Vec<MemberState>,
    pub quorum: Option<bool>,
}

/// An election that participants list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    pub election: ElectionName,
    pub view: View,
    /// The time of the first question; each answer came later.
    pub asked: Time,
    /// The longest time for which the leader leads without a renewal.
    pub lease: Duration,
}

/// The most elections of a list that are shown.
const LISTED_MAX: usize = 1_000;
/// The pause between two questions for a list.
const LISTS: Duration = Duration::from_secs(1);
/// The longest wait of a caller for a list. A list that comes later is kept for later callers.
const LIST_WAIT: Duration = Duration::from_secs(2);

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
    pub(crate) answers: SharedAnswers,
    sources: Sources,
    health: tokio::sync::Mutex<Option<(Time, Health)>>,
    /// The last list: its members and their quorum, and the task that asks for the list.
    lists: Inquiry<(Vec<MemberState>, Option<bool>)>,
    elections: Mutex<BTreeMap<ElectionName, Arc<Watched>>>,
}

impl Monitor {
    /// A monitor whose tasks run on `runtime`.
    #[must_use]
    pub fn new(about: About, runtime: Handle) -> Self {
        Self::asking(about, runtime, Sources::default())
    }

    /// A monitor that asks the process through `sources`.
    #[must_use]
    pub fn asking(about: About, runtime: Handle, sources: Sources) -> Self {
        let shared = Shared {
            about,
            runtime,
            events: Arc::default(),
            counts: Counts::default(),
            answers: SharedAnswers::default(),
            sources,
            health: tokio::sync::Mutex::default(),
            lists: Inquiry::default(),
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

    /// Asks for the health of the process. Many callers at once cause one question. Subscribers get
    /// an event for each member that has changed.
    pub(crate) async fn health(&self) -> Health {
        let mut last = self.health.lock().await;
        let now = clock::now();
        if let Some((_, health)) = last.as_ref().filter(|(at, _)| now.since(*at) <= FRESH) {
            return health.clone();
        }
        let mut health = match &self.sources.health {
            Some(ask) => ask().await,
            None => Health { alive: true, ..Health::default() },
        };
        if let Some((_, listed)) = self.lists.last() {
            (health.members, health.quorum) = listed;
        }
        let known = last.as_ref().map_or(&[][..], |(_, health)| &health.members);
        for member in health.members.iter().filter(|member| !known.contains(member)) {
            self.events.put_member(member);
        }
        *last = Some((clock::now(), health.clone()));
        health
    }

    /// Asks for the list of elections, unless the last question is recent, and waits a while for
    /// the answer.
    pub(crate) async fn refresh(self: &Arc<Self>) {
        if self.sources.list.is_some() {
            let spawn = || self.runtime.spawn(self.clone().list());
            self.lists.refresh(LISTS, LIST_WAIT, spawn).await;
        }
    }

    async fn list(self: Arc<Self>) {
        let Some(ask) = &self.sources.list else { return };
        let known = match ask().await {
            Some(List { elections, members, quorum }) => {
                self.take(elections);
                (members, quorum)
            }
            None => self.lists.last().map(|(_, known)| known).unwrap_or_default(),
        };
        self.lists.keep(clock::now(), known);
    }

    /// Shows the elections of a list, and forgets elections that only an earlier list named. An
    /// election with a watch stays as it is, because the watch has better answers.
    fn take(&self, mut all: Vec<Listed>) {
        all.truncate(LISTED_MAX);
        let names: BTreeSet<_> = all.iter().map(|one| one.election.clone()).collect();
        for Listed { election, view, asked, lease } in all {
            let watched = lock(&self.elections)
                .entry(election.clone())
                .or_insert_with(|| Arc::new(Watched::listed(election, lease, self)))
                .clone();
            if watched.is_listed() {
                watched.report(view, asked);
            }
        }
        let is_gone = |name: &ElectionName, watched: &mut Arc<Watched>| {
            watched.is_listed() && !names.contains(name)
        };
        let gone: Vec<_> = lock(&self.elections).extract_if(.., is_gone).collect();
        let since = clock::now();
        gone.iter().for_each(|(_, watched)| watched.report(View::Unknown { since }, since));
    }

    /// The number of watched elections.
    pub(crate) fn count(&self) -> usize {
        lock(&self.elections).len()
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("about", &self.shared.about).finish_non_exhaustive()
    }
}
