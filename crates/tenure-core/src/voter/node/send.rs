//! Requests, answers and events of a voter.

use alloc::vec::Vec;
use core::time::Duration;

use super::state::Voter;
use crate::name::NodeName;
use crate::voter::accepted_set::first_voters;
use crate::voter::calls::{Exchange, Purpose};
use crate::voter::event::{Breach, Event, Ignored, OwnEvent};
use crate::voter::identity::VoterUrl;
use crate::voter::message::{
    AckDto, Answer, Ask, BeatenDto, Caller, Condition, Header, HeartbeatDto, KNOWN_MAX, LeaderDto,
    LeaseDto, Message, Refusal, Role, StatusDto, VoterDto,
};
use crate::voter::words::{Effect, Out, Peer, emit};

impl Voter {
    fn header(&self) -> Header {
        let founding = self.accepted().map(|own| (own.founding, self.memory.founded));
        Header {
            election: self.config.election.clone(),
            mode: self.config.mode,
            sender: self.me.clone(),
            url: self.config.url.clone(),
            founding: founding.filter(|_| self.is_majority()),
        }
    }

    /// Sends a request to this address, which the voter `who` must answer. The present time counts
    /// as the send time: the effect is carried out later. Returns whether there was room.
    pub(super) fn ask(
        &mut self,
        to: VoterUrl,
        who: Option<NodeName>,
        purpose: Purpose,
        within: Duration,
        ask: Ask,
        out: &mut Out,
    ) -> bool {
        let Some(call) = self.calls.open(to.clone(), who, purpose, self.now, within) else {
            self.ignore(Ignored::Full, out);
            return false;
        };
        let caller = Caller::Voter(self.header());
        let message = Message::Request { call, caller, within, ask };
        out.push(Effect::Send { to: Peer::At(to), message });
        true
    }

    pub(super) fn ask_at(&mut self, to: VoterUrl, purpose: Purpose, ask: Ask, out: &mut Out) {
        self.ask(to, None, purpose, self.config.request_timeout, ask, out);
    }

    /// Sends a request to another voter. Returns `false` if its address is unknown, or there was no
    /// room.
    pub(super) fn ask_voter(
        &mut self,
        id: &NodeName,
        purpose: Purpose,
        ask: Ask,
        out: &mut Out,
    ) -> bool {
        let Some(known) = self.known.get(id) else { return false };
        let to = known.url().clone();
        self.ask(to, Some(id.clone()), purpose, self.config.request_timeout, ask, out)
    }

    /// Sends a heartbeat to these voters. A leader's heartbeat asks members for promises, which are
    /// measured from now (V6).
    pub(super) fn send_heartbeats(&mut self, ids: &[NodeName], out: &mut Out) {
        let seq = self.beat.number();
        let (sender, known_voters) = (self.own_dto(), self.known_voters());
        let (lease, condition) = (self.lease_dto(), self.condition());
        for id in ids {
            // Ask a dropped voter for its status in place of a heartbeat, so that the voter is
            // found again.
            if self.known.get(id).is_some_and(|known| known.dropped.is_some()) {
                let ask = Ask::Status { suspect: None };
                self.ask_voter(id, Purpose::Heartbeat { seq, leadership: None }, ask, out);
                continue;
            }
            let member = self.memory.electorate.as_ref().is_some_and(|e| e.member(id).is_some());
            let lease = lease.clone().filter(|_| member || !self.is_majority());
            let leadership = lease.as_ref().map(|lease| lease.leadership.clone());
            let held = self.candidacy.lease().filter(|_| lease.is_some());
            let certificate = held.and_then(|held| held.certificate_for(id));
            let (sender, known_voters) = (sender.clone(), known_voters.clone());
            let condition = condition.clone();
            let ask = Ask::Heartbeat(
                HeartbeatDto { seq, sender, known_voters, lease, certificate, condition }.into(),
            );
            self.ask_voter(id, Purpose::Heartbeat { seq, leadership }, ask, out);
        }
    }

    /// The request for a lease, if this voter leads and does not give way.
    fn lease_dto(&self) -> Option<LeaseDto> {
        let campaign = self.candidacy.campaign.as_ref()?;
        let lease = campaign.lease.as_ref();
        let lease = lease.filter(|lease| !lease.gives_way && self.now < lease.ends)?;
        let majority = self.is_majority();
        Some(LeaseDto {
            leadership: lease.leadership.clone(),
            value: campaign.value.clone(),
            span: if majority { self.config.lease() } else { Duration::ZERO },
            electorate: match &self.memory.electorate {
                Some(electorate) if majority => electorate.clone(),
                _ => lease.electorate.clone(),
            },
        })
    }

    pub(super) fn answer(&self, exchange: Exchange, answer: Answer, out: &mut Out) {
        let (to, call) = exchange;
        let message = Message::Answer { call, header: self.header(), answer };
        out.push(Effect::Send { to, message });
    }

    /// The answer to a heartbeat: this voter's status, and an acknowledgement, if the leader asked
    /// for one, or a refusal.
    pub(super) fn beaten(&self, seq: u64, ack: Result<Option<AckDto>, Refusal>) -> BeatenDto {
        let (promise, refused) = match ack {
            Ok(ack) => (ack, None),
            Err(refusal) => (None, Some(refusal)),
        };
        BeatenDto { seq, promise, refused, status: Some(self.status(None).into()) }
    }

    /// The status of this voter. `reached` says whether a suspect has answered.
    pub(super) fn status(&self, reached: Option<bool>) -> StatusDto {
        StatusDto {
            known_voters: self.known_voters(),
            sender: self.own_dto(),
            leader: self.leader_dto(),
            electorate: self.accepted().filter(|_| self.is_majority()).cloned(),
            endorsed: self.memory.counter(),
            free: self.free_for(),
            reached,
            condition: self.condition(),
        }
    }

    pub(super) fn known_voters(&self) -> Vec<VoterDto> {
        let tolerance = self.config.tolerance;
        let others = self.known.shown().map(|known| known.dto(tolerance)).take(KNOWN_MAX - 1);
        let mut all: Vec<_> = others.chain([self.own_dto()]).collect();
        all.sort_by(|one, other| one.voter_id.cmp(&other.voter_id));
        all
    }

    pub(super) fn own_dto(&self) -> VoterDto {
        let role = match (self.candidacy.lease(), &self.watch.followed) {
            (Some(_), _) => Role::Leader,
            (None, Some(_)) => Role::Follower,
            (None, None) => Role::None,
        };
        let (voter_id, voter_url) = (self.me.id.clone(), self.config.url.clone());
        VoterDto { voter_id, voter_url, role, on_line: true }
    }

    pub(super) fn leader_dto(&self) -> Option<LeaderDto> {
        self.own_leader_dto().or_else(|| self.watch.leader_dto(self.now))
    }

    pub(super) fn own_leader_dto(&self) -> Option<LeaderDto> {
        let campaign = self.candidacy.campaign.as_ref()?;
        let lease = campaign.lease.as_ref().filter(|_| self.leads())?;
        let left = lease.ends.since(self.now);
        Some(LeaderDto {
            leadership: lease.leadership.clone(),
            url: self.config.url.clone(),
            value: campaign.value.clone(),
            remaining: self.is_majority().then_some(left),
        })
    }

    fn condition(&self) -> Condition {
        let first = self.is_unfounded().then(|| first_voters(&self.config)).flatten();
        Condition { failing: !self.can_write(), first }
    }

    /// Reports an event about the election.
    pub(super) fn tell(&self, event: impl Into<Event>, out: &mut Out) {
        emit(Some(&self.config.election), event, out);
    }

    /// Reports an event for operators.
    pub(super) fn tell_own(&self, event: OwnEvent, out: &mut Out) {
        emit(None, event, out);
    }

    pub(super) fn breach(&self, breach: Breach, out: &mut Out) {
        emit(None, OwnEvent::Breach(breach), out);
    }

    pub(super) fn ignore(&self, reason: Ignored, out: &mut Out) {
        emit(None, OwnEvent::Ignored(reason), out);
    }
}
