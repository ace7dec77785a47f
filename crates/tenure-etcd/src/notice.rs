//! What an operator should hear of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::{Bytes, Foreign, LeaseId, Lost, Refusal, Revision};

use crate::endpoint::Endpoint;
use crate::version::Version;

/// Something that happened beside the elections of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// This endpoint is in use from now on.
    Connected {
        /// The endpoint.
        endpoint: Endpoint,
        /// The id of its cluster.
        cluster: u64,
        /// The id of the member behind it.
        member: u64,
        /// What it runs.
        version: Version,
    },
    /// The member in use lacks a fix that candidates of other programs need: see
    /// [`Version::has_stalled_leader_fix`].
    EarlyRevocation {
        /// The endpoint.
        endpoint: Endpoint,
        /// What it runs.
        version: Version,
    },
    /// There is a new login at the endpoint in use. Nothing was interrupted.
    LoggedIn {
        /// The endpoint.
        endpoint: Endpoint,
        /// What etcd said of the login before; `None` if that was good still.
        why: Option<Arc<str>>,
    },
    /// The login at the endpoint in use is to be made anew before it ends, and was not. It is tried
    /// again.
    NotLoggedIn {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// This endpoint is not used any more; the next one is tried.
    Disconnected {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// This endpoint could not be used; the next one is tried.
    Unreachable {
        /// The endpoint.
        endpoint: Endpoint,
        /// What happened.
        why: Arc<str>,
    },
    /// There is a lease for all elections of this node.
    Opened {
        /// The lease.
        lease: LeaseId,
        /// Its length as asked for, in seconds.
        asked: u32,
        /// Its length as granted, which counts.
        granted: u32,
    },
    /// etcd has another leader, and the keys of this node move to a new lease: the leader before
    /// may revoke the old one late. Leaderships and places in the queue stay.
    Moving {
        /// The lease that the keys were on.
        from: LeaseId,
        /// The lease that they move to.
        to: LeaseId,
        /// The term of etcd's leader.
        term: u64,
    },
    /// etcd is at an earlier revision than it was, as after a restore or with an empty disk: fences
    /// may come again.
    WentBack {
        /// The highest revision that was seen before.
        from: Revision,
        /// The one that it is at.
        to: Revision,
    },
    /// The lease is over, and with it all that stood on it.
    Closed {
        /// The lease.
        lease: LeaseId,
        /// Why; `None` when nobody needed it any more.
        lost: Option<Lost>,
    },
    /// A candidate that had not won lost what it stood on, and contends again.
    Again {
        /// The election.
        election: ElectionName,
        /// What was lost.
        lost: Lost,
    },
    /// etcd refuses something that has to be done; it is tried again.
    Obstacle {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What, in words.
        doing: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// A request had no certain outcome; whatever it may have done is seen to.
    Unsure {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What, in words.
        doing: &'static str,
        /// What happened.
        why: Arc<str>,
    },
    /// A key of this node's appeared that nobody wanted any more, and is deleted.
    LateKey {
        /// The election.
        election: ElectionName,
        /// The key.
        key: Bytes,
    },
    /// A key that no candidate made stands before a candidate of this node, or is the first that an
    /// observer reads: nobody becomes leader while it is there.
    Foreign {
        /// The election.
        election: ElectionName,
        /// The key; `None` when an observer reads no such key as the first any more.
        foreign: Option<Foreign>,
    },
    /// An election cannot be observed by this node: its observers are told that nothing follows.
    NotObserved {
        /// The election.
        election: ElectionName,
        /// What stands against it, and what to do.
        why: Arc<str>,
    },
    /// Another cluster answers than at the start; its words are not heard.
    OtherCluster {
        /// For how long nobody else has answered, and every endpoint has.
        lasting: Duration,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { endpoint, member, version, .. } => {
                write!(f, "connected to {endpoint}, member {member:x} with etcd {version}")
            }
            Self::EarlyRevocation { endpoint, version } => write!(
                f,
                "{endpoint} runs etcd {version}, of which a leader that is stuck on its disk may \
                 end leases too early: this process moves its keys to a new one, but candidates \
                 of other programs may lead on without theirs; upgrade to 3.4.31, 3.5.13, 3.6 or \
                 newer"
            ),
            Self::LoggedIn { endpoint, why: Some(why) } => {
                write!(f, "logged in again at {endpoint}: {why}")
            }
            Self::LoggedIn { endpoint, why: None } => {
                write!(f, "logged in again at {endpoint}, before the token ends")
            }
            Self::NotLoggedIn { why, .. } => {
                write!(f, "{why}; the token before is good still, and a new one is tried for again")
            }
            Self::Disconnected { endpoint, why } => {
                write!(f, "disconnected from {endpoint}: {why}")
            }
            // It names the endpoint itself.
            Self::Unreachable { why, .. } => f.write_str(why),
            Self::Opened { lease, asked, granted } if asked == granted => {
                write!(f, "lease {lease} for {granted} s")
            }
            Self::Opened { lease, asked, granted } => write!(
                f,
                "lease {lease} for {granted} s, though {asked} s were asked for: etcd grants no \
                 shorter ones, so taking over after a crash takes {granted} s"
            ),
            Self::Moving { from, to, term } => {
                write!(
                    f,
                    "etcd has another leader, in term {term}: keys move from lease {from} to {to}"
                )
            }
            Self::WentBack { from, to } => write!(
                f,
                "etcd went back from revision {from} to {to}, as after a restore or with an empty \
                 disk: fences may come again"
            ),
            Self::Closed { lease, lost: Some(lost) } => write!(f, "lease {lease} is over: {lost}"),
            Self::Closed { lease, lost: None } => write!(f, "lease {lease} is given back"),
            Self::Again { election, lost } => write!(f, "{election}: contending again, as {lost}"),
            Self::Obstacle { election, doing, refusal } => {
                about(election.as_ref(), f)?;
                write!(f, "etcd refuses {doing}: {refusal}")
            }
            Self::Unsure { election, doing, why } => {
                about(election.as_ref(), f)?;
                write!(f, "{doing}: outcome unknown: {why}")
            }
            Self::LateKey { election, key } => {
                write!(f, "{election}: {key} came late, and is deleted")
            }
            Self::Foreign { election, foreign } => in_the_way(election, foreign.as_ref(), f),
            Self::NotObserved { election, why } => {
                write!(f, "{election} cannot be observed: {why}")
            }
            Self::OtherCluster { .. } => f.write_str(
                "another etcd cluster answers than at the start: look at the endpoints; after a \
                 restore with a new token, start this process again",
            ),
        }
    }
}

fn about(election: Option<&ElectionName>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    election.map_or(Ok(()), |election| write!(f, "{election}: "))
}

fn in_the_way(
    election: &ElectionName,
    foreign: Option<&Foreign>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match foreign {
        Some(foreign) => write!(f, "{election}: {foreign}"),
        None => write!(f, "{election}: no foreign key is the first any more"),
    }
}
