//! The connection in use, and its login; the `connector` makes both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use etcd_client::Client;
use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::Refusal;
use tokio::sync::{Notify, watch};

use crate::endpoint::Endpoint;

/// A login on a connection. Calls under way on a link go on when its connection gets a newer link.
pub(super) struct Link {
    /// The number grows from one link to the next.
    pub(super) number: u64,
    pub(super) client: Client,
    pub(super) connection: Arc<LinkConnection>,
}

pub(super) struct LinkConnection {
    /// The number grows from one connection to the next.
    pub(super) number: u64,
    pub(super) endpoint: Endpoint,
    /// Time of the store's last answer on this connection, in nanoseconds of `CLOCK_BOOTTIME`.
    answered: AtomicU64,
}

impl LinkConnection {
    pub(super) fn new(number: u64, endpoint: Endpoint) -> Self {
        Self { number, endpoint, answered: AtomicU64::new(clock::now().as_nanos()) }
    }

    /// Whether the store has not answered since `sent`.
    pub(super) fn is_silent_since(&self, sent: Time) -> bool {
        self.answered.load(Ordering::Relaxed) < sent.as_nanos()
    }
}

impl Link {
    /// Notes an answer of the store.
    pub(super) fn note_answer(&self) {
        self.connection.answered.store(clock::now().as_nanos(), Ordering::Relaxed);
    }
}

#[derive(Clone)]
pub(super) enum State {
    Away,
    Up(Arc<Link>),
    /// The last attempt was refused for a reason that time does not mend.
    Refused(Refusal),
}

/// The connection and the link that must not be used any more, by their numbers, with the reasons.
#[derive(Clone, Default)]
pub(super) struct BrokenLinks {
    pub(super) connection: u64,
    pub(super) lost: Arc<str>,
    /// The number of the last link whose login is no longer valid.
    pub(super) link: u64,
    pub(super) stale: Arc<str>,
}

/// The tasks that wait for a link. The connector connects only while a task waits.
#[derive(Default)]
pub(super) struct Waiters {
    count: AtomicUsize,
    came: Notify,
}

impl Waiters {
    /// Waits until a task waits for a link.
    pub(super) async fn any(&self) {
        while self.count.load(Ordering::Relaxed) == 0 {
            self.came.notified().await;
        }
    }
}

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

/// The link in use, for every task that sends. Clones share the link.
#[derive(Clone)]
pub(super) struct Links {
    state: watch::Receiver<State>,
    broken: Arc<watch::Sender<BrokenLinks>>,
    waiters: Arc<Waiters>,
    pub(super) has_login: bool,
}

impl Links {
    pub(super) fn new(
        state: watch::Receiver<State>,
        broken: watch::Sender<BrokenLinks>,
        waiters: Arc<Waiters>,
        has_login: bool,
    ) -> Self {
        Self { state, broken: Arc::new(broken), waiters, has_login }
    }

    /// Waits for a link whose number is above `newer_than`, however long this takes. Fails with
    /// etcd's refusal of the login.
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
            // The connector has ended, and with it the tasks that wait here.
            State::Away => std::future::pending().await,
        }
    }

    /// Whether the connection of that link has a newer login, or another connection is in use.
    pub(super) fn is_newer_than(&self, link: &Link) -> bool {
        matches!(&*self.state.borrow(), State::Up(up) if up.number > link.number)
    }

    /// Waits until the connection of that number is not in use any more.
    pub(super) async fn gone(&self, number: u64) {
        let mut state = self.state.clone();
        let is_other =
            |state: &State| !matches!(state, State::Up(link) if link.connection.number == number);
        let _ = state.wait_for(is_other).await;
    }

    /// Gives up the connection in use: the connector tries the next endpoint.
    pub(super) fn leave(&self, why: &Arc<str>) {
        if let State::Up(link) = &*self.state.borrow() {
            self.lost(link, why);
        }
    }

    /// Gives up the broken connection of this link: the connector tries the next endpoint.
    pub(super) fn lost(&self, link: &Link, why: &Arc<str>) {
        self.broken.send_if_modified(|broken| {
            let newer = broken.connection < link.connection.number;
            if newer {
                broken.connection = link.connection.number;
                broken.lost = why.clone();
            }
            newer
        });
    }

    /// Marks the login of this link as no longer valid: the connector logs in again on the same
    /// connection.
    pub(super) fn stale(&self, link: &Link, said: &Arc<str>) {
        self.broken.send_if_modified(|broken| {
            let newer = broken.link < link.number;
            if newer {
                broken.link = link.number;
                broken.stale = said.clone();
            }
            newer
        });
    }
}
