//! Promises: which ballots, candidates and leaders may bind this voter, and the worth of promises
//! to a leader (V3, V4, V6, V7). `Voter::endorse` in `protocol.rs` makes the promise itself; a vote
//! promises nothing.

use core::time::Duration;

use super::state::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::electorate::{Electorate, ElectorateId};
use crate::voter::event::OwnEvent;
use crate::voter::identity::Leadership;
use crate::voter::message::{Header, LeaseDto, PromiseDto, Refusal, VoteDto};
use crate::voter::words::{Effect, Out};

impl Voter {
    /// Checks whether this voter may start a ballot.
    pub(super) fn may_start(&self) -> Result<(), Refusal> {
        let now = self.now;
        if !self.memory.founded {
            return Err(Refusal::NotFounded);
        }
        if !self.is_member() {
            return Err(Refusal::NotAMember { who: self.me.id.clone() });
        }
        if self.promise.is_quarantined(now) {
            let remaining = self.promise.quarantine.since(now);
            return Err(Refusal::Quarantined { remaining });
        }
        match self.promise.running(now) {
            Some((to, until)) => {
                let to = to.leader.id.clone();
                Err(Refusal::Promised { to, remaining: until.since(now) })
            }
            None => Ok(()),
        }
    }

    /// Checks whether this voter may vote in a ballot of another voter.
    pub(super) fn may_join(
        &mut self,
        header: &Header,
        vote: &VoteDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let VoteDto { ballot, electorate, .. } = vote;
        if let Some(leader) = self.own_leader_dto()
            && self.is_majority()
        {
            return Err(Refusal::Leads(leader.into()));
        }
        if self.is_majority() {
            self.may_follow(electorate, out)?;
            let founded_there = header.founding.is_some_and(|(_, founded)| founded);
            if !self.memory.founded && !founded_there {
                return Err(Refusal::NotFounded);
            }
        }
        for who in [&self.me, &header.sender] {
            if !electorate.has(who) {
                return Err(Refusal::NotAMember { who: who.id.clone() });
            }
        }
        // Note the counter only now: a voter without a vote must not use up counters.
        self.ballots.hear_counter(ballot.counter);
        if self.ballots.has_joined(ballot) {
            return Err(Refusal::Left);
        }
        let counter = self.memory.counter();
        if ballot.counter <= counter {
            return Err(Refusal::Endorsed { counter });
        }
        Ok(())
    }

    /// Whether a quorum answers this voter (V12). Without such a quorum other voters could still
    /// endorse this voter, but no quorum would acknowledge its leadership.
    pub(super) fn reaches_quorum(&self, electorate: &Electorate) -> bool {
        let most = self.config.tolerance;
        let reached = |id: &NodeName| {
            *id == self.me.id || self.known.get(id).is_some_and(|known| known.is_on_line(most))
        };
        let reached = electorate.members.iter().filter(|member| reached(&member.id)).count();
        !self.is_majority() || reached >= electorate.quorum()
    }

    pub(super) fn is_lower(&self, electorate: &Electorate) -> bool {
        self.memory.electorate.as_ref().is_some_and(|own| own.id > electorate.id)
    }

    /// Checks whether this voter may promise a leader a lease, or extend its promise to that
    /// leader.
    pub(super) fn may_acknowledge(
        &mut self,
        lease: &LeaseDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let LeaseDto { leadership, electorate, .. } = lease;
        self.may_follow(electorate, out)?;
        if !electorate.has(&leadership.leader) {
            return Err(Refusal::NotAMember { who: leadership.leader.id.clone() });
        }
        if self.promise.is_released(leadership) {
            return Err(Refusal::Released);
        }
        let endorsed = self.memory.endorsed.as_ref();
        let same = endorsed.is_some_and(|endorsed| endorsed.is_as(leadership));
        let counter = self.memory.counter();
        if leadership.counter() <= counter && !same {
            return Err(Refusal::Endorsed { counter });
        }
        match self.promise.running(self.now) {
            Some((to, until)) if !same => Err(Refusal::Promised {
                to: to.leader.id.clone(),
                remaining: until.since(self.now),
            }),
            _ => Ok(()),
        }
    }

    fn may_follow(&mut self, electorate: &Electorate, out: &mut Out) -> Result<(), Refusal> {
        match self.accepted() {
            None if !electorate.has(&self.me) => {
                self.lose(electorate, out);
                return Err(Refusal::NotAMember { who: self.me.id.clone() });
            }
            Some(own) if own.founding != electorate.founding => {
                return Err(Refusal::OtherFounding { ours: own.founding });
            }
            Some(own) if electorate.id < own.id => {
                return Err(Refusal::OldElectorate(own.clone()));
            }
            None | Some(_) => {}
        }
        if self.promise.is_quarantined(self.now) {
            let remaining = self.promise.quarantine.since(self.now);
            return Err(Refusal::Quarantined { remaining });
        }
        Ok(())
    }

    /// Stores the state on which an acknowledgement depends. Returns the version of the stored
    /// document.
    pub(super) fn store(&mut self, lease: &LeaseDto, out: &mut Out) -> ElectorateId {
        let LeaseDto { leadership, electorate, .. } = lease;
        let own = self.memory.electorate.as_ref();
        if own.is_none_or(|own| own.id < electorate.id) {
            self.remember_electorate(electorate, out);
            self.tell_own(OwnEvent::Electorate(electorate.clone()), out);
        } else if !self.memory.founded {
            self.remember(out, |memory| memory.founded = true);
        }
        if leadership.counter() > self.memory.counter() {
            self.endorse_durably(leadership, out);
        }
        electorate.id
    }

    pub(super) fn endorse_durably(&mut self, to: &Leadership, out: &mut Out) {
        let endorsed = Some(to.clone());
        self.remember(out, |memory| memory.endorsed = endorsed);
        self.ballots.hear_counter(to.counter());
    }

    /// Promises to endorse and acknowledge no other voter until C + p, C the present time and p the
    /// span.
    pub(super) fn promise_to(&mut self, to: &Leadership, asked: Duration) -> PromiseDto {
        // Promise no longer than the silence after a restart.
        let span = asked.min(self.config.lease_max()).min(self.memory.lease_max);
        // C, the clock of this input, was read after the request arrived (V6).
        self.promise.give(to.clone(), self.now.after(span));
        PromiseDto { span, drift: self.config.drift }
    }

    /// The end of a promise on this voter's clock, measured from a time before the request, with
    /// the worst clocks.
    pub(super) fn counted(&self, sent: Time, promise: PromiseDto) -> Time {
        let span = promise.span.min(self.config.lease());
        sent.after(self.config.counted_of(span, promise.drift))
    }

    /// Reports once that a leader asks for a lease of another length than this voter would. A
    /// leader may ask for any length.
    pub(super) fn compare_times(&mut self, lease: &LeaseDto, out: &mut Out) {
        let (leader, theirs) = (lease.leadership.leader.id.clone(), lease.span);
        let ours = self.config.lease();
        if theirs != ours && self.watch.note_other_times(&leader, theirs) {
            self.tell_own(OwnEvent::OtherTimes { leader, theirs, ours }, out);
        }
    }

    /// Renews this leader's promise to itself.
    pub(super) fn renew_own(&mut self, out: &mut Out) {
        let lease = self.candidacy.lease().filter(|lease| !lease.gives_way);
        let Some(leadership) = lease.map(|lease| lease.leadership.clone()) else { return };
        if !self.is_majority() || !self.leads() {
            return;
        }
        // A winner that has not counted the votes itself has not endorsed itself yet.
        if leadership.counter() > self.memory.counter() && self.promise.is_free(self.now) {
            self.endorse_durably(&leadership, out);
        }
        if !self.memory.endorsed.as_ref().is_some_and(|own| own.is_as(&leadership)) {
            return;
        }
        let promise = self.promise_to(&leadership, self.config.lease());
        let until = self.now.after(self.config.counted(promise.span));
        if let Some(lease) = self.candidacy.lease_mut() {
            lease.promises.insert(self.me.id.clone(), until);
        }
        self.grow(out);
    }

    /// Moves E, the end of the lease, to the q-th largest promise (q the quorum). E never moves
    /// back.
    pub(super) fn grow(&mut self, out: &mut Out) {
        let Some(electorate) = &self.memory.electorate else { return };
        let fence = self.fence();
        let Some(lease) = self.candidacy.lease_mut() else { return };
        let Some(until) = lease.quorum_ends(electorate) else { return };
        if lease.grow(until, self.now) {
            out.push(Effect::Raise { election: self.config.election.clone(), until, fence });
        }
    }
}
