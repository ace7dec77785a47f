//! An election, as a candidate or an observer holds it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ElectionName, View};

use crate::campaign::Campaign;
use crate::clock;
use crate::observe::Observer;
use crate::request::{DriverHandle, ObserveReply, Request};
use crate::safety::SafetyClass;

/// How often observers ask unless told otherwise.
const OBSERVE_EVERY: Duration = Duration::from_millis(250);
/// The priority of a candidate that names none.
pub(crate) const PRIORITY: u8 = 100;

/// An election: a role that one leader at a time is to have.
///
/// A participant of a protocol makes elections, such as `tenure_nerio::Node`, and each election
/// keeps its participant going. Clones are the same election. Dropping an election changes nothing.
pub struct Election<C: SafetyClass> {
    driver: Arc<dyn DriverHandle<C>>,
    name: ElectionName,
}

impl<C: SafetyClass> Clone for Election<C> {
    fn clone(&self) -> Self {
        Self { driver: self.driver.clone(), name: self.name.clone() }
    }
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

    /// Campaigns until this participant leads. `value` is what others are told of the leader,
    /// such as its address; with Nerio at most 128 bytes without control characters.
    ///
    /// Waits as long as it takes, and [`Campaign::waiting`] says for what; an error means that it
    /// can never win. Dropping the future withdraws the candidacy, and gives the leadership up if
    /// it was won in that moment.
    pub fn campaign(&self, value: &str) -> Campaign<C> {
        self.campaign_with(value, PRIORITY)
    }

    /// Campaigns with a priority: among those who wait the highest goes first, where the protocol
    /// can do so, as Nerio can (where not, in the order in which they came); nobody who leads
    /// is ever put out of office by it. Dropping the future withdraws the candidacy.
    pub fn campaign_with(&self, value: &str, priority: u8) -> Campaign<C> {
        Campaign::new(self.driver.clone(), self.name.clone(), value.to_owned(), priority)
    }

    /// Follows who leads. Costs the election nothing: those who know are asked. A store is asked
    /// anew for each observer: its first state is not from before this call.
    #[must_use]
    pub fn observe(&self) -> Observer {
        self.observe_every(OBSERVE_EVERY)
    }

    /// Follows who leads, asking at least this often; a store that tells of changes by itself is
    /// not asked more often for it.
    #[must_use]
    pub fn observe_every(&self, every: Duration) -> Observer {
        let (reply, answer) = ObserveReply::new();
        self.driver.request(Request::Observe { election: self.name.clone(), every, reply });
        // An observer keeps no participant going.
        let driver = Arc::downgrade(&self.driver);
        let election = self.name.clone();
        let leave = move || {
            if let Some(driver) = driver.upgrade() {
                driver.request(Request::Unobserve { election });
            }
        };
        Observer::new(answer, Box::new(leave))
    }

    /// Asks who leads now, until the answer is known or `patience` is over. Cancel safe. Unknown at
    /// once when the participant is closed, or cannot observe this election.
    ///
    /// A store is asked anew each time; what Nerio's grantors said to another observer of this
    /// process counts as long as it would for that one.
    pub async fn leader(&self, patience: Duration) -> View {
        let mut observer = self.observe();
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
