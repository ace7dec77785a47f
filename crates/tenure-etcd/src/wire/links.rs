//! Which endpoint is in use, and who sees to it that there is one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use etcd_client::Client;
use tenure::clock;
use tenure_core::etcd::{BACKOFF, Refusal};
use tenure_core::{Backoff, Draw, Time};
use tokio::sync::{Notify, mpsc, watch};

use super::News;
use super::connect::{ConnectError, Connection, connect};
use super::fault::shorten;
use super::race::{Found, race};
use crate::endpoint::Endpoint;
use crate::options::CheckedOptions;

/// A connection that has lasted so long was a good one.
const GOOD_AFTER: Duration = Duration::from_secs(5);
/// How long to wait before yet another login. Short, because renewals wait for it.
const LOGIN: Backoff =
    Backoff { first: Duration::from_millis(20), longest: Duration::from_millis(200) };

/// One connection to one endpoint, and the login on it.
pub(super) struct Link {
    /// Grows from one link to the next.
    pub(super) number: u64,
    pub(super) client: Client,
    endpoint: Endpoint,
    /// When the store answered last by it.
    answered: AtomicU64,
}

impl Link {
    /// The store has answered by it.
    pub(super) fn has_answered(&self) {
        self.answered.store(clock::now().as_nanos(), Ordering::Relaxed);
    }

    /// Whether the store has answered nothing at all since then.
    pub(super) fn is_silent_since(&self, sent: Time) -> bool {
        self.answered.load(Ordering::Relaxed) < sent.as_nanos()
    }
}

#[derive(Clone)]
enum State {
    Away,
    Up(Arc<Link>),
    /// The last attempt was refused in a way that waiting does not mend.
    Refused(Refusal),
}

/// Why the link of this number is not to be used any more.
#[derive(Clone, Default)]
struct Sick {
    number: u64,
    login: bool,
    why: Arc<str>,
}

/// Those who wait for a link: without any, nobody connects.
#[derive(Default)]
struct Waiters {
    count: AtomicUsize,
    came: Notify,
}

/// Counted until it is dropped.
struct Waiter<'a>(&'a Waiters);

impl<'a> Waiter<'a> {
    fn new(waiters: &'a Waiters) -> Self {
        waiters.count.fetch_add(1, Ordering::Relaxed);
        waiters.came.notify_one();
        Self(waiters)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The link in use, for whoever sends something. Clones are the same.
#[derive(Clone)]
pub(super) struct Links {
    state: watch::Receiver<State>,
    sick: Arc<watch::Sender<Sick>>,
    waiters: Arc<Waiters>,
    pub(super) has_login: bool,
}

impl Links {
    /// The link in use if its number is above `newer_than`, else the next one, however long it
    /// takes; or that etcd refuses the login.
    pub(super) async fn get(&self, newer_than: u64) -> Result<Arc<Link>, Refusal> {
        let mut state = self.state.clone();
        let is_usable = |state: &State| match state {
            State::Away => false,
            State::Up(link) => link.number > newer_than,
            State::Refused(_) => true,
        };
        let waiter = (!is_usable(&state.borrow())).then(|| Waiter::new(&self.waiters));
        let state = match state.wait_for(is_usable).await {
            Ok(state) => state.clone(),
            Err(_) => State::Away,
        };
        drop(waiter);
        match state {
            State::Up(link) => Ok(link),
            State::Refused(refusal) => Err(refusal),
            // The connector has ended, and with it whoever waits here.
            State::Away => std::future::pending().await,
        }
    }

    /// Resolves once that link is not in use any more.
    pub(super) async fn gone(&self, number: u64) {
        let mut state = self.state.clone();
        let is_other = |state: &State| !matches!(state, State::Up(link) if link.number == number);
        let _ = state.wait_for(is_other).await;
    }

    /// The link in use is not to be used any more: the next endpoint is.
    pub(super) fn leave(&self, why: &Arc<str>) {
        if let State::Up(link) = &*self.state.borrow() {
            self.lost(link, why);
        }
    }

    /// This link does not work: the next endpoint is to be used.
    pub(super) fn lost(&self, link: &Link, why: &Arc<str>) {
        self.report(Sick { number: link.number, login: false, why: why.clone() });
    }

    /// The login of this link is not good any more: a new one is to be made.
    pub(super) fn stale(&self, link: &Link, said: &Arc<str>) {
        self.report(Sick { number: link.number, login: true, why: said.clone() });
    }

    fn report(&self, new: Sick) {
        self.sick.send_if_modified(|sick| {
            let newer = sick.number < new.number;
            if newer {
                *sick = new;
            }
            newer
        });
    }
}

/// Sees to it that there is a link when one is wanted.
pub(super) struct Connector {
    options: CheckedOptions,
    news: mpsc::Sender<News>,
    state: watch::Sender<State>,
    sick: watch::Receiver<Sick>,
    waiters: Arc<Waiters>,
    draw: Draw,
    /// Of the endpoint in use or to be tried.
    index: usize,
    /// The last endpoint failed: from now on the others are asked side by side.
    has_failed: bool,
    round: Round,
    links: u64,
    /// How often connecting has failed, or a connection soon afterwards, in a row.
    failures: u32,
    /// How often a login has lasted no longer than that, in a row.
    logins: u32,
    draws: u64,
}

pub(super) fn new(options: CheckedOptions, news: mpsc::Sender<News>) -> (Links, Connector) {
    let (state, receiver) = watch::channel(State::Away);
    let (sick, sick_receiver) = watch::channel(Sick::default());
    let waiters = Arc::new(Waiters::default());
    let has_login = options.credentials.is_some();
    let links =
        Links { state: receiver, sick: Arc::new(sick), waiters: waiters.clone(), has_login };
    let mut seed = [0; 8];
    // Without it many processes may come back at the same time: no more than that.
    let _ = getrandom::fill(&mut seed);
    let connector = Connector {
        options,
        news,
        state,
        sick: sick_receiver,
        waiters,
        draw: Draw::new(u64::from_le_bytes(seed)),
        index: 0,
        has_failed: false,
        round: Round::default(),
        links: 0,
        failures: 0,
        logins: 0,
        draws: 0,
    };
    (links, connector)
}

/// What the endpoints have said since one could be used. One that refuses the login may be of
/// another cluster, so it counts only when no other can be used.
#[derive(Default)]
struct Round {
    tried: usize,
    refusal: Option<Refusal>,
}

impl Round {
    /// That the login is refused, once all of so many endpoints were tried.
    fn refused(&mut self, error: &ConnectError, endpoints: usize) -> Option<Refusal> {
        self.tried += 1;
        self.refusal = error.refusal().or(self.refusal.take());
        if self.tried < endpoints {
            return None;
        }
        std::mem::take(self).refusal
    }
}

impl Connector {
    pub(super) async fn run(mut self) {
        loop {
            while self.waiters.count.load(Ordering::Relaxed) == 0 {
                self.waiters.came.notified().await;
            }
            let Some(endpoint) = self.options.endpoints.get(self.index).cloned() else { return };
            let Found { used, errors } = match self.has_failed {
                true => race(&self.options, self.index).await,
                false => Found::of(self.index, connect(&self.options, &endpoint).await),
            };
            let mut refused = None;
            for error in errors {
                refused = self.on_error(&error).await.or(refused);
            }
            let mut pause = None;
            if let Some((index, connection)) = used {
                self.index = index;
                self.round = Round::default();
                self.use_until_sick(connection).await;
            } else if let Some(refusal) = refused {
                // Told to all who ask until the next attempt.
                self.state.send_replace(State::Refused(refusal));
                pause = Some(BACKOFF.longest);
            }
            if let Some(pause) = pause.or_else(|| self.pause()) {
                tokio::time::sleep(pause).await;
            }
            self.state.send_replace(State::Away);
        }
    }

    /// An endpoint could not be used. That all refuse the login, if so.
    async fn on_error(&mut self, error: &ConnectError) -> Option<Refusal> {
        self.failures = self.failures.saturating_add(1);
        self.turn();
        let why = shorten(error);
        let endpoint = error.endpoint().or_else(|| self.options.endpoints.first()).cloned();
        if let Some(endpoint) = endpoint {
            self.tell(News::Unreachable { endpoint, why }).await;
        }
        self.round.refused(error, self.options.endpoints.len())
    }

    async fn use_until_sick(&mut self, connection: Connection) {
        let Some(endpoint) = self.options.endpoints.get(self.index).cloned() else { return };
        self.has_failed = false;
        self.links += 1;
        let (number, since) = (self.links, clock::now());
        let Connection { client, status } = connection;
        let link = Link { number, client, endpoint, answered: AtomicU64::new(since.as_nanos()) };
        let link = Arc::new(link);
        self.tell(News::Connected { endpoint: link.endpoint.clone(), status }).await;
        self.state.send_replace(State::Up(link.clone()));
        let sick = self.sick.wait_for(|sick| sick.number >= number).await;
        let Ok(Sick { login, why, .. }) = sick.map(|sick| sick.clone()) else { return };
        self.state.send_replace(State::Away);
        let good = clock::now().since(since) > GOOD_AFTER;
        let count = if login { &mut self.logins } else { &mut self.failures };
        *count = if good { 0 } else { count.saturating_add(1) };
        self.tell(News::Disconnected { endpoint: link.endpoint.clone(), why }).await;
        if !login {
            self.turn();
            return;
        }
        // The endpoint is good, and others would say the same: only not to log in all the time,
        // which etcd makes slow on purpose.
        self.failures = 0;
        if let Some(again) = self.logins.checked_sub(1) {
            tokio::time::sleep(self.pause_of(LOGIN, again)).await;
        }
    }

    fn turn(&mut self) {
        self.has_failed = true;
        self.index = (self.index + 1) % self.options.endpoints.len();
    }

    /// Every endpoint is tried before there is a pause: one of them may do.
    fn pause(&mut self) -> Option<Duration> {
        let endpoints = u32::try_from(self.options.endpoints.len()).unwrap_or(u32::MAX);
        let rounds = self.failures / endpoints;
        if rounds == 0 {
            return None;
        }
        Some(self.pause_of(BACKOFF, rounds))
    }

    fn pause_of(&mut self, backoff: Backoff, failures: u32) -> Duration {
        self.draws += 1;
        backoff.pause(failures, |bound| self.draw.span(bound, "endpoints", "pause", self.draws))
    }

    async fn tell(&self, news: News) {
        // Nobody listens any more: this task ends soon, too.
        let _ = self.news.send(news).await;
    }
}
