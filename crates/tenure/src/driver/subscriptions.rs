//! Observers on the driver's side, and the states that they may have missed.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{ElectionName, View};
use tokio::sync::watch;

use crate::request::{ObserveReply, VersionedView};

/// A subscription for each observed election, which all its observers share.
#[derive(Debug, Default)]
pub struct Subscriptions {
    subscriptions: BTreeMap<ElectionName, Subscription>,
}

#[derive(Debug)]
struct Subscription {
    latest: watch::Sender<VersionedView>,
    every: Duration,
    newcomers: Newcomers,
    missed: bool,
}

/// Observers whose first view must be newer than their arrival.
#[derive(Debug, Default)]
struct Newcomers {
    looked_for: Option<Vec<ObserveReply>>,
    /// Observers that came after the query for the others had begun.
    later: Vec<ObserveReply>,
}

impl Subscription {
    fn new(every: Duration) -> Self {
        let (latest, _) = watch::channel(VersionedView::default());
        Self { latest, every, newcomers: Newcomers::default(), missed: false }
    }

    fn is_deserted(&mut self) -> bool {
        let Newcomers { looked_for, later } = &mut self.newcomers;
        let waiting = looked_for.iter_mut().chain([later]);
        let anybody = waiting.fold(false, |anybody, replies| {
            replies.retain(|reply| !reply.is_dropped());
            anybody || !replies.is_empty()
        });
        !anybody && self.latest.receiver_count() == 0
    }

    fn welcome(&mut self) {
        for reply in self.newcomers.looked_for.take().into_iter().flatten() {
            reply.show(self.latest.subscribe());
        }
    }
}

impl Subscriptions {
    /// Adds an observer of an election. Returns an interval if the core must begin to query, or
    /// query more often: the shortest interval of all its observers.
    #[must_use]
    pub fn observe(
        &mut self,
        election: &ElectionName,
        every: Duration,
        reply: ObserveReply,
    ) -> Option<Duration> {
        let known = self.subscriptions.get_mut(election);
        let new = known.is_none();
        let subscription = match known {
            Some(subscription) => subscription,
            None => self.subscriptions.entry(election.clone()).or_insert(Subscription::new(every)),
        };
        let faster = every < subscription.every;
        subscription.every = subscription.every.min(every);
        reply.show(subscription.latest.subscribe());
        (new || faster).then_some(every)
    }

    /// Adds an observer whose first view must be newer than its arrival. Returns the interval if
    /// the core must query now: the core's next view is then the first for this observer.
    #[must_use]
    pub fn observe_afresh(
        &mut self,
        election: &ElectionName,
        every: Duration,
        reply: ObserveReply,
    ) -> Option<Duration> {
        let subscription =
            self.subscriptions.entry(election.clone()).or_insert(Subscription::new(every));
        subscription.every = subscription.every.min(every);
        let Newcomers { looked_for, later } = &mut subscription.newcomers;
        if looked_for.is_some() {
            later.push(reply);
            return None;
        }
        *looked_for = Some(vec![reply]);
        Some(subscription.every)
    }

    /// Returns the interval of queries if observers came during the last query, so that the core
    /// must query again.
    #[must_use]
    pub fn look_again(&mut self, election: &ElectionName) -> Option<Duration> {
        let subscription = self.subscriptions.get_mut(election)?;
        let Newcomers { looked_for, later } = &mut subscription.newcomers;
        let owed = looked_for.is_none() && !later.is_empty();
        if owed {
            *looked_for = Some(std::mem::take(later));
        }
        owed.then_some(subscription.every)
    }

    /// Ends all observations of an election: its observers learn that no view follows.
    pub fn close(&mut self, election: &ElectionName) {
        self.subscriptions.remove(election);
    }

    /// Handles the departure of an observer; true if it was the last, so that the core must stop
    /// observing.
    #[must_use]
    pub fn unobserve(&mut self, election: &ElectionName) -> bool {
        let alone = self.subscriptions.get_mut(election).is_some_and(Subscription::is_deserted);
        if alone {
            self.subscriptions.remove(election);
        }
        alone
    }

    /// Notes that the core may have missed states since its last view: observers get
    /// [`Change::Reset`](crate::Change::Reset) before the next view.
    pub fn missed(&mut self, election: &ElectionName) {
        if let Some(subscription) = self.subscriptions.get_mut(election) {
            subscription.missed = true;
        }
    }

    /// Publishes a view of the core. The view may be the same as before.
    pub fn see(&mut self, election: &ElectionName, view: View) {
        let Some(subscription) = self.subscriptions.get_mut(election) else { return };
        let missed = std::mem::take(&mut subscription.missed);
        subscription.latest.send_if_modified(|latest| {
            let changed = missed || !latest.view.as_ref().is_some_and(|known| known.is_same(&view));
            // After a gap skip a version, so that each observer learns that it missed a state.
            latest.version += u64::from(changed) + u64::from(missed);
            latest.view = Some(view);
            changed
        });
        subscription.welcome();
    }
}
