//! Events for an application or an operator.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;

use super::key::{Bytes, Foreign, LeaseId};
use super::message::{Refusal, Revision};
use crate::event::{End, Loss};
use crate::name::ElectionName;

/// An event.
pub type Event = crate::event::Event<OwnEvent>;

/// An event that only elections on etcd have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    /// The lease or the key of a leadership or a campaign that ends was lost. Comes just before the
    /// end.
    Lost(Lost),
    /// A candidate that had not won lost its lease or its key, and contends again.
    Again(Lost),
    /// There is a lease for all elections of this process.
    Opened {
        /// The lease.
        lease: LeaseId,
        /// The length as asked for, in seconds.
        asked: u32,
        /// And as granted.
        granted: u32,
    },
    /// etcd has another leader, and revocations of the one before may come late: keys are moved to
    /// a new lease. Leaderships and places in the queue stay.
    Moving {
        /// The lease that carried the keys.
        from: LeaseId,
        /// The lease that carries them from now on.
        to: LeaseId,
        /// The length as granted, in seconds.
        granted: u32,
        /// The term of etcd's leader.
        term: u64,
    },
    /// The lease is over, and with it all that stood on it.
    Closed {
        /// The lease.
        lease: LeaseId,
        /// The reason; `None` when no candidate needed the lease any more.
        lost: Option<Lost>,
    },
    /// etcd is at an earlier revision than it was (ruling 7, E6): it was restored, or lost its
    /// disk. Fences may come again.
    WentBack {
        /// The highest revision that was seen before.
        from: Revision,
        /// The one that it is at.
        to: Revision,
    },
    /// etcd refuses something that has to be done; it will be tried again.
    Obstacle {
        /// The step, in words.
        doing: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// A call had no certain outcome. Whatever it may have done is seen to.
    Unsure {
        /// The step, in words.
        doing: &'static str,
        /// The failure, in words.
        why: Arc<str>,
    },
    /// A key of ours appeared after its candidate had left, and is deleted (ruling 5).
    LateKey {
        /// The key.
        key: Bytes,
    },
    /// A candidate waits behind this foreign key, or an observer reads it as the first: nobody
    /// becomes leader while it is there. `None` when an observer reads no foreign key as the first
    /// any more.
    Foreign(Option<Foreign>),
    /// An input had no effect.
    Ignored(Ignored),
}

/// The reason why this process cannot lead an election, or observe it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Objection {
    /// etcd refuses what is needed.
    Refused(Refusal),
    /// Two names of which one and a slash begin the other would see each other's keys.
    Nested {
        /// The other election.
        other: ElectionName,
    },
    /// The name ends in a slash.
    EndsInSlash,
    /// There is no room for another election.
    Full {
        /// How many there are.
        elections: usize,
    },
    /// The store has counted further than fences can.
    RevisionTooHigh {
        /// The create revision.
        revision: Revision,
    },
}

/// The loss of a lease or a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lost {
    /// The lease was not renewed in time: the network, etcd or this process stalled.
    Expired,
    /// etcd says that there is no such lease: it was revoked, or etcd has ended it.
    LeaseGone,
    /// Another process deleted the key.
    KeyGone,
    /// The store went back to an older state: it was restored from a backup.
    History,
    /// Another cluster answers at these addresses.
    Cluster,
}

/// Why something had no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    /// The answer is to no call, or no longer matters.
    Unasked,
    /// The answer does not fit the question.
    Misfit,
    /// Another cluster answered.
    OtherCluster,
    /// A request came in; requests go out.
    NotAnAnswer,
    /// The command does not fit the state: a second campaign, or one that needs a campaign.
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
            Self::Refused(refusal) => write!(f, "etcd refuses it: {refusal}"),
            Self::Nested { other } => write!(
                f,
                "this process takes part in {other} or observes it, and of two names neither may \
                 begin with the other and a slash: they would see each other's keys"
            ),
            Self::EndsInSlash => f.write_str(
                "an election's name on etcd must not end in a slash; without it it is another \
                 election, so rename it for all its candidates",
            ),
            Self::Full { elections } => {
                write!(f, "this process takes part in {elections} elections, and that is the limit")
            }
            Self::RevisionTooHigh { revision } => {
                write!(f, "etcd is at revision {revision}; fences have room for those below 2^48")
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
            // Without the lease: an operator reads the same of every lease, once.
            Self::Opened { asked, granted, .. } => write!(
                f,
                "etcd grants a lease of {granted} s at least, and {asked} s were asked for: taking \
                 over after a crash takes {granted} s"
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
                 disk: fences may come again"
            ),
            Self::Obstacle { doing, refusal } => write!(f, "etcd refuses {doing}: {refusal}"),
            Self::Unsure { doing, why } => write!(f, "{doing}: outcome unknown: {why}"),
            Self::LateKey { key } => write!(f, "{key} came late, and is deleted"),
            Self::Foreign(Some(foreign)) => foreign.fmt(f),
            Self::Foreign(None) => f.write_str("no foreign key is the first any more"),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}
