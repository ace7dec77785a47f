//! Troubles between a client and its service, for commands and for warnings.
#![allow(dead_code, reason = "a build may lack the one protocol that needs all of it")]

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

use super::outage::{Endpoints, Outage};
use super::{Later, refused};
use crate::explain::{UNREACHABLE, tagged};
use crate::failure::{self, Failure};

/// The longest wait for this process's own checks.
pub(super) const STARTING: Duration = Duration::from_secs(1);

/// Hands each notice to `on` until the node ends. A slow listener misses the oldest notices.
pub(super) async fn for_each<N: Clone>(mut notices: Receiver<N>, mut on: impl FnMut(&N)) {
    loop {
        match notices.recv().await {
            Ok(notice) => on(&notice),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The present troubles, on request.
pub(super) struct Troubles(watch::Receiver<State>);

#[derive(Clone, Default)]
struct State {
    /// The trouble that does not pass by itself.
    permanent: Option<Failure>,
    /// The reason why the service does not answer.
    silent: Option<Failure>,
    outage: Option<Outage>,
    own: Option<String>,
}

impl Troubles {
    /// Resolves with the permanent trouble, once there is one.
    pub(super) fn permanent(&self) -> Later<'static, Failure> {
        let mut state = self.0.clone();
        Box::pin(async move {
            let found = state.wait_for(|state| state.permanent.is_some()).await;
            match found.ok().and_then(|state| state.permanent.clone()) {
                Some(failure) => failure,
                // The watcher has ended without a permanent trouble.
                None => std::future::pending().await,
            }
        })
    }

    /// The failure of a campaign that was refused: an earlier trouble says more than `why`.
    pub(super) fn refused(&self, why: String) -> Later<'static, Failure> {
        let found = self.permanent();
        Box::pin(async move {
            let found = tokio::time::timeout(STARTING, found).await;
            found.unwrap_or_else(|_| refused(why))
        })
    }

    /// Resolves once the service does not answer.
    pub(super) fn silence(&self) -> Later<'static, ()> {
        let mut state = self.0.clone();
        Box::pin(async move {
            if state.wait_for(|state| state.silent.is_some()).await.is_err() {
                // The watcher has ended.
                std::future::pending().await
            }
        })
    }

    pub(super) fn why_silent(&self) -> Later<'static, Option<Failure>> {
        Box::pin(std::future::ready(self.0.borrow().silent.clone()))
    }

    pub(super) fn own(&self) -> Option<String> {
        self.0.borrow().own.clone()
    }

    /// The length of the present outage, in words.
    pub(super) fn outage(&self) -> Option<String> {
        self.0.borrow().outage.as_ref().map(|outage| outage.told(tenure::clock::now()))
    }
}

/// Finds troubles, records them, and warns.
pub(super) struct Watch<About> {
    /// Whether to warn. A process that only asks puts troubles into its answer instead.
    aloud: bool,
    state: watch::Sender<State>,
    /// The latest warning on each subject, repeated only when it changes.
    warned: BTreeMap<About, String>,
    endpoints: Endpoints,
}

impl<About: Ord> Watch<About> {
    pub(super) fn new(aloud: bool) -> (Self, Troubles) {
        let (state, troubles) = watch::channel(State::default());
        let warned = BTreeMap::new();
        let endpoints = Endpoints::default();
        (Self { aloud, state, warned, endpoints }, Troubles(troubles))
    }

    pub(super) fn give_up(&self, failure: Failure) {
        self.state.send_modify(|state| state.permanent = Some(failure));
    }

    /// Forgets a permanent trouble that has ended after all.
    pub(super) fn goes_on(&self) {
        self.state.send_modify(|state| state.permanent = None);
    }

    /// A function by which another task records a permanent trouble.
    pub(super) fn giving_up(&self) -> impl Fn(Failure) + Send + use<About> {
        let state = self.state.clone();
        move |failure| state.send_modify(|state| state.permanent = Some(failure))
    }

    /// Records that the service does not answer. The first reason stays, because it says more.
    pub(super) fn is_silent(&self, why: impl FnOnce() -> Failure) {
        self.state.send_modify(|state| {
            state.silent.get_or_insert_with(why);
        });
    }

    /// Replaces the first reason by a reason that says more.
    pub(super) fn is_of_no_use(&self, why: Failure) {
        self.state.send_modify(|state| state.silent = Some(why));
    }

    pub(super) fn is_connected(&mut self, endpoint: &str) {
        self.works(endpoint);
        self.state.send_modify(|state| (state.silent, state.outage) = (None, None));
    }

    pub(super) fn works(&mut self, endpoint: &str) {
        self.endpoints.works(endpoint);
    }

    /// Records a trouble of an endpoint without a warning.
    pub(super) fn knows_of(&mut self, endpoint: &str, why: &str) {
        self.endpoints.is_news(endpoint, why);
    }

    /// Warns of each reason once, until the endpoint is in use again.
    pub(super) fn warn_of(&mut self, endpoint: &str, text: &str) {
        if self.endpoints.is_news(endpoint, text) && self.aloud {
            failure::warn(&tagged(text, UNREACHABLE));
        }
    }

    /// Records an unusable endpoint. A candidate still waits: each connection reads the certificate
    /// files again, and a network may recover.
    pub(super) fn goes_on_without(
        &mut self,
        endpoint: &str,
        text: &str,
        why: impl FnOnce() -> Failure,
    ) {
        self.warn_of(endpoint, text);
        self.is_silent(why);
        let now = tenure::clock::now();
        let mut again = None;
        self.state.send_modify(|state| match &mut state.outage {
            Some(outage) => again = outage.goes_on(now, text),
            None => state.outage = Some(Outage::new(now, text)),
        });
        if let Some(again) = again.filter(|_| self.aloud) {
            failure::warn(&tagged(&again, UNREACHABLE));
        }
    }

    /// Records a trouble of this process itself, or its end.
    pub(super) fn is_hampered(&self, by: Option<String>) {
        self.state.send_modify(|state| state.own = by);
    }

    pub(super) fn warn(&mut self, about: About, text: &str) {
        let before = self.warned.insert(about, text.to_owned());
        if self.aloud && before.is_none_or(|before| before != text) {
            failure::warn(text);
        }
    }

    /// Forgets warnings whose subject is over, so that the warnings count as new when the subject
    /// comes back.
    pub(super) fn forget(&mut self, is_over: impl Fn(&About) -> bool) {
        self.warned.retain(|about, _| !is_over(about));
    }
}
