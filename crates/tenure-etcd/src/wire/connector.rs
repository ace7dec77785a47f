//! Makes a link when a task wants one, and keeps its login good.
//!
//! The connector replaces a login with a known end at a random point between half and three
//! quarters of its time. So clients that logged in together, after a member failed, do not log in
//! together again. The earlier login stays in use until the new login succeeds. The connector
//! replaces a login without a known end after the first request that fails; this request waits for
//! the new login. The connection stays open in both cases.

use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure_core::etcd::{BACKOFF, Refusal};
use tenure_core::{Backoff, Draw, Time};
use tokio::sync::{mpsc, watch};

use super::Incoming;
use super::connect::{ConnectError, Connection, Status, connect, log_in_again};
use super::fault::shorten;
use super::links::{BrokenLinks, Link, LinkConnection, Links, State, Waiters};
use super::login::Login;
use super::race::{RaceResult, race};
use crate::notice::Notice;
use crate::options::CheckedOptions;

/// A connection or login that lasts this long counts as good.
const GOOD_AFTER: Duration = Duration::from_secs(5);
/// The pause before another login: short, because renewals wait for it.
const LOGIN: Backoff =
    Backoff { first: Duration::from_millis(20), longest: Duration::from_millis(200) };
/// The connector does not renew a login ahead of its end if the login lasts for less than this
/// time. Otherwise the connector would log in all the time, and etcd makes logins slow on purpose.
const AHEAD_FROM: Duration = Duration::from_secs(2);
/// The longest time until the connector renews a login.
const AHEAD_MAX: Duration = Duration::from_hours(24);

/// Makes a link when a task wants one.
pub(super) struct Connector {
    options: CheckedOptions,
    incoming: mpsc::Sender<Incoming>,
    state: watch::Sender<State>,
    broken: watch::Receiver<BrokenLinks>,
    waiters: Arc<Waiters>,
    draw: Draw,
    /// Index of the endpoint in use, or of the next to try.
    index: usize,
    /// Whether the last endpoint failed: the next attempt then asks the other endpoints side by
    /// side.
    has_failed: bool,
    round: Round,
    connections: u64,
    links: u64,
    /// Number of failures in a row: attempts to connect that failed, and connections that failed
    /// soon after their start.
    failures: u32,
    /// Logins in a row that lasted no longer than [`GOOD_AFTER`].
    logins: u32,
    draws: u64,
}

pub(super) fn new(options: CheckedOptions, incoming: mpsc::Sender<Incoming>) -> (Links, Connector) {
    let (state, receiver) = watch::channel(State::Away);
    let (broken, broken_receiver) = watch::channel(BrokenLinks::default());
    let waiters = Arc::new(Waiters::default());
    let has_login = options.credentials.is_some();
    let links = Links::new(receiver, broken, waiters.clone(), has_login);
    let mut seed = [0; 8];
    // Without randomness many processes may come back at the same time, which only costs time.
    let _ = getrandom::fill(&mut seed);
    let connector = Connector {
        options,
        incoming,
        state,
        broken: broken_receiver,
        waiters,
        draw: Draw::new(u64::from_le_bytes(seed)),
        index: 0,
        has_failed: false,
        round: Round::default(),
        connections: 0,
        links: 0,
        failures: 0,
        logins: 0,
        draws: 0,
    };
    (links, connector)
}

/// Errors of the endpoints since an endpoint last worked. An endpoint that refuses the login may be
/// of another cluster, so its refusal counts only when no other endpoint can be used.
#[derive(Default)]
struct Round {
    tried: usize,
    refusal: Option<Refusal>,
}

impl Round {
    /// The refusal of the login, once all endpoints were tried.
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
            self.waiters.any().await;
            let Some(endpoint) = self.options.endpoints.get(self.index).cloned() else { return };
            let RaceResult { used, errors } = if self.has_failed {
                race(&self.options, self.index).await
            } else {
                RaceResult::of(self.index, connect(&self.options, &endpoint).await)
            };
            let mut refused = None;
            for error in errors {
                refused = self.on_error(&error).await.or(refused);
            }
            let mut pause = None;
            if let Some((index, connection)) = used {
                self.index = index;
                self.round = Round::default();
                self.use_until_broken(connection).await;
            } else if let Some(refusal) = refused {
                // All tasks that ask before the next attempt get the refusal.
                self.state.send_replace(State::Refused(refusal));
                pause = Some(BACKOFF.longest);
            }
            if let Some(pause) = pause.or_else(|| self.pause()) {
                tokio::time::sleep(pause).await;
            }
            self.state.send_replace(State::Away);
        }
    }

    /// Notes that an endpoint could not be used. Returns the refusal if all endpoints refuse the
    /// login.
    async fn on_error(&mut self, error: &ConnectError) -> Option<Refusal> {
        self.failures = self.failures.saturating_add(1);
        self.turn();
        let why = shorten(&error.told());
        let endpoint = error.endpoint().or_else(|| self.options.endpoints.first()).cloned();
        if let Some(endpoint) = endpoint {
            self.tell(Notice::Unreachable { endpoint, why }).await;
        }
        self.round.refused(error, self.options.endpoints.len())
    }

    async fn use_until_broken(&mut self, connection: Connection) {
        let Some(endpoint) = self.options.endpoints.get(self.index).cloned() else { return };
        self.has_failed = false;
        self.connections += 1;
        let Connection { login, left, status } = connection;
        let connection = Arc::new(LinkConnection::new(self.connections, endpoint.clone()));
        let since = clock::now();
        let Status { cluster, member, version, .. } = status;
        let used = endpoint.clone();
        self.tell(Notice::Connected { endpoint: used, cluster, member, version }).await;
        let mut until = left.map(|left| since.after(left));
        let why = loop {
            self.links += 1;
            let client = login.client.clone();
            let link =
                Arc::new(Link { number: self.links, client, connection: connection.clone() });
            self.state.send_replace(State::Up(link.clone()));
            match self.until_login(&link, &login, until).await {
                Ok(next) => until = next,
                Err(why) => break why,
            }
        };
        self.state.send_replace(State::Away);
        let good = clock::now().since(since) > GOOD_AFTER;
        self.failures = if good { 0 } else { self.failures.saturating_add(1) };
        self.tell(Notice::Disconnected { endpoint, why }).await;
        self.turn();
    }

    /// Waits for a newer login on the connection of this link, and returns the end of that login,
    /// if known. Fails with the reason if the connection must be given up.
    async fn until_login(
        &mut self,
        link: &Link,
        login: &Login,
        until: Option<Time>,
    ) -> Result<Option<Time>, Arc<str>> {
        let since = clock::now();
        let endpoint = &link.connection.endpoint;
        loop {
            let ahead = until.and_then(|until| self.ahead(until.since(clock::now())));
            let stale = tokio::select! {
                stale = stale_or_lost(&mut self.broken, link) => Some(stale?),
                () = tokio::time::sleep(ahead.unwrap_or_default()), if ahead.is_some() => None,
            };
            if stale.is_none() && link.connection.is_silent_since(since) {
                // The login is not renewed: the idle link may never be needed again.
                continue;
            }
            let pause = stale.as_ref().and_then(|_| self.pause_before_login(since));
            let options = self.options.clone();
            let logging_in = async {
                tokio::time::sleep(pause.unwrap_or_default()).await;
                (clock::now(), log_in_again(&options, endpoint, login).await)
            };
            let (sent, done) = tokio::select! {
                why = lost(&mut self.broken, link) => return Err(why),
                done = logging_in => done,
            };
            let endpoint = endpoint.clone();
            match (done, stale) {
                (Ok(left), why) => {
                    self.tell(Notice::LoggedIn { endpoint, why }).await;
                    return Ok(left.map(|left| sent.after(left)));
                }
                (Err(error), Some(said)) => {
                    return Err(shorten(&format!("{said}, and then: {error}")));
                }
                (Err(error), None) => {
                    let why = shorten(&error);
                    self.tell(Notice::NotLoggedIn { endpoint, why }).await;
                }
            }
        }
    }

    /// The time from now until the connector renews a login that is good for `left`.
    fn ahead(&mut self, left: Duration) -> Option<Duration> {
        if left < AHEAD_FROM {
            return None;
        }
        self.draws += 1;
        let later = self.draw.span(left / 4, "endpoints", "login", self.draws);
        Some((left / 2 + later).min(AHEAD_MAX))
    }

    /// The pause before the next login, so that the connector does not log in all the time.
    fn pause_before_login(&mut self, since: Time) -> Option<Duration> {
        let good = clock::now().since(since) > GOOD_AFTER;
        self.logins = if good { 0 } else { self.logins.saturating_add(1) };
        let again = self.logins.checked_sub(1)?;
        Some(self.pause_of(LOGIN, again))
    }

    fn turn(&mut self) {
        self.has_failed = true;
        self.index = (self.index + 1) % self.options.endpoints.len();
    }

    /// The pause before the next endpoint. `None` until all endpoints were tried: each may work.
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

    async fn tell(&self, link: Notice) {
        // The send fails when the driver is gone: this task ends soon, too.
        let _ = self.incoming.send(Incoming::Link(link)).await;
    }
}

/// Waits until the login of this link is no longer valid, and returns etcd's text. Fails with the
/// reason if the connection must be given up.
async fn stale_or_lost(
    broken: &mut watch::Receiver<BrokenLinks>,
    link: &Link,
) -> Result<Arc<str>, Arc<str>> {
    let is_it = |broken: &BrokenLinks| {
        broken.connection >= link.connection.number || broken.link >= link.number
    };
    match broken.wait_for(is_it).await {
        Ok(broken) if broken.connection >= link.connection.number => Err(broken.lost.clone()),
        Ok(broken) => Ok(broken.stale.clone()),
        Err(_) => Err("no task uses the connection any more".into()),
    }
}

/// Waits for the reason to give up the connection of this link.
async fn lost(broken: &mut watch::Receiver<BrokenLinks>, link: &Link) -> Arc<str> {
    match broken.wait_for(|broken| broken.connection >= link.connection.number).await {
        Ok(broken) => broken.lost.clone(),
        Err(_) => "no task uses the connection any more".into(),
    }
}
