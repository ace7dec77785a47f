//! Events for an application or an operator.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;

use super::key::{Bytes, Foreign, LeaseId};
use super::message::{Refusal, Revision};
use crate::event::{End, Loss};
use crate::name::ElectionName;

pub type Event = crate::event::Event<OwnEvent>;

/// An event that only elections on etcd have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    /// A leadership or a campaign has lost its lease or its key. Reported just before the end.
    Lost(Lost),
    /// A candidate that had not won has lost its lease or its key, and campaigns again.
    Again(Lost),
    /// etcd has granted the lease for all elections of this process.
    Opened {
        lease: LeaseId,
        /// The requested length, in seconds.
        asked: u32,
        granted: u32,
    },
    /// etcd has another leader, so revocations of the former leader may come late: the keys move to
    /// a new lease. Leaderships and places in the queue stay.
    Moving {
        from: LeaseId,
        to: LeaseId,
        /// The granted length, in seconds.
        granted: u32,
        term: u64,
    },
    /// The lease is over, and with it all claims that depend on it.
    Closed {
        lease: LeaseId,
        /// The reason; `None` if no candidate needed the lease.
        lost: Option<Lost>,
    },
    /// etcd is at an earlier revision than before (ruling 7, E6): it was restored, or lost its
    /// disk. Fences may repeat.
    WentBack {
        from: Revision,
        to: Revision,
    },
    /// etcd refuses a necessary request, which the process repeats.
    Obstacle {
        doing: &'static str,
        refusal: Refusal,
    },
    /// A call had no certain outcome. The process will find out its effects, or undo them.
    Unsure {
        doing: &'static str,
        why: Arc<str>,
    },
    /// A key of this process has appeared after its candidate had left, and is deleted (ruling 5).
    LateKey {
        key: Bytes,
    },
    /// A foreign key comes first: a candidate waits behind it, or an observer sees it, and no
    /// candidate can lead while it exists. `None` when an observer no longer sees a foreign key
    /// first.
    Foreign(Option<Foreign>),
    Ignored(Ignored),
}

/// The reason why this process cannot campaign in an election, or cannot observe it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Objection {
    Refused(Refusal),
    /// This name begins with another election's name and a slash, or the reverse: each election
    /// would see keys of the other.
    Nested {
        other: ElectionName,
    },
    EndsInSlash,
    Full {
        elections: usize,
    },
    /// The revision of the store is too high for a fence.
    RevisionTooHigh {
        revision: Revision,
    },
}

/// The loss of a lease or a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lost {
    /// The lease was not renewed in time: the network, etcd or this process stalled.
    Expired,
    /// etcd has no such lease: it was revoked, or has run out.
    LeaseGone,
    KeyGone,
    /// The store went back to an older state: it was restored from a backup.
    History,
    Cluster,
}

/// The reason why an input had no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// The answer belongs to no open call.
    Unasked,
    Misfit,
    OtherCluster,
    /// The message is a request, but requests only go out.
    NotAnAnswer,
    /// A second campaign, or a command that needs a campaign.
    Command,
}

impl Ignored {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unasked => "unasked",
            Self::Misfit => "misfit",
            Self::OtherCluster => "other_cluster",
            Self::NotAnAnswer => "not_an_answer",
            Self::Command => "command",
        }
    }
}

impl From<Lost> for Loss {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Expired => Self::Expired,
            Lost::LeaseGone | Lost::KeyGone => Self::Revoked,
            Lost::History | Lost::Cluster => Self::Reset,
        }
    }
}

impl From<Lost> for End {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost.into())
    }
}

impl From<Objection> for End {
    fn from(objection: Objection) -> Self {
        Self::Refused { why: objection.to_string().into() }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lease was not renewed in time",
            Self::LeaseGone => "etcd has ended its lease",
            Self::KeyGone => "its key was deleted by somebody else",
            Self::History => "etcd went back to an older state, as after a restore",
            Self::Cluster => "another etcd cluster answers at these addresses",
        })
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "etcd refuses the request: {refusal}"),
            Self::Nested { other } => write!(
                f,
                "this election would share keys with {other}, another election of this process: \
                 one of the two names begins with the other name and a slash. Rename one of the \
                 two elections"
            ),
            Self::EndsInSlash => f.write_str(
                "an election's name on etcd must not end in a slash. Without the slash it is the \
                 name of another election, so give the new name to all candidates",
            ),
            Self::Full { elections } => {
                write!(
                    f,
                    "this process takes part in {elections} elections, and its limit is \
                     {elections}: run further elections in another process"
                )
            }
            Self::RevisionTooHigh { revision } => {
                write!(
                    f,
                    "etcd is at revision {revision}, and a fence holds only revisions below 2^48: \
                     use another etcd cluster"
                )
            }
        }
    }
}

impl fmt::Display for OwnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => write!(f, "lost: {lost}"),
            Self::Again(lost) => write!(f, "contending again, as {lost}"),
            Self::Opened { lease, asked, granted } if asked == granted => {
                write!(f, "opened lease {lease} for {granted} s")
            }
            // Leave the lease out: a log then prints the same line once, not once for each lease.
            Self::Opened { asked, granted, .. } => write!(
                f,
                "etcd grants no lease shorter than {granted} s, and this process asked for {asked} \
                 s: after a crash of the leader, the next leader waits for up to {granted} s"
            ),
            Self::Moving { from, to, term, .. } => write!(
                f,
                "etcd has another leader, in term {term}: keys move from lease {from} to {to}"
            ),
            Self::Closed { lease, lost: Some(lost) } => write!(f, "lease {lease} is over: {lost}"),
            Self::Closed { lease, lost: None } => write!(f, "lease {lease} is given back"),
            Self::WentBack { from, to } => write!(
                f,
                "etcd went back from revision {from} to {to}, as after a restore or with an empty \
                 disk: fences may repeat"
            ),
            Self::Obstacle { doing, refusal } => write!(f, "etcd refuses {doing}: {refusal}"),
            Self::Unsure { doing, why } => write!(f, "{doing}: outcome unknown: {why}"),
            Self::LateKey { key } => {
                write!(f, "{key} appeared after its candidate had left, and is deleted")
            }
            Self::Foreign(Some(foreign)) => foreign.fmt(f),
            Self::Foreign(None) => {
                f.write_str("candidates no longer wait behind a key that no candidate made")
            }
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}
