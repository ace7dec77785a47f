//! The reason of a refusal, in problem details and in answers to heartbeats.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::NodeName;
use tenure_core::voter::{Fingerprint, Refusal, Unchanged};

use super::Unread;
use super::fields::{hex, nanos, text};
use super::form::{ElectorateForm, ElectorateIdForm, Form, LeaderForm, counted};

/// `reason` is the core's own label.
#[derive(Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum RefusalForm {
    OtherNetwork,
    OtherFounding {
        #[serde(with = "hex")]
        ours: u128,
    },
    NotAllowed,
    Malformed,
    Full,
    NotFounded,
    NotAMember {
        #[serde(with = "text")]
        who: NodeName,
    },
    EarlierRun {
        #[serde(with = "text")]
        who: NodeName,
    },
    Leads(LeaderForm),
    Promised {
        #[serde(with = "text")]
        to: NodeName,
        #[serde(with = "nanos")]
        remaining_ns: Duration,
    },
    Quarantined {
        #[serde(with = "nanos")]
        remaining_ns: Duration,
    },
    Endorsed {
        counter: u64,
    },
    Left,
    OldElectorate(ElectorateForm),
    Released,
    OldHeartbeat,
    UnknownVoter,
    UnknownElection,
    NotLeading {
        leader: Option<LeaderForm>,
    },
    ChangeRuns {
        electorate: ElectorateIdForm,
    },
    TooFewAble {
        able: usize,
        needed: usize,
    },
    NotWritten,
    NoChange {
        because: UnchangedForm,
    },
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnchangedForm {
    HasVote,
    HasNone,
    Leads,
    Returns,
}

impl UnchangedForm {
    const fn of(of: Unchanged) -> Self {
        match of {
            Unchanged::HasVote => Self::HasVote,
            Unchanged::HasNone => Self::HasNone,
            Unchanged::Leads => Self::Leads,
            Unchanged::Returns => Self::Returns,
        }
    }

    const fn read(self) -> Unchanged {
        match self {
            Self::HasVote => Unchanged::HasVote,
            Self::HasNone => Unchanged::HasNone,
            Self::Leads => Unchanged::Leads,
            Self::Returns => Unchanged::Returns,
        }
    }
}

impl Form for RefusalForm {
    type Of = Refusal;

    fn of(of: &Refusal) -> Self {
        match of {
            Refusal::OtherNetwork => Self::OtherNetwork,
            Refusal::OtherFounding { ours } => Self::OtherFounding { ours: ours.0 },
            Refusal::NotAllowed => Self::NotAllowed,
            Refusal::Malformed(_) => Self::Malformed,
            Refusal::Full => Self::Full,
            Refusal::NotFounded => Self::NotFounded,
            Refusal::NotAMember { who } => Self::NotAMember { who: who.clone() },
            Refusal::EarlierRun { who } => Self::EarlierRun { who: who.clone() },
            Refusal::Leads(leader) => Self::Leads(Form::of(&**leader)),
            Refusal::Promised { to, remaining } => {
                Self::Promised { to: to.clone(), remaining_ns: *remaining }
            }
            Refusal::Quarantined { remaining } => Self::Quarantined { remaining_ns: *remaining },
            Refusal::Endorsed { counter } => Self::Endorsed { counter: *counter },
            Refusal::Left => Self::Left,
            Refusal::OldElectorate(electorate) => Self::OldElectorate(Form::of(electorate)),
            Refusal::Released => Self::Released,
            Refusal::OldHeartbeat => Self::OldHeartbeat,
            Refusal::UnknownVoter => Self::UnknownVoter,
            Refusal::UnknownElection => Self::UnknownElection,
            Refusal::NotLeading(leader) => {
                Self::NotLeading { leader: leader.as_deref().map(Form::of) }
            }
            Refusal::ChangeRuns { electorate } => {
                Self::ChangeRuns { electorate: Form::of(electorate) }
            }
            Refusal::TooFewAble { able, needed } => {
                Self::TooFewAble { able: *able, needed: *needed }
            }
            Refusal::NotWritten => Self::NotWritten,
            Refusal::NoChange(because) => Self::NoChange { because: UnchangedForm::of(*because) },
        }
    }

    fn read(self) -> Result<Refusal, Unread> {
        Ok(match self {
            Self::OtherNetwork => Refusal::OtherNetwork,
            Self::OtherFounding { ours } => Refusal::OtherFounding { ours: Fingerprint(ours) },
            Self::NotAllowed => Refusal::NotAllowed,
            // The other voter's text is in the detail of its problem, for people.
            Self::Malformed => Refusal::Malformed("as the other voter reads it"),
            Self::Full => Refusal::Full,
            Self::NotFounded => Refusal::NotFounded,
            Self::NotAMember { who } => Refusal::NotAMember { who },
            Self::EarlierRun { who } => Refusal::EarlierRun { who },
            Self::Leads(leader) => Refusal::Leads(Box::new(leader.read()?)),
            Self::Promised { to, remaining_ns } => {
                Refusal::Promised { to, remaining: remaining_ns }
            }
            Self::Quarantined { remaining_ns } => Refusal::Quarantined { remaining: remaining_ns },
            Self::Endorsed { counter } => Refusal::Endorsed { counter: counted(counter, 0)? },
            Self::Left => Refusal::Left,
            Self::OldElectorate(electorate) => Refusal::OldElectorate(electorate.read()?),
            Self::Released => Refusal::Released,
            Self::OldHeartbeat => Refusal::OldHeartbeat,
            Self::UnknownVoter => Refusal::UnknownVoter,
            Self::UnknownElection => Refusal::UnknownElection,
            Self::NotLeading { leader } => {
                Refusal::NotLeading(leader.map(LeaderForm::read).transpose()?.map(Box::new))
            }
            Self::ChangeRuns { electorate } => {
                Refusal::ChangeRuns { electorate: electorate.read()? }
            }
            Self::TooFewAble { able, needed } => Refusal::TooFewAble { able, needed },
            Self::NotWritten => Refusal::NotWritten,
            Self::NoChange { because } => Refusal::NoChange(because.read()),
        })
    }
}

pub(super) const fn status(refusal: &Refusal) -> u16 {
    match refusal {
        Refusal::Malformed(_) => 400,
        Refusal::NotAllowed => 403,
        Refusal::UnknownVoter | Refusal::UnknownElection => 404,
        Refusal::Full => 503,
        Refusal::OtherNetwork
        | Refusal::OtherFounding { .. }
        | Refusal::NotFounded
        | Refusal::NotAMember { .. }
        | Refusal::EarlierRun { .. }
        | Refusal::Leads(_)
        | Refusal::Promised { .. }
        | Refusal::Quarantined { .. }
        | Refusal::Endorsed { .. }
        | Refusal::Left
        | Refusal::OldElectorate(_)
        | Refusal::Released
        | Refusal::OldHeartbeat
        | Refusal::NotLeading(_)
        | Refusal::ChangeRuns { .. }
        | Refusal::TooFewAble { .. }
        | Refusal::NotWritten
        | Refusal::NoChange(_) => 409,
    }
}
