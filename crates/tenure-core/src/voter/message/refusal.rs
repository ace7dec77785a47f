//! Why a request is refused: a driver makes problem details of it (RFC 9457).

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use super::leader::LeaderDto;
use crate::name::NodeName;
use crate::voter::electorate::{Electorate, ElectorateId, Fingerprint};

/// Why a request was refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// Another election, or another mode, is elected here.
    OtherNetwork,
    /// The caller was founded with other voters (V2).
    OtherFounding {
        /// The one of this network.
        ours: Fingerprint,
    },
    /// Only members and operators may do this.
    NotAllowed,
    /// Numbers or lists that contradict each other; what is wrong.
    Malformed(&'static str),
    /// This voter knows as many others as it has room for.
    Full,
    /// This voter has no electorate yet.
    NotFounded,
    /// The caller, or this voter, has no vote in this electorate; or it has one with another
    /// identity, because a directory was lost.
    NotAMember {
        /// Who.
        who: NodeName,
    },
    /// A later run of the caller was heard: this one is over, or two run at once.
    EarlierRun {
        /// Who.
        who: NodeName,
    },
    /// Somebody leads.
    Leads(Box<LeaderDto>),
    /// A promise to another leader runs.
    Promised {
        /// To whom.
        to: NodeName,
        /// For how much longer.
        remaining: Duration,
    },
    /// This voter has restarted, and keeps silent as long as it may have promised before (V8).
    Quarantined {
        /// For how much longer.
        remaining: Duration,
    },
    /// A higher counter, or the same for somebody else, was endorsed.
    Endorsed {
        /// The counter.
        counter: u64,
    },
    /// This ballot was left for another one.
    Left,
    /// A lower electorate than the one that is stored here.
    OldElectorate(Electorate),
    /// This leadership was released.
    Released,
    /// A heartbeat that is not after the last one.
    OldHeartbeat,
    /// There is no such voter.
    UnknownVoter,
    /// There is no such election.
    UnknownElection,
    /// Only the leader does this, and this voter is not it.
    NotLeading(Option<Box<LeaderDto>>),
    /// The change before this one is not stored by a quorum yet (V9).
    ChangeRuns {
        /// The document that is not.
        electorate: ElectorateId,
    },
    /// Too few of those that would have a vote are there and can write: by the electorate as it is
    /// the leader may go on.
    TooFewAble {
        /// How many are.
        able: usize,
        /// How many it takes.
        needed: usize,
    },
    /// The leader cannot write its directory.
    NotWritten,
    /// It would change nothing, or take the leader out.
    NoChange(Unchanged),
}

/// Why an electorate stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unchanged {
    /// The one to be added has a vote.
    HasVote,
    /// The one to be removed has none.
    HasNone,
    /// The one to be removed leads.
    Leads,
    /// The one to be removed is there, and would be given its vote back at once.
    Returns,
}

impl Refusal {
    /// One word of lower case and hyphens.
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
            Self::NotLeading(_) => "not-leading",
            Self::ChangeRuns { .. } => "change-runs",
            Self::TooFewAble { .. } => "too-few-able",
            Self::NotWritten => "not-written",
            Self::NoChange(_) => "no-change",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNetwork => f.write_str("another election or mode is elected here"),
            Self::OtherFounding { ours } => {
                write!(f, "founded with other voters; the founding here is {ours}")
            }
            Self::NotAllowed => f.write_str("only members and operators may do this"),
            Self::Malformed(what) => write!(f, "malformed: {what}"),
            Self::Full => f.write_str("no room for another voter"),
            Self::NotFounded => f.write_str("no electorate has been founded yet"),
            Self::NotAMember { who } => write!(f, "{who} has no vote with this identity"),
            Self::EarlierRun { who } => {
                write!(f, "a later run of {who} was heard: this one is over, or two run at once")
            }
            Self::Leads(leader) => write!(f, "{leader} leads"),
            Self::Promised { to, remaining } => {
                write!(f, "promised to {to} for {remaining:?} more")
            }
            Self::Quarantined { remaining } => {
                write!(f, "silent after a restart for {remaining:?} more")
            }
            Self::Endorsed { counter } => write!(f, "counter {counter} was endorsed already"),
            Self::Left => f.write_str("this ballot was left"),
            Self::OldElectorate(electorate) => write!(f, "the electorate is {electorate}"),
            Self::Released => f.write_str("this leadership was released"),
            Self::OldHeartbeat => f.write_str("a later heartbeat was heard before"),
            Self::UnknownVoter => f.write_str("no such voter is known"),
            Self::UnknownElection => f.write_str("no such election is known"),
            Self::NotLeading(Some(leader)) => write!(f, "only the leader does this: {leader}"),
            Self::NotLeading(None) => f.write_str("only the leader does this, and none is known"),
            Self::ChangeRuns { electorate } => {
                write!(f, "electorate {electorate} is not stored by a quorum yet")
            }
            Self::TooFewAble { able, needed } => write!(
                f,
                "of those that would have a vote {able} are there and can write, and a quorum of \
                 them is {needed}"
            ),
            Self::NotWritten => f.write_str("the leader cannot write its state directory"),
            Self::NoChange(Unchanged::HasVote) => f.write_str(
                "it has a vote already: where its state directory was lost, remove it first",
            ),
            Self::NoChange(Unchanged::HasNone) => f.write_str("it has no vote"),
            Self::NoChange(Unchanged::Leads) => f.write_str("it leads, and is not removed"),
            Self::NoChange(Unchanged::Returns) => f.write_str(
                "it is there, and by the admission of this leader it would be added again at once",
            ),
        }
    }
}
