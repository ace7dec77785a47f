//! The end of a ballot or a leadership, and the messages that report it (V5, V8).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::state::Voter;
use crate::event::{End, Loss};
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::calls::Purpose;
use crate::voter::event::{Event, OwnEvent};
use crate::voter::identity::Leadership;
use crate::voter::lease::EndedLeadership;
use crate::voter::message::{Answer, Ask, ElectionDto, Header, Refusal};
use crate::voter::words::{Effect, Out};

impl Voter {
    /// Leaves the ballot. This voter can no longer win the ballot, and reports that to the voters
    /// that have endorsed this voter.
    pub(super) fn leave_round(&mut self, out: &mut Out) {
        let Some(round) = self.ballots.round.take() else { return };
        let leadership = round.leadership(&self.me);
        let endorsed: Vec<_> = round.endorsed(&self.me).map(|(by, _)| by.id.clone()).collect();
        if !self.is_majority() || endorsed.is_empty() {
            return;
        }
        self.promise.release(&leadership, self.now);
        self.give_up(&leadership, endorsed, out);
    }

    /// Takes back a victory whose write has failed: no voter has heard of the victory.
    pub(super) fn unwin(&mut self, out: &mut Out) {
        let Some(lease) = self.candidacy.take_lease() else { return };
        self.promise.release(&lease.leadership, self.now);
        let endorsed = lease.certificate.endorsed_by.into_iter().map(|by| by.id);
        self.give_up(&lease.leadership, endorsed.collect(), out);
    }

    /// Tells voters that the leadership that they have endorsed will never begin. This voter does
    /// not list itself, so it sends itself no request.
    fn give_up(&mut self, leadership: &Leadership, endorsed: Vec<NodeName>, out: &mut Out) {
        for id in endorsed {
            let ask = Ask::Release(leadership.clone());
            self.ask_voter(&id, Purpose::Tell, ask, out);
        }
    }

    /// Handles the certificate that a leader has sent.
    pub(super) fn hear_certificate(
        &mut self,
        of: &Leadership,
        certificate: ElectionDto,
        out: &mut Out,
    ) {
        let proper = certificate.new_leader == of.leader
            && certificate.ballot == of.ballot
            && certificate.certified;
        if proper && self.ballots.last.as_ref() != Some(&certificate) {
            self.certified(certificate, out);
        }
    }

    /// Notes a certified leader, and leaves a ballot that is not above the leader's.
    pub(super) fn certified(&mut self, certificate: ElectionDto, out: &mut Out) {
        let (ballot, leader) = (certificate.ballot.clone(), certificate.new_leader.clone());
        self.ballots.last = Some(certificate);
        if self.ballots.round.as_ref().is_some_and(|round| round.ballot <= ballot) {
            self.leave_round(out);
        }
        self.tell_own(OwnEvent::Certified { ballot, leader }, out);
    }

    /// Starts a ballot for a member or an operator. While a leader is known, only the leader itself
    /// obeys (V8).
    pub(super) fn on_start(&mut self, out: &mut Out) -> Result<Answer, Refusal> {
        if self.leads() && self.is_majority() {
            self.give_way(out);
            return Ok(Answer::Started(None));
        }
        if let Some(leader) = self.leader_dto().filter(|_| !self.leads()) {
            return Err(Refusal::Leads(leader.into()));
        }
        if self.is_majority() {
            self.may_start()?;
        }
        if let Some(round) = &self.ballots.round {
            return Ok(Answer::Started(Some(round.ballot.clone())));
        }
        self.starter.forced = true;
        self.starter.at = Some(self.now);
        Ok(Answer::Started(None))
    }

    /// Lets others draw: this leader goes on to the end of its lease, so that its work has ended
    /// when the others are free.
    fn give_way(&mut self, out: &mut Out) {
        let Some(lease) = self.candidacy.lease_mut() else { return };
        if !core::mem::replace(&mut lease.gives_way, true) {
            self.tell_own(OwnEvent::GivesWay, out);
        }
    }

    pub(super) fn withdraw(&mut self, out: &mut Out) {
        if self.candidacy.lease().is_some() {
            return self.end(Loss::Resigned, out);
        }
        if self.candidacy.campaign.take().is_some() {
            self.leave_round(out);
            self.tell(Event::Ended(End::Withdrawn), out);
            // An earlier leadership may still bind other voters.
            if self.candidacy.releasing.is_none() {
                self.tell(Event::Released, out);
            }
        }
    }

    /// Ends the leadership: first for its handle, then for the other voters (R4).
    pub(super) fn end(&mut self, loss: Loss, out: &mut Out) {
        let Some(lease) = self.candidacy.end() else { return };
        out.push(Effect::Lower { election: self.config.election.clone() });
        self.tell(Event::Ended(End::Lost(loss)), out);
        self.promise.release(&lease.leadership, self.now);
        self.starter.at = Some(self.now);
        self.starter.forced = lease.gives_way;
        if !lease.gives_way {
            self.wait_a_little();
        }
        let ends = if self.is_majority() {
            lease.ends.max(self.now)
        } else {
            // An uninformed voter is not bound by this leadership, and will notice the silence.
            self.now.after(self.config.request_timeout)
        };
        self.release(lease.leadership, ends, out);
    }

    /// Informs all members of the end of a leadership, or in mode `available` all known voters. The
    /// release goes on until all know of the end, or until the lease has run out.
    fn release(&mut self, leadership: Leadership, ends: Time, out: &mut Out) {
        let to: BTreeSet<_> = self.followers().into_iter().collect();
        let until = if to.is_empty() { self.now } else { ends };
        self.candidacy.releasing = Some(EndedLeadership { leadership, to, until });
        self.repeat_release(out);
    }

    pub(super) fn repeat_release(&mut self, out: &mut Out) {
        let Some(EndedLeadership { leadership, to, .. }) = self.candidacy.releasing.clone() else {
            return;
        };
        for id in to {
            let ask = Ask::Release(leadership.clone());
            self.ask_voter(&id, Purpose::Release(leadership.clone()), ask, out);
        }
    }

    /// Ends the release: all voters know of the end of the leadership, or it no longer binds any
    /// voter.
    pub(super) fn on_released(&mut self, out: &mut Out) {
        if self.candidacy.releasing.take().is_some() {
            self.tell(Event::Released, out);
        }
    }

    /// Handles another voter's report that its leadership is over, or will never begin.
    pub(super) fn on_release(
        &mut self,
        header: &Header,
        leadership: &Leadership,
    ) -> Result<Answer, Refusal> {
        // Refuse a later run, too: the work of the earlier run may last until E.
        if leadership.leader != header.sender {
            return Err(Refusal::NotAllowed);
        }
        self.released(leadership);
        Ok(Answer::Done)
    }

    /// Ends the promise to a leadership that is over or will never begin: a draw may follow.
    pub(super) fn released(&mut self, leadership: &Leadership) {
        let ran = self.promise.release(leadership, self.now);
        if self.watch.forget(leadership) || ran {
            self.starter.at = Some(self.now);
            self.wait_a_little();
        }
    }
}
