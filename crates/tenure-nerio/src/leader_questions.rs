//! Questions of a node to others, in addition to the question which node leads.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::{AtMostOne, CampaignError, Leadership, clock};
use tenure_core::{ElectionName, Fence, LeaderView, NodeName, Time, View};
use tokio::sync::mpsc;

use crate::Node;
use crate::error::{FindError, VerifyError};
use crate::request::Ask;
use crate::verifications::Proof;

impl Node {
    /// Asks a leader whether it leads (section 10.5), again and again until it answers or
    /// `patience` is over. The answer promises a leadership until an instant. The promise holds
    /// whatever happens to the leader, because no release comes before that instant. Use this for
    /// recipients that cannot check a fence. Cancel safe.
    pub async fn verify(
        &self,
        election: &ElectionName,
        leader: SocketAddr,
        patience: Duration,
    ) -> Result<Verified, VerifyError> {
        let again = (self.config().round_trip * 2).max(Duration::from_millis(20));
        // All repetitions share a channel, so a late answer to an earlier question counts, too.
        let (reply, mut answers) = mpsc::unbounded_channel();
        let ask = async {
            loop {
                let election = election.clone();
                let reply = reply.clone();
                if !self.tell(Ask::Verify { election: election.clone(), leader, reply }) {
                    return Err(VerifyError::Closed);
                }
                match tokio::time::timeout(again, answers.recv()).await {
                    Ok(Some(Proof::Leads { who, until, fence })) => {
                        return Ok(Verified { leader: who.name, until, fence });
                    }
                    Ok(Some(Proof::DoesNotLead { by })) => {
                        return Err(VerifyError::DoesNotLead { election, by: by.name });
                    }
                    Ok(None) | Err(_) => {}
                }
            }
        };
        let answered = tokio::time::timeout(patience, ask).await;
        answered.unwrap_or(Err(VerifyError::NoAnswer { waited: patience }))
    }

    /// Finds a leader (section 10.4): the present leader, else this node if it can win, else a
    /// leader that appears within `patience`, else an error with the last view. Dropping the future
    /// withdraws the candidacy.
    pub async fn find(
        &self,
        election: &ElectionName,
        value: &str,
        patience: Duration,
    ) -> Result<Found, FindError> {
        let handle = self.election_named(election.clone());
        let mut observer = handle.observe();
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
                    None if self.is_closed() => {
                        return Some(Err(FindError::Campaign(CampaignError::Closed)));
                    }
                    None => {}
                }
            }
        };
        let no_leader =
            |last| FindError::NoLeader { election: election.clone(), waited: patience, last };
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
                    Some(View::Leader(leader)) if *leader.id != *self.name().as_str() => {
                        return leader;
                    }
                    Some(_) => {}
                    None if self.is_closed() => std::future::pending().await,
                    None => {}
                }
            }
        };
        tokio::select! {
            biased;
            won = handle.campaign(value) => Ok(Found::Elected(won?)),
            leader = appears => Ok(Found::Leader(leader)),
            () = tokio::time::sleep(left) => Err(no_leader(Some(View::Vacant))),
        }
    }
}

/// A leader that answered for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    pub leader: NodeName,
    /// Earliest end of the leadership, on this machine's `CLOCK_BOOTTIME`.
    pub until: Time,
    pub fence: Option<Fence>,
}

impl Verified {
    /// Whether the answer still holds, computed now.
    #[must_use]
    pub fn holds(&self) -> bool {
        clock::now() < self.until
    }
}

/// The leader to turn to.
#[derive(Debug)]
pub enum Found {
    /// Another node leads: forward to it.
    Leader(LeaderView),
    /// The election was vacant, and now this node leads.
    Elected(Leadership<AtMostOne>),
}
