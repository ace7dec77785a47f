//! A watched election: its views, its history, and the candidate of this process.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tenure::{
    Campaign, ElectionName, Latest, Leader, NodeName, Observer, SafetyClass, Time, View, Waits,
    clock,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::events::{Events, Kind};
use crate::here::{self, Progress};
use crate::monitor::Shared;
use crate::ring::Ring;
use crate::words::{self, Election, History, State, ViewWords, millis};

/// The most changes that are kept for an election.
const HISTORY_MAX: usize = 100;
/// The largest size in bytes of the text of a change, and of all texts together.
const TEXT_MAX: usize = 512;
const TEXTS_MAX: usize = 16 * 1_024;
/// The age at which an answer is too old, and the participants are asked again.
pub(crate) const FRESH: Duration = Duration::from_millis(250);
/// The longest wait for an answer of the participants.
const PATIENCE: Duration = Duration::from_secs(2);

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An [`Election`](tenure::Election) of any class.
trait Asked: Send + Sync {
    fn leader(&self, patience: Duration) -> Later<View>;

    /// The longest time for which a leader leads without a renewal.
    fn lease(&self) -> Duration;
}

impl<C: SafetyClass> Asked for tenure::Election<C> {
    fn leader(&self, patience: Duration) -> Later<View> {
        let election = self.clone();
        Box::pin(async move { election.leader_anew(patience).await })
    }

    fn lease(&self) -> Duration {
        self.lease_max()
    }
}

/// A view that was true at some time after `at`.
#[derive(Clone)]
pub(crate) struct Fact {
    pub(crate) view: View,
    pub(crate) at: Time,
}

pub(crate) struct Watched {
    pub(crate) name: ElectionName,
    protocol: Arc<str>,
    /// Answers questions; `None` for an election that the process only lists.
    asked: Option<Box<dyn Asked>>,
    /// The lease of leaders that are only listed.
    lease: Duration,
    latest: OnceLock<Latest>,
    seen: Mutex<Seen>,
    /// The fact of the last question. The lock makes later callers wait for the answer to a running
    /// question.
    asks: tokio::sync::Mutex<Option<Fact>>,
    fact: Mutex<Option<Fact>>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) orders: OnceLock<mpsc::Sender<Order>>,
    events: Arc<Events>,
}

struct Seen {
    state: Option<State>,
    since: Time,
    history: Ring<Change>,
}

struct Change {
    wall: String,
    at: Time,
    kind: &'static str,
    text: String,
}

impl AsRef<str> for Change {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Locks `mutex`, even after a panic of another thread. No code panics in the middle of a change,
/// so the value is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn new<C: SafetyClass>(election: &tenure::Election<C>, shared: &Shared) -> Self {
        let asked: Box<dyn Asked> = Box::new(election.clone());
        Self { asked: Some(asked), ..Self::listed(election.name().clone(), Duration::ZERO, shared) }
    }

    /// An election that only a list names.
    pub(crate) fn listed(name: ElectionName, lease: Duration, shared: &Shared) -> Self {
        let history = Ring::new(HISTORY_MAX, TEXTS_MAX);
        let seen = Seen { state: None, since: clock::now(), history };
        Self {
            name,
            protocol: shared.about.protocol.as_str().into(),
            asked: None,
            lease,
            latest: OnceLock::new(),
            seen: Mutex::new(seen),
            asks: tokio::sync::Mutex::new(None),
            fact: Mutex::new(None),
            progress: watch::Sender::new(Progress::default()),
            orders: OnceLock::new(),
            events: shared.events.clone(),
        }
    }

    /// Whether the process only lists the election.
    pub(crate) const fn is_listed(&self) -> bool {
        self.asked.is_none()
    }

    /// The state that this process knows, without a question.
    pub(crate) fn known(&self, now: Time) -> Fact {
        let view = match &self.asked {
            Some(_) => self.latest.get().and_then(Latest::view),
            None => lock(&self.fact).as_ref().map(|fact| fact.view.clone()),
        };
        let view = view.unwrap_or(View::Unknown { since: lock(&self.seen).since });
        let heard = view.leader().and_then(|leader| leader.heard);
        let proved =
            lock(&self.fact).as_ref().filter(|fact| fact.view.is_same(&view)).map(|fact| fact.at);
        let at = heard.max(proved).unwrap_or(lock(&self.seen).since);
        Fact { view, at: at.min(now) }
    }

    /// The state, not older than `fresh` if the participants answer. Many callers at once cause
    /// one question.
    pub(crate) async fn fact(&self, fresh: Duration) -> Fact {
        if let Some(own) = self.own(&self.known(clock::now()).view) {
            return own;
        }
        let fact = self.ask(fresh).await;
        self.own(&fact.view).unwrap_or(fact)
    }

    /// The leadership of this process, if its handle is current, and `view` names no leader or one
    /// with another fence: other nodes learn of a victory later than the winner. Where leaders may
    /// overlap, they have no fence, and the leader in `view` stays.
    fn own(&self, view: &View) -> Option<Fact> {
        let at = clock::now();
        let leader = self.progress.borrow().leader.clone()?;
        let is_named = view.leader().is_some_and(|named| named.fence == leader.fence());
        let own = Fact { view: View::Leader(leader.view()), at };
        // Ask the handle last: a leadership that has just ended is no answer.
        (!is_named && leader.is_current()).then_some(own)
    }

    /// The known state if it is recent, unknown or only listed; otherwise the answer of the
    /// participants.
    async fn ask(&self, fresh: Duration) -> Fact {
        let now = clock::now();
        let known = self.known(now);
        let Some(asked) = &self.asked else { return known };
        if State::of(&known.view) == State::Unknown || now.since(known.at) <= fresh {
            return known;
        }
        let mut last = self.asks.lock().await;
        let known = self.known(clock::now());
        if let Some(fact) = last.as_ref().filter(|fact| clock::now().since(fact.at) <= fresh)
            && (fact.view.is_same(&known.view) || State::of(&fact.view) == State::Unknown)
        {
            return fact.clone();
        }
        let at = clock::now();
        let view = asked.leader(PATIENCE).await;
        let fact = Fact { view, at };
        *last = Some(fact.clone());
        if State::of(&fact.view) != State::Unknown {
            *lock(&self.fact) = Some(fact.clone());
        }
        fact
    }

    /// The words for a fact. A fact that is older than the lease counts as unknown, and so does a
    /// lease that has run out.
    pub(crate) fn words(&self, fact: &Fact, now: Time) -> Election {
        let heard = fact.view.leader().and_then(|leader| leader.heard);
        let age = now.since(heard.unwrap_or(fact.at));
        let ends = fact.view.leader().and_then(|leader| leader.until);
        let over = ends.is_some_and(|end| end <= now);
        let lease = self.asked.as_ref().map_or(self.lease, |asked| asked.lease());
        let mut view = ViewWords::brief(&fact.view, now);
        if view.state != State::Unknown && (over || age > lease) {
            let (since, why) = match ends.filter(|_| over) {
                Some(end) => {
                    let why =
                        "the lease of the last known leader is over, and no later state is known";
                    (end, why.to_owned())
                }
                None => {
                    let why =
                        format!("the last answer is {age:.1?} old, and a lease lasts {lease:.1?}");
                    (now.before(age).after(lease), why)
                }
            };
            let for_ms = Some(millis(now.since(since)));
            view = ViewWords { why: Some(why), for_ms, ..ViewWords::default() };
        }
        if view.state == State::Unknown && view.why.is_none() {
            let why = "the answers so far neither agree on a leader nor prove that there is none";
            view.why = Some(why.to_owned());
        }
        if let Some(leader) = view.leader.as_mut().filter(|_| self.is_listed()) {
            // An empty value means that the participant lists no values.
            leader.value.take_if(|value| value.is_empty());
        }
        let age_ms = (view.state != State::Unknown).then(|| millis(age));
        let (state, since) = {
            let seen = lock(&self.seen);
            (seen.state, seen.since)
        };
        let since_ms = match view.for_ms {
            Some(unknown) => unknown,
            None if state == Some(view.state) => millis(now.since(since)),
            None => millis(now.since(fact.at)),
        };
        let here = self.asked.as_ref().map(|_| self.progress.borrow().words(now));
        Election {
            election: self.name.to_string(),
            protocol: self.protocol.to_string(),
            view,
            age_ms,
            since_ms,
            here,
            history: None,
        }
    }

    pub(crate) fn history(&self, now: Time) -> Vec<History> {
        let seen = lock(&self.seen);
        let rows = seen.history.entries().iter().rev().map(|change| History {
            time: change.wall.clone(),
            ago_ms: millis(now.since(change.at)),
            kind: change.kind.to_owned(),
            text: change.text.clone(),
        });
        rows.collect()
    }

    /// Adds a change to the history. The reasons for which a candidate waits change with each
    /// attempt. The history keeps only the last of these reasons, so that an outage does not push
    /// earlier leaders out.
    fn note(&self, kind: &'static str, text: &str) {
        let mut seen = lock(&self.seen);
        let history = &mut seen.history;
        if matches!(kind, "waits" | "overdue") {
            history.pop_if(|last| last.kind == kind);
        }
        let text = words::beginning(text, TEXT_MAX).to_owned();
        history.push(Change { wall: wall(), at: clock::now(), kind, text });
    }

    /// Takes the view of a list whose questions began at `asked`.
    pub(crate) fn report(&self, view: View, asked: Time) {
        let is_news = !lock(&self.fact).as_ref().is_some_and(|fact| fact.view.is_same(&view));
        if is_news {
            self.see(&view, asked);
        }
        *lock(&self.fact) = Some(Fact { view, at: asked });
    }

    /// Takes a view that was true at some time after `at`.
    fn see(&self, view: &View, at: Time) {
        let now = clock::now();
        let state = State::of(view);
        self.note(state.word(), &words::change(view));
        {
            let mut seen = lock(&self.seen);
            if seen.state != Some(state) || state == State::Leader {
                (seen.state, seen.since) = (Some(state), now);
            }
        }
        let fact = Fact { view: view.clone(), at };
        *lock(&self.fact) = Some(fact.clone());
        self.events.put(Kind::View, &self.name, &self.words(&fact, now));
    }

    /// Changes the progress of the candidate, and tells subscribers.
    fn step(&self, kind: &'static str, text: &str, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
        self.note(kind, text);
        self.tell_here();
    }

    fn tell_here(&self) {
        let here = self.progress.borrow().words(clock::now());
        let told = serde_json::json!({"election": self.name.as_str(), "here": here});
        self.events.put(Kind::Here, &self.name, &told);
    }

    async fn follow(self: Arc<Self>, mut observer: Observer) {
        while let Some(change) = observer.next().await {
            if self.latest.get().is_none()
                && let Some(reader) = observer.reader()
            {
                let _ = self.latest.set(reader);
            }
            match change.view() {
                Some(view) => self.see(view, clock::now()),
                None => self.miss(),
            }
        }
        let since = clock::now();
        self.see(&View::Unknown { since }, since);
    }

    /// Records that changes were missed; the latest view follows.
    fn miss(&self) {
        self.note("gap", "changes were missed");
        let told = serde_json::json!({"election": self.name.as_str(), "missed": null});
        self.events.put(Kind::Gap, &self.name, &told);
    }

    async fn follow_waits(self: Arc<Self>, mut waits: Waits) {
        while let Some(waiting) = waits.next().await {
            let now = clock::now();
            let known = self.progress.borrow().waits.clone();
            let since = known.filter(|(known, _)| known.label() == waiting.label());
            let since = since.map_or(now, |(_, since)| since);
            let text = waiting.told(now).to_string();
            self.step("waits", &text, |progress| progress.waits = Some((waiting, since)));
        }
    }

    async fn follow_leader<C: SafetyClass>(self: Arc<Self>, leader: Leader<C>, term: u64) {
        let mut until = leader.until();
        let mut overdue = None;
        let mut last = clock::now();
        let loss = loop {
            tokio::select! {
                biased;
                renewed = leader.renewed(until) => match renewed {
                    Ok(later) => {
                        until = later;
                        overdue = None;
                        let now = clock::now();
                        let took = now.since(last);
                        last = now;
                        self.progress.send_modify(|progress| {
                            progress.renewals += 1;
                            progress.durations.0.observe(took.as_secs_f64());
                            progress.overdue = None;
                        });
                    }
                    Err(loss) => break loss,
                },
                loss = leader.lost() => break loss,
                late = leader.falls_overdue(overdue.as_ref()) => {
                    let text = late.told(clock::now()).to_string();
                    let first = overdue.is_none();
                    self.step("overdue", &text.clone(), |progress| {
                        progress.slow += u64::from(first);
                        progress.overdue = Some(text);
                    });
                    overdue = Some(late);
                }
            }
        };
        let lapse = self.progress.borrow().lapse.clone();
        let is_late = leader.overdue().is_some();
        let (why, gave) = here::end(&leader, lapse, loss);
        let kind = if gave { "resigned" } else { "lost" };
        self.step(kind, &why.clone(), |progress| {
            progress.slow += u64::from(!gave && !is_late);
            // Change nothing if the next leadership has begun.
            if progress.terms == term {
                progress.ended = Some((why, gave));
                progress.stops = false;
                progress.overdue = None;
            }
        });
    }
}

/// The time by the wall clock, as RFC 3339.
fn wall() -> String {
    let since = Duration::from_nanos(clock::wall().as_nanos());
    humantime::format_rfc3339_millis(std::time::UNIX_EPOCH + since).to_string()
}

/// An order to the leader of this process.
#[derive(Debug)]
pub struct Order {
    pub action: Action,
    /// Takes the answer once the order is carried out.
    pub reply: oneshot::Sender<Result<(), Refusal>>,
}

/// An act that an order asks of a leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Resign,
    Transfer { to: NodeName },
}

/// Why an order is not carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// This process does not lead, or the successor does not wait.
    Conflict(String),
    /// The protocol has no hand-over.
    Unsupported(String),
    Busy(String),
}

/// Watches an election until it is dropped. The program reports campaigns and victories of this
/// process here.
pub struct Watch {
    pub(crate) watched: Arc<Watched>,
    monitor: Weak<Shared>,
    tasks: Mutex<JoinSet<()>>,
}

impl Watch {
    pub(crate) fn begin<C: SafetyClass>(
        election: &tenure::Election<C>,
        shared: &Arc<Shared>,
    ) -> Self {
        let watched = Arc::new(Watched::new(election, shared));
        let watch = Self {
            watched: watched.clone(),
            monitor: Arc::downgrade(shared),
            tasks: Mutex::new(JoinSet::new()),
        };
        watch.spawn(watched.follow(election.observe()));
        watch
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let Some(shared) = self.monitor.upgrade() else { return };
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &shared.runtime);
    }

    /// Reports that this process campaigns.
    pub fn campaigns<C: SafetyClass>(&self, campaign: &Campaign<C>) {
        self.watched.progress.send_modify(|progress| {
            (progress.campaigns, progress.waits) = (true, None);
        });
        self.spawn(self.watched.clone().follow_waits(campaign.waiting()));
    }

    /// Reports that this process has won. The monitor follows the leadership until its end.
    pub fn leads<C: SafetyClass>(&self, leader: &Leader<C>) {
        let fence = leader.told_fence().map(|fence| format!(", fence {fence}")).unwrap_or_default();
        let text = format!("this process leads as {}{fence}", leader.id());
        let (watched, leader) = (self.watched.clone(), leader.clone());
        watched.step("elected", &text, |progress| {
            progress.leader = Some(Arc::new(leader.clone()));
            (progress.campaigns, progress.waits, progress.ended) = (false, None, None);
            (progress.stops, progress.lapse, progress.overdue) = (false, None, None);
            progress.terms += 1;
        });
        let term = watched.progress.borrow().terms;
        self.spawn(watched.follow_leader(leader, term));
    }

    /// Reports that the work of this process is being stopped. The leadership ends after the work.
    /// From now on `/leading` answers 503, so that the work gets nothing new.
    pub fn stops(&self) {
        self.watched.progress.send_modify(|progress| progress.stops = true);
        self.watched.tell_here();
    }

    /// Reports why this process steps down without an order: the leadership then counts as lost.
    pub fn lapses(&self, why: &str) {
        let why = words::beginning(why, TEXT_MAX).to_owned();
        self.watched.progress.send_modify(|progress| progress.lapse = Some(why));
    }

    /// Reports that the work of this process was killed.
    pub fn killed(&self) {
        self.watched.progress.send_modify(|progress| progress.killed += 1);
    }

    /// Reports that the campaign has ended without a victory.
    pub fn withdraws(&self) {
        self.watched.progress.send_modify(|progress| progress.campaigns = false);
        self.watched.tell_here();
    }

    /// Orders to this process's leader, from callers with the token. Without this call, orders are
    /// refused.
    pub fn orders(&self) -> mpsc::Receiver<Order> {
        let (sender, orders) = mpsc::channel(1);
        let _ = self.watched.orders.set(sender);
        orders
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(shared) = self.monitor.upgrade() {
            shared.forget(&self.watched);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({})", self.watched.name)
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;

    use super::*;
    use crate::monitor::{About, Monitor};

    fn watched() -> Watched {
        let monitor = Monitor::new(About::new("a", "p"), Handle::current());
        Watched::listed("e".parse().unwrap(), Duration::from_secs(1), &monitor.shared)
    }

    #[tokio::test]
    async fn outage_keeps_the_history() {
        let watched = watched();
        watched.note("leader", "leader b");
        for nth in 0..2 * HISTORY_MAX {
            watched.note("waits", &format!("attempt {nth}"));
        }
        watched.note("leader", "leader c");
        let rows = watched.history(clock::now());
        let texts: Vec<_> = rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(texts, ["leader c", "attempt 199", "leader b"]);
    }

    #[tokio::test]
    async fn history_is_bounded_by_bytes() {
        let watched = watched();
        for _ in 0..HISTORY_MAX {
            watched.note("leader", &"ü".repeat(TEXT_MAX));
        }
        let rows = watched.history(clock::now());
        assert!(rows.iter().all(|row| row.text.len() == TEXT_MAX));
        assert_eq!(rows.len(), TEXTS_MAX / TEXT_MAX);
    }
}
