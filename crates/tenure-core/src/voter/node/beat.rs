//! Heartbeats: sent once a heartbeat interval, and heard.

use alloc::vec::Vec;
use core::time::Duration;

use super::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::calls::Purpose;
use crate::voter::event::Ignored;
use crate::voter::free::Free;
use crate::voter::identity::Leadership;
use crate::voter::message::{
    Answer, Ask, BeatenDto, Header, HeartbeatDto, LeaseDto, Refusal, VoterDto,
};
use crate::voter::words::Out;

impl Voter {
    /// A heartbeat interval has passed.
    pub(super) fn on_beat(&mut self, out: &mut Out) {
        let next = self.beat.after(self.config.heartbeat);
        self.beat = if next > self.now { next } else { self.now.after(self.config.heartbeat) };
        self.remember_longest(out);
        self.register(out);
        self.forget_dropped();
        self.found(out);
        self.admit_known(out);
        self.repeat_release(out);
        self.look_at_own_place(out);
        self.keep_starting();
        self.renew_own(out);
        let members = self.others();
        let known = self.known.all().map(|known| known.who().id.clone());
        let others = known.filter(|id| !members.contains(id)).collect::<Vec<_>>();
        self.send_heartbeats(&[members, others].concat(), out);
    }

    /// Says to these that it is there, and if it leads asks the members among them to promise so
    /// much. One that leads counts from here.
    pub(super) fn send_heartbeats(&mut self, ids: &[NodeName], out: &mut Out) {
        self.seq += 1;
        let (seq, sender, known_voters) = (self.seq, self.own_dto(), self.known_voters());
        let (lease, condition) = (self.lease_dto(), self.condition());
        for id in ids {
            // One that was dropped is looked for.
            if self.known.get(id).is_some_and(|known| known.dropped.is_some()) {
                let ask = Ask::Status { suspect: None };
                self.ask_voter(id, Purpose::Heartbeat { seq, leadership: None }, ask, out);
                continue;
            }
            let member = self.memory.electorate.as_ref().is_some_and(|e| e.member(id).is_some());
            let lease = lease.clone().filter(|_| member || !self.is_majority());
            let leadership = lease.as_ref().map(|lease| lease.leadership.clone());
            let certificate = self.certificate_for(id).filter(|_| lease.is_some());
            let (sender, known_voters) = (sender.clone(), known_voters.clone());
            let condition = condition.clone();
            let ask = Ask::Heartbeat(
                HeartbeatDto { seq, sender, known_voters, lease, certificate, condition }.into(),
            );
            self.ask_voter(id, Purpose::Heartbeat { seq, leadership }, ask, out);
        }
    }

    /// What a leader asks for, unless it gives way.
    fn lease_dto(&self) -> Option<LeaseDto> {
        let lease = self.lease().filter(|lease| !lease.gives_way && self.now < lease.ends)?;
        let majority = self.is_majority();
        Some(LeaseDto {
            leadership: lease.leadership.clone(),
            value: self.campaign.as_ref()?.value.clone(),
            span: if majority { self.config.lease() } else { Duration::ZERO },
            electorate: match &self.memory.electorate {
                Some(electorate) if majority => electorate.clone(),
                _ => lease.electorate.clone(),
            },
        })
    }

    /// A heartbeat of another voter.
    pub(super) fn on_heartbeat(
        &mut self,
        header: &Header,
        heartbeat: HeartbeatDto,
        out: &mut Out,
    ) -> Result<Answer, Refusal> {
        let HeartbeatDto { seq, sender, known_voters, lease, certificate, condition } = heartbeat;
        let Some(known) = self.known.get_mut(&header.sender.id) else {
            return Err(Refusal::Full);
        };
        if seq <= known.seq {
            return Err(Refusal::OldHeartbeat);
        }
        (known.seq, known.role, known.condition) = (seq, sender.role, condition);
        self.hear_own_id(&known_voters, out);
        self.compare(header, &known_voters, out);
        self.hear_doubts(&known_voters, out);
        let mut beaten = BeatenDto { seq, ..BeatenDto::default() };
        if let Some(lease) = lease {
            match self.acknowledge(header, &lease, out) {
                Ok(ack) => {
                    beaten.promise = ack;
                    if let Some(certificate) = certificate {
                        self.hear_certificate(&lease.leadership, certificate, out);
                    }
                }
                Err(refusal) => beaten.refused = Some(refusal),
            }
        }
        beaten.leader = self.own_leader_dto();
        beaten.free = self.free_for();
        // One that is accepted and not founded yet binds nobody.
        let electorate = self.memory.electorate.as_ref().filter(|_| self.memory.founded);
        beaten.electorate = electorate.map(|electorate| electorate.id);
        Ok(Answer::Heartbeat(beaten))
    }

    /// The answer to an own heartbeat.
    pub(super) fn on_beaten(
        &mut self,
        header: &Header,
        (seq, leadership, sent): (u64, Option<Leadership>, Time),
        beaten: &BeatenDto,
        out: &mut Out,
    ) {
        if beaten.seq != seq {
            return self.ignore(Ignored::NotAsked, out);
        }
        // One that has a later electorate may know that it binds others.
        let ours = self.memory.electorate.as_ref().map(|electorate| electorate.id);
        let later = beaten.electorate > ours;
        if let Some(known) = self.known.get_mut(&header.sender.id) {
            let told = |span| Free::told(span, (sent, self.now), self.config.drift);
            known.free = beaten.free.filter(|_| !later).map(told);
        }
        // All others were asked when this one was.
        self.informed_at = self.informed_at.min(self.now.after(self.config.request_timeout));
        if later && self.memory.founded {
            let ask = Ask::Status { suspect: None };
            self.ask_voter(&header.sender.id, Purpose::Tell, ask, out);
        }
        match &beaten.leader {
            Some(leader) if leader.leadership.leader == header.sender => {
                self.hear_greater(&leader.leadership, out);
                self.follow_told(leader, sent, out);
            }
            _ => {}
        }
        self.informed(&header.sender.id);
        match &beaten.refused {
            Some(Refusal::OldElectorate(electorate)) => self.adopt_of(header, electorate, out),
            Some(Refusal::Endorsed { counter }) => self.hear_endorsed(header, *counter),
            _ => {}
        }
        if let Some(ack) = &beaten.promise {
            self.on_acknowledged(header, (leadership, sent), ack, out);
        }
    }

    /// Another one did not answer a heartbeat.
    pub(super) fn on_missed(&mut self, id: &NodeName, out: &mut Out) {
        if let Some(known) = self.known.get_mut(id) {
            known.misses = known.misses.saturating_add(1);
        }
        self.drop_if_lost(id, out);
    }

    /// The lists differ: both sides look for whom they do not know.
    fn compare(&mut self, header: &Header, theirs: &[VoterDto], out: &mut Out) {
        let id = &header.sender.id;
        let listed = |id: &NodeName| theirs.iter().any(|voter| voter.voter_id == *id);
        let ours = self.known.shown().all(|known| listed(&known.who().id)) && listed(&self.me.id);
        let unknown = theirs.iter().any(|voter| self.is_unknown(&voter.voter_id));
        if !ours || unknown {
            let ask = Ask::Reconcile(self.known_voters());
            self.ask_voter(id, Purpose::Tell, ask, out);
        }
        if unknown {
            self.look_for_unknown(theirs, id, out);
        }
    }
}
