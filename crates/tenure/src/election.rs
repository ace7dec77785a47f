//! An election, as a candidate or an observer holds it.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{LeaderView, View};
use tenure_core::{ElectionName, Fence, NodeName, Time, Value};
use tokio::sync::oneshot;

use crate::clock;
use crate::error::{CampaignError, FindError, VerifyError};
use crate::kind::{AtMostOne, Kind};
use crate::leadership::{Leadership, Resignation};
use crate::nerio::{Node, Order, Proof, Taken};
use crate::observe::Observer;

/// How often observers ask unless told otherwise.
const OBSERVE_EVERY: Duration = Duration::from_millis(250);
/// The priority of a candidate that names none.
const PRIORITY: u8 = 100;

/// An election: something of which there is to be one leader.
///
/// Clones are the same election. Dropping it changes nothing.
pub struct Election<K> {
    node: Node,
    name: ElectionName,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Election<K> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), name: self.name.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Election<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Election({})", self.name)
    }
}

impl<K: Kind> Election<K> {
    pub(crate) fn new(node: Node, name: ElectionName) -> Self {
        Self { node, name, kind: PhantomData }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        &self.name
    }

    /// Follows who leads. Costs the election nothing: grantors answer questions.
    #[must_use]
    pub fn observe(&self) -> Observer {
        self.observe_every(OBSERVE_EVERY)
    }

    /// Follows who leads, asking the grantors at least this often.
    #[must_use]
    pub fn observe_every(&self, every: Duration) -> Observer {
        let (reply, answer) = oneshot::channel();
        self.node.order(Order::Observe { election: self.name.clone(), every, reply });
        Observer::new(answer)
    }

    /// Who leads now, asking until a quorum of grantors agrees or `patience` is over.
    /// Cancel safe.
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

impl Election<AtMostOne> {
    /// Campaigns until this node leads. `value` is what others are told of the leader, such as
    /// its address: at most 128 bytes without control characters.
    ///
    /// Waits as long as it takes; an error means that it can never win. Dropping the future
    /// withdraws the candidacy, and gives the leadership up if it was won in that moment.
    pub async fn campaign(&self, value: &str) -> Result<Leadership<AtMostOne>, CampaignError> {
        self.campaign_with(value, PRIORITY).await
    }

    /// Campaigns with a priority: among those who wait the highest goes first; nobody who leads
    /// is ever put out of office by it. Dropping the future withdraws the candidacy.
    pub async fn campaign_with(
        &self,
        value: &str,
        priority: u8,
    ) -> Result<Leadership<AtMostOne>, CampaignError> {
        let value = Value::new(value).map_err(CampaignError::Value)?;
        let (reply, answer) = oneshot::channel();
        let (election, seat) = (self.name.clone(), self.node.next_seat());
        let resignation = Resignation::new(self.node.clone(), election.clone(), seat);
        self.node.order(Order::Campaign { election, seat, value, priority, reply });
        match answer.await {
            Ok(Ok(won)) => Ok(Leadership::new(won, resignation)),
            Ok(Err(Taken)) => {
                resignation.defuse();
                Err(CampaignError::AlreadyCampaigning { election: self.name.clone() })
            }
            Err(_) if self.node.is_closed() => Err(CampaignError::Closed),
            Err(_) => Err(CampaignError::Withdrawn),
        }
    }

    /// Asks a leader whether it leads (Nerio, section 10.5), again and again until it answers or
    /// `patience` is over. What it answers holds until then whatever happens to it: a leader
    /// does not release before a promise has run out. For recipients that cannot check a fence.
    /// Cancel safe.
    pub async fn verify(
        &self,
        leader: SocketAddr,
        patience: Duration,
    ) -> Result<Verified, VerifyError> {
        let again = (self.node.config().round_trip * 2).max(Duration::from_millis(20));
        let ask = async {
            loop {
                let (reply, answer) = oneshot::channel();
                let election = self.name.clone();
                if !self.node.order(Order::Verify { election, leader, reply }) {
                    return Err(VerifyError::Closed);
                }
                match tokio::time::timeout(again, answer).await {
                    Ok(Ok(Proof::Leads { who, until, fence })) => {
                        return Ok(Verified { leader: who.name, until, fence });
                    }
                    Ok(Ok(Proof::DoesNotLead { by })) => {
                        let (election, by) = (self.name.clone(), by.name);
                        return Err(VerifyError::DoesNotLead { election, by });
                    }
                    Ok(Err(_)) if self.node.is_closed() => return Err(VerifyError::Closed),
                    Ok(Err(_)) | Err(_) => {}
                }
            }
        };
        let answered = tokio::time::timeout(patience, ask).await;
        answered.unwrap_or(Err(VerifyError::NoAnswer { waited: patience }))
    }

    /// Finds somebody to turn to (Nerio, section 10.4): the leader if there is one, else this
    /// node if it can win, else whoever appears within `patience`, else an error that says what
    /// was known. Dropping the future withdraws the candidacy.
    pub async fn find(&self, value: &str, patience: Duration) -> Result<Found, FindError> {
        let mut observer = self.observe();
        let mut last = None;
        let search = async {
            loop {
                match observer.next().await.and_then(|change| change.view().cloned()) {
                    Some(View::Leader(leader)) => return Some(Ok(Found::Leader(leader))),
                    Some(View::Vacant) => {
                        last = Some(View::Vacant);
                        return None;
                    }
                    Some(view) => last = Some(view),
                    None if self.node.is_closed() => {
                        return Some(Err(FindError::Campaign(CampaignError::Closed)));
                    }
                    None => {}
                }
            }
        };
        let no_leader =
            |last| FindError::NoLeader { election: self.name.clone(), waited: patience, last };
        let began = clock::now();
        match tokio::time::timeout(patience, search).await {
            Ok(Some(found)) => return found,
            Ok(None) => {}
            Err(_) => return Err(no_leader(last)),
        }
        let left = patience.saturating_sub(clock::now().since(began));
        let appears = async {
            loop {
                match observer.next().await.and_then(|change| change.view().cloned()) {
                    Some(View::Leader(leader)) if leader.who.name != *self.node.name() => {
                        return leader;
                    }
                    Some(_) => {}
                    None if self.node.is_closed() => std::future::pending().await,
                    None => {}
                }
            }
        };
        tokio::select! {
            biased;
            won = self.campaign(value) => Ok(Found::Elected(won?)),
            leader = appears => Ok(Found::Leader(leader)),
            () = tokio::time::sleep(left) => Err(no_leader(Some(View::Vacant))),
        }
    }
}

/// A leader that answered for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Its name.
    pub leader: NodeName,
    /// It leads until then at least, on this machine's `CLOCK_BOOTTIME`.
    pub until: Time,
    /// The fence of its leadership.
    pub fence: Option<Fence>,
}

impl Verified {
    /// Whether what it answered still holds, computed now.
    #[must_use]
    pub fn holds(&self) -> bool {
        clock::now() < self.until
    }
}

/// Whom to turn to.
#[derive(Debug)]
pub enum Found {
    /// Somebody else leads: forward to it.
    Leader(LeaderView),
    /// Nobody led, and now this node does.
    Elected(Leadership<AtMostOne>),
}
