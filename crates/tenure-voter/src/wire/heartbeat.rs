//! A heartbeat and its answer: the request of a leader, and the promise to it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::Value;
use tenure_core::voter::{AckDto, BeatenDto, HeartbeatDto, KNOWN_MAX, LeaseDto};

use super::Unread;
use super::fields::{nanos, text};
use super::form::{
    ConditionForm, ElectionForm, ElectorateForm, ElectorateIdForm, Form, LeaderForm,
    LeadershipForm, PromiseForm, VoterForm, all, each, maybe,
};
use super::refusal::RefusalForm;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeartbeatForm {
    seq: u64,
    sender: VoterForm,
    known_voters: Vec<VoterForm>,
    lease: Option<LeaseForm>,
    certificate: Option<ElectionForm>,
    #[serde(flatten)]
    condition: ConditionForm,
}

impl Form for HeartbeatForm {
    type Of = HeartbeatDto;

    fn of(of: &HeartbeatDto) -> Self {
        Self {
            seq: of.seq,
            sender: Form::of(&of.sender),
            known_voters: each(&of.known_voters),
            lease: of.lease.as_ref().map(Form::of),
            certificate: of.certificate.as_ref().map(Form::of),
            condition: Form::of(&of.condition),
        }
    }

    fn read(self) -> Result<HeartbeatDto, Unread> {
        Ok(HeartbeatDto {
            seq: self.seq,
            sender: self.sender.read()?,
            known_voters: all(self.known_voters, KNOWN_MAX, "knownVoters")?,
            lease: maybe(self.lease)?,
            certificate: maybe(self.certificate)?,
            condition: self.condition.read()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseForm {
    leadership: LeadershipForm,
    #[serde(with = "text")]
    value: Value,
    #[serde(with = "nanos")]
    span_ns: Duration,
    electorate: ElectorateForm,
}

impl Form for LeaseForm {
    type Of = LeaseDto;

    fn of(of: &LeaseDto) -> Self {
        Self {
            leadership: Form::of(&of.leadership),
            value: of.value.clone(),
            span_ns: of.span,
            electorate: Form::of(&of.electorate),
        }
    }

    fn read(self) -> Result<LeaseDto, Unread> {
        Ok(LeaseDto {
            leadership: self.leadership.read()?,
            value: self.value,
            span: self.span_ns,
            electorate: self.electorate.read()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BeatenForm {
    seq: u64,
    promise: Option<AckForm>,
    refused: Option<RefusalForm>,
    leader: Option<LeaderForm>,
    free_ns: Option<u64>,
    electorate: Option<ElectorateIdForm>,
}

impl Form for BeatenForm {
    type Of = BeatenDto;

    fn of(of: &BeatenDto) -> Self {
        Self {
            seq: of.seq,
            promise: of.promise.as_ref().map(Form::of),
            refused: of.refused.as_ref().map(Form::of),
            leader: of.leader.as_ref().map(Form::of),
            free_ns: of.free.map(nanos::whole),
            electorate: of.electorate.as_ref().map(Form::of),
        }
    }

    fn read(self) -> Result<BeatenDto, Unread> {
        Ok(BeatenDto {
            seq: self.seq,
            promise: maybe(self.promise)?,
            refused: maybe(self.refused)?,
            leader: maybe(self.leader)?,
            free: self.free_ns.map(Duration::from_nanos),
            electorate: maybe(self.electorate)?,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct AckForm {
    leadership: LeadershipForm,
    promise: PromiseForm,
    stored: ElectorateIdForm,
}

impl Form for AckForm {
    type Of = AckDto;

    fn of(of: &AckDto) -> Self {
        Self {
            leadership: Form::of(&of.leadership),
            promise: Form::of(&of.promise),
            stored: Form::of(&of.stored),
        }
    }

    fn read(self) -> Result<AckDto, Unread> {
        Ok(AckDto {
            leadership: self.leadership.read()?,
            promise: self.promise.read()?,
            stored: self.stored.read()?,
        })
    }
}
