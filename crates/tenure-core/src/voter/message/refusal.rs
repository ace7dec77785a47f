//! Reasons why a request is refused. A driver turns them into problem details (RFC 9457).

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::leader::LeaderDto;
use crate::name::NodeName;
use crate::voter::electorate::{Electorate, ElectorateId, Fingerprint};
use crate::voter::json::{self, nanos};

/// The reason why a request was refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Refusal {
    /// The request is for another election, or in another mode.
    OtherNetwork,
    /// The caller belongs to a network with another founding (V2).
    OtherFounding {
        ours: Fingerprint,
    },
    /// Only members and operators may do this.
    NotAllowed,
    /// Numbers or lists contradict each other. The text is for people, and is not sent.
    Malformed(#[serde(skip, default = "malformed_elsewhere")] &'static str),
    Full,
    NotFounded,
    /// The caller, or this voter, has no vote in this electorate. Perhaps the vote belongs to an
    /// earlier identity, whose directory was lost.
    NotAMember {
        who: NodeName,
    },
    /// A later run of the caller was heard: the calling run has ended, or two runs exist at once.
    EarlierRun {
        who: NodeName,
    },
    Leads(Box<LeaderDto>),
    Promised {
        to: NodeName,
        #[serde(rename = "remainingNs", with = "nanos")]
        remaining: Duration,
    },
    /// This voter has restarted, and is silent for as long as an earlier promise may last (V8).
    Quarantined {
        #[serde(rename = "remainingNs", with = "nanos")]
        remaining: Duration,
    },
    /// This voter has endorsed a higher counter, or the same counter for another candidate.
    Endorsed {
        #[serde(deserialize_with = "json::counter")]
        counter: u64,
    },
    /// This voter has left this ballot for another one.
    Left,
    /// The caller's electorate is lower than the one that this voter has stored.
    OldElectorate(Electorate),
    Released,
    /// The heartbeat's number is not above the last one.
    OldHeartbeat,
    UnknownVoter,
    UnknownElection,
    /// Only the leader does this, and this voter does not lead.
    NotLeading {
        leader: Option<Box<LeaderDto>>,
    },
    /// The last change is not stored by a quorum yet (V9).
    ChangeRuns {
        /// The document that a quorum has to store first.
        electorate: ElectorateId,
    },
    /// Too few members of the next electorate answer and can write. With the present electorate the
    /// leader can perhaps go on.
    TooFewAble {
        able: usize,
        needed: usize,
    },
    NotWritten,
    /// The change would have no effect, or would remove the leader.
    NoChange {
        because: Unchanged,
    },
}

/// The reason why an electorate stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unchanged {
    HasVote,
    HasNone,
    Leads,
    /// The voter to be removed answers, and the leader would give the vote back at once.
    Returns,
}

const fn malformed_elsewhere() -> &'static str {
    "as the other voter reads it"
}

impl From<Unchanged> for Refusal {
    fn from(because: Unchanged) -> Self {
        Self::NoChange { because }
    }
}

impl Refusal {
    /// The reason for programs: lower-case letters and hyphens.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::OtherNetwork => "other-network",
            Self::OtherFounding { .. } => "other-founding",
            Self::NotAllowed => "not-allowed",
            Self::Malformed(_) => "malformed",
            Self::Full => "full",
            Self::NotFounded => "not-founded",
            Self::NotAMember { .. } => "not-a-member",
            Self::EarlierRun { .. } => "earlier-run",
            Self::Leads(_) => "leads",
            Self::Promised { .. } => "promised",
            Self::Quarantined { .. } => "quarantined",
            Self::Endorsed { .. } => "endorsed",
            Self::Left => "left",
            Self::OldElectorate(_) => "old-electorate",
            Self::Released => "released",
            Self::OldHeartbeat => "old-heartbeat",
            Self::UnknownVoter => "unknown-voter",
            Self::UnknownElection => "unknown-election",
            Self::NotLeading { .. } => "not-leading",
            Self::ChangeRuns { .. } => "change-runs",
            Self::TooFewAble { .. } => "too-few-able",
            Self::NotWritten => "not-written",
            Self::NoChange { .. } => "no-change",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNetwork => f.write_str("this network has another election or mode"),
            Self::OtherFounding { ours } => {
                write!(f, "the voter was founded with other voters; the founding here is {ours}")
            }
            Self::NotAllowed => f.write_str("only members and operators may do this"),
            Self::Malformed(what) => write!(f, "malformed: {what}"),
            Self::Full => f.write_str("no room for another voter"),
            Self::NotFounded => f.write_str("no electorate has been founded yet"),
            Self::NotAMember { who } => write!(f, "{who} has no vote with this identity"),
            Self::EarlierRun { who } => {
                write!(f, "a later run of {who} was heard: this run is over, or two run at once")
            }
            Self::Leads(leader) => write!(f, "{leader} leads"),
            Self::Promised { to, remaining } => {
                write!(f, "this voter's promise to {to} lasts {remaining:?} more")
            }
            Self::Quarantined { remaining } => {
                write!(f, "this voter has restarted, and makes no promise for {remaining:?} more")
            }
            Self::Endorsed { counter } => {
                write!(f, "this voter has endorsed counter {counter} already")
            }
            Self::Left => f.write_str("this voter has left this ballot"),
            Self::OldElectorate(electorate) => {
                write!(f, "this voter has a later electorate, {electorate}")
            }
            Self::Released => f.write_str("this leadership was released"),
            Self::OldHeartbeat => f.write_str("a later heartbeat was heard before"),
            Self::UnknownVoter => f.write_str("no such voter is known"),
            Self::UnknownElection => f.write_str("no such election is known"),
            Self::NotLeading { leader: Some(leader) } => {
                write!(f, "only the leader does this: ask {leader}")
            }
            Self::NotLeading { leader: None } => {
                f.write_str("only the leader does this, and none is known")
            }
            Self::ChangeRuns { electorate } => {
                write!(
                    f,
                    "a quorum has not stored electorate {electorate} yet: wait, and ask again"
                )
            }
            Self::TooFewAble { able, needed } => write!(
                f,
                "after the change only {able} members would answer and could write, and a quorum \
                 is {needed}"
            ),
            Self::NotWritten => f.write_str("the leader cannot write its state directory"),
            Self::NoChange { because } => because.fmt(f),
        }
    }
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HasVote => "it has a vote already",
            Self::HasNone => "it has no vote",
            Self::Leads => {
                "the voter leads, and a leader is not removed: make the leader resign first"
            }
            Self::Returns => {
                "the voter answers, and with admission auto this leader would add it again at \
                 once: end that voter first"
            }
        })
    }
}
