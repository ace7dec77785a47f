//! A node of Kafka elections with the settings of a command.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::{
    AtMostOne, Election, ElectionName, MayOverlap, NodeName, Observer, Time, View, clock,
};
use tenure_core::nele::{Config, Mode, Role};
use tenure_kafka::topic::TopicError;
use tenure_kafka::{Class, Node, Seen};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::explain::Explain;
use super::ledger::Settings;
use super::warnings::Watcher;
use super::{proportions, sides};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::backend::OTHERS_KNOW;
use crate::protocol::troubles::{Troubles, Watch};
use crate::protocol::{
    AnyElection, AskMode, Backend, Later, Owner, Part, Participant, RoleHolder, Row,
    StartedParticipant, Table,
};
use crate::settings::Origins;

/// The extra time that a question gets for its connection, and for finding the end of a partition.
const CONNECTING: Duration = Duration::from_secs(5);

/// The longest time for which an asker listens without `--wait`.
const LISTENING_MAX: Duration = Duration::from_secs(60);

impl Backend for Settings {
    fn grace(&self) -> Duration {
        self.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.config.kill_margin
    }

    /// Leaderships may last for `takeover` after the process has left the group.
    fn ends_within(&self) -> Duration {
        let on = if self.leads_on { self.config.takeover } else { Duration::ZERO };
        self.config.grace + self.config.max_poll_interval + on + OTHERS_KNOW
    }

    /// An asker that hears of no leader for the longest time of a leadership reports that nobody
    /// leads. To listen for longer than a minute, a user must give `--wait`.
    fn patience(&self) -> Duration {
        CONNECTING + self.config.silence() + self.config.heard_leads().min(LISTENING_MAX)
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(begin(self, id.clone(), true, origins))
    }

    fn asker<'a>(
        &'a self,
        _: &'a ElectionName,
        _: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        if self.has_sides() {
            return Box::pin(sides::begin(self, origins));
        }
        Box::pin(begin(self, self.config.id.clone(), false, origins))
    }

    fn silence(&self) -> watch::Receiver<Option<Failure>> {
        self.silence.subscribe()
    }

    fn parts(&self, _: &ElectionName) -> Vec<Part> {
        self.roles.each().map(|role| part(&self.config, role)).collect()
    }

    fn asks_for_all(&self) -> bool {
        self.any_role || self.roles.first < self.roles.last || self.has_sides()
    }

    fn has_sides(&self) -> bool {
        !self.other_brokers.is_empty()
    }

    fn runs_again(&self) -> bool {
        self.runs_again
    }
}

pub(super) fn part(config: &Config, role: u32) -> Part {
    Part { election: config.election_of(Role(role)), role: Some(role) }
}

pub(super) async fn begin(
    settings: &Settings,
    id: NodeName,
    aloud: bool,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    match settings.config.mode {
        Mode::AtMostOne => {
            let class = Of { election: AnyElection::AtMostOne, leave: None };
            start::<AtMostOne>(settings, id, aloud, origins, class).await
        }
        Mode::AtLeastOne => {
            let leave: Option<Leave<MayOverlap>> =
                settings.leads_on.then_some(|node| Box::pin(node.leave()));
            let class = Of { election: AnyElection::MayOverlap, leave };
            start::<MayOverlap>(settings, id, aloud, origins, class).await
        }
    }
}

/// The functions of safety class `C` that the command needs.
struct Of<C: Class> {
    election: fn(Election<C>) -> AnyElection,
    leave: Option<Leave<C>>,
}

/// A function by which a node leaves its group and keeps leading.
type Leave<C> = fn(&Node<C>) -> Later<'_, ()>;

/// Checks the topic, and starts the node. Silent brokers are a failure, because an unchecked topic
/// may break the promise of the mode. A candidate prints warnings.
async fn start<C: Class>(
    settings: &Settings,
    id: NodeName,
    aloud: bool,
    origins: &Origins,
    class: Of<C>,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(settings, origins);
    let host = settings.host.clone().unwrap_or_else(|| host(&id));
    let config = Config { host, id, ..settings.config.clone() };
    let config =
        config.check().map_err(|error| Failure::new(Exit::Bug, error.to_string(), "report it"))?;
    let options = settings.options.clone().check().map_err(|error| explain.options(&error))?;
    let silence = settings.silence.clone();
    let why = explain.clone();
    let tell = move |error: &TopicError| drop(silence.send_replace(Some(why.topic(error))));
    let node = Node::<C>::builder(config, options).on_silence(tell).start().await;
    let node = node.map_err(|error| explain.start(&error))?;
    let (watch, troubles) = Watch::new(aloud);
    let own = OwnRoles::new(settings.roles.each());
    tokio::spawn(Watcher::new(explain, watch, own.clone()).watch(node.notices()));
    if aloud {
        tokio::spawn(proportions::watch(node.clone(), own.clone()));
    }
    let following = RefCell::default();
    let views = Views::default();
    let began = clock::now();
    let settings = settings.clone();
    Ok(Box::new(Client { settings, own, node, class, troubles, following, views, began }))
}

/// The machine's name, or the unique id if the machine's name is not allowed.
fn host(id: &NodeName) -> NodeName {
    let name = rustix::system::uname();
    NodeName::new(&name.nodename().to_string_lossy()).unwrap_or_else(|_| id.clone())
}

/// The roles for which this process stands, which may change while it runs.
#[derive(Clone)]
pub(super) struct OwnRoles(Arc<Mutex<BTreeSet<u32>>>);

impl OwnRoles {
    pub(super) fn new(roles: impl IntoIterator<Item = u32>) -> Self {
        Self(Arc::new(Mutex::new(roles.into_iter().collect())))
    }

    pub(super) fn has(&self, role: u32) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&role)
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn replace(&self, roles: BTreeSet<u32>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = roles;
    }
}

struct Client<C: Class> {
    settings: Settings,
    own: OwnRoles,
    node: Node<C>,
    class: Of<C>,
    troubles: Troubles,
    /// Tasks that follow each role for a table, and their observations.
    following: RefCell<JoinSet<()>>,
    views: Views,
    began: Time,
}

/// The latest view of each followed role.
type Views = Arc<Mutex<BTreeMap<u32, View>>>;

async fn follow(role: u32, mut observer: Observer, views: Views) {
    while let Some(change) = observer.next().await {
        if let Some(view) = change.view() {
            views.lock().unwrap_or_else(PoisonError::into_inner).insert(role, view.clone());
        }
    }
}

impl<C: Class> Participant for Client<C> {
    fn election(&self, name: &ElectionName) -> AnyElection {
        (self.class.election)(self.node.election_named(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        Box::pin(async { self.node.counters().await.is_some() })
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.troubles.permanent()
    }

    fn refused(&self, why: String) -> Later<'static, Failure> {
        self.troubles.refused(why)
    }

    fn roles(&self) -> Option<&dyn RoleHolder> {
        Some(self)
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

impl<C: Class> RoleHolder for Client<C> {
    fn give_back_all(&self) -> Later<'_, ()> {
        Box::pin(self.node.leave_and_join())
    }

    fn leave_and_lead_on(&self) -> Option<Later<'_, ()>> {
        self.class.leave.map(|leave| leave(&self.node))
    }

    fn could_be_followed(&self, election: &ElectionName) -> Later<'_, bool> {
        let role = self.settings.config.role(election);
        Box::pin(async move {
            match role {
                Some(role) => self.node.could_be_followed(role.0).await,
                None => false,
            }
        })
    }

    fn others_that_lead(
        &self,
        election: &ElectionName,
        since: Time,
    ) -> Later<'_, BTreeSet<String>> {
        let role = self.settings.config.role(election);
        let leads = move |seen: &Seen| {
            Some(seen.role) == role && seen.who != *self.node.who() && seen.heard >= since
        };
        Box::pin(async move {
            let seen = self.node.seen().await.unwrap_or_default();
            seen.into_iter().filter(leads).map(|seen| seen.who.to_string()).collect()
        })
    }

    fn part(&self, role: u32) -> Part {
        part(&self.settings.config, role)
    }

    fn fits(&self, roles: usize) -> Result<(), Failure> {
        let most = self.settings.config.limits.roles;
        if roles > most {
            let what = format!("{roles} roles are too many: a process stands for at most {most}");
            return Err(Failure::new(Exit::Refused, what, "add fewer roles"));
        }
        self.node.check_room(roles).map_err(|error| {
            let fix = format!(
                "raise max.message.bytes of the topic to {} or more, and start this process again",
                error.needed
            );
            Failure::new(Exit::Refused, error.to_string(), fix)
        })
    }

    fn stand_for(&self, roles: BTreeSet<u32>) {
        self.own.replace(roles);
    }

    /// A static member leaves its group without a message, and gets its old partitions when it is
    /// back.
    fn keeps_all(&self) -> Option<Failure> {
        let id = self.settings.options.static_id()?;
        let session = self.settings.config.session_timeout;
        let what = format!(
            "group.instance.id is {id}, so this process cannot give its roles back: the group \
             keeps the partitions of a static member for {session:?} after the member has left"
        );
        let fix = format!(
            "end this process and wait for {session:?}, or run this process without \
             group.instance.id"
        );
        Some(Failure::new(Exit::Refused, what, fix))
    }

    fn table(&self) -> Later<'_, Option<Table>> {
        let mut following = self.following.borrow_mut();
        if following.is_empty() {
            for role in self.settings.roles.each() {
                let observer = self.node.role(role).observe();
                following.spawn(follow(role, observer, Arc::clone(&self.views)));
            }
        }
        Box::pin(self.look())
    }
}

impl<C: Class> Client<C> {
    /// Returns the table, once every running process has had time to report.
    async fn look(&self) -> Option<Table> {
        let seen = self.node.seen().await?;
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let listened = clock::now().since(self.began) >= self.settings.config.silence();
        let is_known = views.values().any(|view| !matches!(view, View::Unknown { .. }));
        if !listened || (seen.is_empty() && !is_known) {
            return None;
        }
        let mut rows: Vec<_> = seen.into_iter().map(|seen| self.row(seen)).collect();
        for role in self.settings.roles.each() {
            if !self.settings.any_role && rows.iter().all(|row| row.part.role != Some(role)) {
                let known = matches!(views.get(&role), Some(View::Vacant));
                rows.push(Row { owner: None, known, ..self.empty(role) });
            }
        }
        if !self.settings.any_role {
            let roles = self.settings.roles.each();
            rows.retain(|row| row.part.role.is_some_and(|role| roles.contains(&role)));
        }
        let id = |row: &Row| row.owner.as_ref().map(|owner| owner.id.clone());
        rows.sort_by_key(|row| (row.part.role, id(row)));
        Some(Table { rows })
    }

    fn empty(&self, role: u32) -> Row {
        let config = &self.settings.config;
        let partition = Some(config.partition_of(Role(role)).0);
        Row { part: part(config, role), side: None, partition, owner: None, known: false }
    }

    fn row(&self, seen: Seen) -> Row {
        let owner = Owner {
            id: seen.who.id.to_string(),
            group: seen.group.to_string(),
            host: seen.host.to_string(),
            value: seen.value.to_string(),
            fence: seen.fence,
            heard: seen.heard,
            silent: seen.silent,
        };
        Row { owner: Some(owner), known: true, ..self.empty(seen.role.0) }
    }
}
