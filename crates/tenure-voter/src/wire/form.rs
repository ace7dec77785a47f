//! The documents, field by field: names in camel case, as in the text.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::voter::{
    Ballot, Change, Condition, ElectionDto, Electorate, ElectorateId, Fingerprint, FirstVoters,
    Identity, KNOWN_MAX, LeaderDto, Leadership, MEMBERS_MAX, Member, Participant, PromiseDto, Role,
    StatusDto, VoteDto, VoterDto, VoterUrl,
};
use tenure_core::{Drift, NodeName, Value};

use super::Unread;
use super::fields::{hex, nanos, text, vote};

/// A document, and the type of the core that it holds.
pub(super) trait Form: Sized {
    type Of;

    fn of(of: &Self::Of) -> Self;

    /// Reads the form. Each number must be in its range, and each list short enough.
    fn read(self) -> Result<Self::Of, Unread>;
}

/// Reads each entry of a list with at most `max` entries.
pub(super) fn all<F: Form>(list: Vec<F>, max: usize, what: &str) -> Result<Vec<F::Of>, Unread> {
    if list.len() > max {
        return Err(Unread::new(format!("{what} has {} entries; at most {max}", list.len())));
    }
    list.into_iter().map(F::read).collect()
}

pub(super) fn each<F: Form>(list: &[F::Of]) -> Vec<F> {
    list.iter().map(F::of).collect()
}

pub(super) fn maybe<F: Form>(form: Option<F>) -> Result<Option<F::Of>, Unread> {
    form.map(F::read).transpose()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VoterForm {
    #[serde(with = "text")]
    voter_id: NodeName,
    #[serde(with = "text")]
    voter_url: VoterUrl,
    #[serde(default)]
    role: RoleForm,
    #[serde(default = "on_line")]
    on_line: bool,
}

/// A voter that registers is on line.
const fn on_line() -> bool {
    true
}

#[derive(Serialize, Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "UPPERCASE")]
enum RoleForm {
    Leader,
    Follower,
    #[default]
    None,
}

impl Form for VoterForm {
    type Of = VoterDto;

    fn of(of: &VoterDto) -> Self {
        let VoterDto { voter_id, voter_url, role, on_line } = of.clone();
        let role = match role {
            Role::Leader => RoleForm::Leader,
            Role::Follower => RoleForm::Follower,
            Role::None => RoleForm::None,
        };
        Self { voter_id, voter_url, role, on_line }
    }

    fn read(self) -> Result<VoterDto, Unread> {
        let Self { voter_id, voter_url, role, on_line } = self;
        let role = match role {
            RoleForm::Leader => Role::Leader,
            RoleForm::Follower => Role::Follower,
            RoleForm::None => Role::None,
        };
        Ok(VoterDto { voter_id, voter_url, role, on_line })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParticipantForm {
    #[serde(with = "text")]
    voter_id: NodeName,
    #[serde(with = "hex")]
    identity: u128,
    #[serde(with = "hex")]
    incarnation: u128,
}

impl Form for ParticipantForm {
    type Of = Participant;

    fn of(of: &Participant) -> Self {
        let Participant { id, identity, incarnation } = of.clone();
        Self { voter_id: id, identity: identity.0, incarnation }
    }

    fn read(self) -> Result<Participant, Unread> {
        let Self { voter_id, identity, incarnation } = self;
        Ok(Participant { id: voter_id, identity: Identity(identity), incarnation })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct BallotForm {
    counter: u64,
    #[serde(with = "text")]
    initiator: NodeName,
    attempt: u32,
}

impl Form for BallotForm {
    type Of = Ballot;

    fn of(of: &Ballot) -> Self {
        let Ballot { counter, initiator, attempt } = of.clone();
        Self { counter, initiator, attempt }
    }

    fn read(self) -> Result<Ballot, Unread> {
        let Self { counter, initiator, attempt } = self;
        counted(counter, 1)?;
        if attempt > Ballot::ATTEMPTS_MAX {
            let max = Ballot::ATTEMPTS_MAX;
            return Err(Unread::new(format!("attempt is {attempt}; at most {max}")));
        }
        Ok(Ballot { counter, initiator, attempt })
    }
}

/// A counter small enough for every reader of JSON to take it exactly.
pub(super) fn counted(counter: u64, min: u64) -> Result<u64, Unread> {
    if (min..=Ballot::COUNTER_MAX).contains(&counter) {
        Ok(counter)
    } else {
        let max = Ballot::COUNTER_MAX;
        Err(Unread::new(format!("a counter is {counter}; it must be from {min} to {max}")))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct LeadershipForm {
    leader: ParticipantForm,
    ballot: BallotForm,
}

impl Form for LeadershipForm {
    type Of = Leadership;

    fn of(of: &Leadership) -> Self {
        Self { leader: Form::of(&of.leader), ballot: Form::of(&of.ballot) }
    }

    fn read(self) -> Result<Leadership, Unread> {
        Ok(Leadership { leader: self.leader.read()?, ballot: self.ballot.read()? })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeaderForm {
    leadership: LeadershipForm,
    #[serde(with = "text")]
    voter_url: VoterUrl,
    #[serde(with = "text")]
    value: Value,
    remaining_ns: Option<u64>,
}

impl Form for LeaderForm {
    type Of = LeaderDto;

    fn of(of: &LeaderDto) -> Self {
        Self {
            leadership: Form::of(&of.leadership),
            voter_url: of.url.clone(),
            value: of.value.clone(),
            remaining_ns: of.remaining.map(nanos::whole),
        }
    }

    fn read(self) -> Result<LeaderDto, Unread> {
        Ok(LeaderDto {
            leadership: self.leadership.read()?,
            url: self.voter_url,
            value: self.value,
            remaining: self.remaining_ns.map(Duration::from_nanos),
        })
    }
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) struct ElectorateIdForm {
    counter: u64,
    change: u64,
}

impl Form for ElectorateIdForm {
    type Of = ElectorateId;

    fn of(of: &ElectorateId) -> Self {
        Self { counter: of.counter, change: of.change }
    }

    fn read(self) -> Result<ElectorateId, Unread> {
        Ok(ElectorateId { counter: counted(self.counter, 0)?, change: counted(self.change, 0)? })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ElectorateForm {
    counter: u64,
    change: u64,
    #[serde(with = "hex")]
    founding: u128,
    members: Vec<MemberForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberForm {
    #[serde(with = "text")]
    voter_id: NodeName,
    #[serde(with = "hex")]
    identity: u128,
}

impl Form for MemberForm {
    type Of = Member;

    fn of(of: &Member) -> Self {
        Self { voter_id: of.id.clone(), identity: of.identity.0 }
    }

    fn read(self) -> Result<Member, Unread> {
        Ok(Member { id: self.voter_id, identity: Identity(self.identity) })
    }
}

impl Form for ElectorateForm {
    type Of = Electorate;

    fn of(of: &Electorate) -> Self {
        let ElectorateId { counter, change } = of.id;
        Self { counter, change, founding: of.founding.0, members: each(&of.members) }
    }

    fn read(self) -> Result<Electorate, Unread> {
        let Self { counter, change, founding, members } = self;
        let electorate = Electorate {
            id: ElectorateIdForm { counter, change }.read()?,
            founding: Fingerprint(founding),
            members: all(members, MEMBERS_MAX, "members")?,
        };
        if electorate.is_formed() {
            Ok(electorate)
        } else {
            Err(Unread::new("members are missing, out of order, or named twice"))
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VoteForm {
    #[serde(with = "text")]
    voter_id: NodeName,
    #[serde(default, with = "vote")]
    vote: Option<i64>,
    ballot: BallotForm,
    #[serde(with = "nanos")]
    lease_ns: Duration,
    electorate: ElectorateForm,
}

impl Form for VoteForm {
    type Of = VoteDto;

    fn of(of: &VoteDto) -> Self {
        Self {
            voter_id: of.voter_id.clone(),
            vote: of.vote,
            ballot: Form::of(&of.ballot),
            lease_ns: of.lease,
            electorate: Form::of(&of.electorate),
        }
    }

    fn read(self) -> Result<VoteDto, Unread> {
        Ok(VoteDto {
            voter_id: self.voter_id,
            vote: self.vote,
            ballot: self.ballot.read()?,
            lease: self.lease_ns,
            electorate: self.electorate.read()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ElectionForm {
    ballot: BallotForm,
    certified: bool,
    votes: Vec<CountForm>,
    new_leader: ParticipantForm,
    promise: Option<PromiseForm>,
    #[serde(default)]
    endorsed_by: Vec<ParticipantForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CountForm {
    #[serde(with = "text")]
    voter_id: NodeName,
    #[serde(default, with = "vote")]
    vote: Option<i64>,
}

impl Form for CountForm {
    type Of = (NodeName, Option<i64>);

    fn of((voter_id, vote): &Self::Of) -> Self {
        Self { voter_id: voter_id.clone(), vote: *vote }
    }

    fn read(self) -> Result<Self::Of, Unread> {
        Ok((self.voter_id, self.vote))
    }
}

impl Form for ElectionForm {
    type Of = ElectionDto;

    fn of(of: &ElectionDto) -> Self {
        Self {
            ballot: Form::of(&of.ballot),
            certified: of.certified,
            votes: each(&of.votes),
            new_leader: Form::of(&of.new_leader),
            promise: of.promise.as_ref().map(Form::of),
            endorsed_by: each(&of.endorsed_by),
        }
    }

    fn read(self) -> Result<ElectionDto, Unread> {
        Ok(ElectionDto {
            ballot: self.ballot.read()?,
            certified: self.certified,
            votes: all(self.votes, MEMBERS_MAX, "votes")?,
            new_leader: self.new_leader.read()?,
            promise: maybe(self.promise)?,
            endorsed_by: all(self.endorsed_by, MEMBERS_MAX, "endorsedBy")?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromiseForm {
    #[serde(with = "nanos")]
    span_ns: Duration,
    drift_ppb: u32,
}

impl Form for PromiseForm {
    type Of = PromiseDto;

    fn of(of: &PromiseDto) -> Self {
        Self { span_ns: of.span, drift_ppb: of.drift.parts_per_billion() }
    }

    fn read(self) -> Result<PromiseDto, Unread> {
        let drift = Drift::from_parts_per_billion(self.drift_ppb);
        let drift = drift.map_err(|error| Unread::new(error.to_string()))?;
        Ok(PromiseDto { span: self.span_ns, drift })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusForm {
    known_voters: Vec<VoterForm>,
    sender: VoterForm,
    leader: Option<LeaderForm>,
    electorate: Option<ElectorateForm>,
    endorsed: u64,
    free_ns: Option<u64>,
    reached: Option<bool>,
    #[serde(flatten)]
    condition: ConditionForm,
}

impl Form for StatusForm {
    type Of = StatusDto;

    fn of(of: &StatusDto) -> Self {
        Self {
            known_voters: each(&of.known_voters),
            sender: Form::of(&of.sender),
            leader: of.leader.as_ref().map(Form::of),
            electorate: of.electorate.as_ref().map(Form::of),
            endorsed: of.endorsed,
            free_ns: of.free.map(nanos::whole),
            reached: of.reached,
            condition: Form::of(&of.condition),
        }
    }

    fn read(self) -> Result<StatusDto, Unread> {
        Ok(StatusDto {
            known_voters: all(self.known_voters, KNOWN_MAX, "knownVoters")?,
            sender: self.sender.read()?,
            leader: maybe(self.leader)?,
            electorate: maybe(self.electorate)?,
            endorsed: counted(self.endorsed, 0)?,
            free: self.free_ns.map(Duration::from_nanos),
            reached: self.reached,
            condition: self.condition.read()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConditionForm {
    #[serde(default)]
    failing: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_voters: Option<FirstForm>,
}

/// A list of ids, or a number.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FirstForm {
    Listed(Vec<Name>),
    Number(u16),
}

impl Form for ConditionForm {
    type Of = Condition;

    fn of(of: &Condition) -> Self {
        let first = of.first.as_ref().map(|first| match first {
            FirstVoters::Listed(ids) => FirstForm::Listed(ids.iter().cloned().map(Name).collect()),
            FirstVoters::Number(number) => FirstForm::Number(*number),
        });
        Self { failing: of.failing, first_voters: first }
    }

    fn read(self) -> Result<Condition, Unread> {
        let first = match self.first_voters {
            Some(FirstForm::Listed(ids)) if ids.len() > MEMBERS_MAX => {
                let count = ids.len();
                let max = MEMBERS_MAX;
                return Err(Unread::new(format!("firstVoters has {count} entries; at most {max}")));
            }
            Some(FirstForm::Listed(ids)) => {
                Some(FirstVoters::Listed(ids.into_iter().map(|id| id.0).collect()))
            }
            Some(FirstForm::Number(number)) => Some(FirstVoters::Number(number)),
            None => None,
        };
        Ok(Condition { failing: self.failing, first })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReconcileForm {
    known_voters: Vec<VoterForm>,
}

impl Form for ReconcileForm {
    type Of = Vec<VoterDto>;

    fn of(of: &Vec<VoterDto>) -> Self {
        Self { known_voters: each(of) }
    }

    fn read(self) -> Result<Vec<VoterDto>, Unread> {
        all(self.known_voters, KNOWN_MAX, "knownVoters")
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoveForm {
    #[serde(with = "text")]
    pub(super) voter_id: NodeName,
    #[serde(default, with = "text")]
    pub(super) reason: Value,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StartedForm {
    ballot: Option<BallotForm>,
}

impl Form for StartedForm {
    type Of = Option<Ballot>;

    fn of(of: &Option<Ballot>) -> Self {
        Self { ballot: of.as_ref().map(Form::of) }
    }

    fn read(self) -> Result<Option<Ballot>, Unread> {
        maybe(self.ballot)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CountedForm {
    pub(super) open: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ChangeForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    add: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remove: Option<Name>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Name(#[serde(with = "text")] NodeName);

impl Form for ChangeForm {
    type Of = Change;

    fn of(of: &Change) -> Self {
        match of.clone() {
            Change::Add(id) => Self { add: Some(Name(id)), remove: None },
            Change::Remove(id) => Self { add: None, remove: Some(Name(id)) },
        }
    }

    fn read(self) -> Result<Change, Unread> {
        match (self.add, self.remove) {
            (Some(id), None) => Ok(Change::Add(id.0)),
            (None, Some(id)) => Ok(Change::Remove(id.0)),
            _ => Err(Unread::new("one change at a time: either add or remove, with a voterId")),
        }
    }
}
