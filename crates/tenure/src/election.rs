//! An election, as candidates and observers hold it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ElectionName, View};

use crate::campaign::Campaign;
use crate::clock;
use crate::observe::Observer;
use crate::request::{DriverHandle, ObserveReply, Request};
use crate::safety::SafetyClass;

/// Default interval of observers' queries.
const OBSERVE_EVERY: Duration = Duration::from_millis(250);
/// Default priority of candidates.
pub(crate) const PRIORITY: u8 = 100;

/// An election: a role that has one leader at a time.
///
/// A participant of a protocol makes elections, such as `tenure_nerio::Node`. The participant runs
/// as long as one of its elections exists. Clones are the same election. Dropping an election
/// changes nothing else.
#[derive(Clone)]
pub struct Election<C: SafetyClass> {
    driver: Arc<dyn DriverHandle<C>>,
    name: ElectionName,
}

impl<C: SafetyClass> fmt::Debug for Election<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Election({})", self.name)
    }
}

impl<C: SafetyClass> Election<C> {
    pub(crate) fn new(driver: Arc<dyn DriverHandle<C>>, name: ElectionName) -> Self {
        Self { driver, name }
    }

    /// The name of the election.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        &self.name
    }

    /// The longest time for which a leader of this election leads without a renewal. A view that is
    /// older says nothing about the present.
    #[must_use]
    pub fn lease_max(&self) -> Duration {
        self.driver.timing().resignation_max
    }

    /// Campaigns until this participant leads. While it leads, others see `value`, such as its
    /// address; with Nerio at most 128 bytes without control characters.
    ///
    /// The future waits as long as necessary, and [`Campaign::waiting`] gives the reason. An error
    /// means that the campaign can never win. Dropping the future withdraws the candidacy, or gives
    /// up a leadership that was won at that moment.
    pub fn campaign(&self, value: &str) -> Campaign<C> {
        self.campaign_with(value, PRIORITY)
    }

    /// Campaigns with a priority. In protocols with priorities, such as Nerio, the waiting
    /// candidate with the highest priority leads next; in others the first in the queue. A priority
    /// never ends another leadership. Dropping the future withdraws the candidacy.
    pub fn campaign_with(&self, value: &str, priority: u8) -> Campaign<C> {
        Campaign::new(self.driver.clone(), self.name.clone(), value.to_owned(), priority)
    }

    /// Follows the leader. The observer queries other participants, which does not disturb the
    /// election. A store is queried anew for each observer, so that the observer's first state is
    /// newer than this call.
    #[must_use]
    pub fn observe(&self) -> Observer {
        self.observe_every(OBSERVE_EVERY)
    }

    /// Follows the leader, and queries the store at least at this interval. A store that reports
    /// changes by itself is not queried more often.
    #[must_use]
    pub fn observe_every(&self, every: Duration) -> Observer {
        self.observer(every, false)
    }

    fn observer(&self, every: Duration, afresh: bool) -> Observer {
        let (reply, answer) = ObserveReply::new();
        let election = self.name.clone();
        self.driver.request(Request::Observe { election, every, afresh, reply });
        // An observer does not keep its participant running.
        let driver = Arc::downgrade(&self.driver);
        let election = self.name.clone();
        let leave = move || {
            if let Some(driver) = driver.upgrade() {
                driver.request(Request::Unobserve { election: election.clone() });
            }
        };
        Observer::new(answer, Box::new(leave))
    }

    /// Queries which node leads, until the answer is known or `patience` is over. Cancel safe. The
    /// answer is unknown at once if the participant is closed, or cannot observe this election.
    ///
    /// A store is queried anew each time. With Nerio, this call shares the answers of grantors with
    /// other observers of this process, as long as those observers would use the answers.
    pub async fn leader(&self, patience: Duration) -> View {
        Self::first(self.observe(), patience).await
    }

    /// Queries the leader like [`leader`](Self::leader), and uses no answer from before the call:
    /// with Nerio the grantors are queried anew, too. Where processes hear of leaders without a
    /// query, the answer is what this process knows now.
    pub async fn leader_anew(&self, patience: Duration) -> View {
        Self::first(self.observer(OBSERVE_EVERY, true), patience).await
    }

    async fn first(mut observer: Observer, patience: Duration) -> View {
        let since = clock::now();
        let known = async {
            loop {
                match observer.next().await {
                    Some(change) => match change.view() {
                        Some(View::Unknown { .. }) | None => {}
                        Some(view) => return Some(view.clone()),
                    },
                    None => return None,
                }
            }
        };
        let known = tokio::time::timeout(patience, known).await;
        known.ok().flatten().unwrap_or(View::Unknown { since })
    }
}
