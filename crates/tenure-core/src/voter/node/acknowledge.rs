//! Promises to leaders: given to one at a time, and cleared by exactly that one (V6, V7, V8).

use super::Voter;
use super::view::Followed;
use crate::voter::identity::Leadership;
use crate::voter::message::{AckDto, Answer, ElectionDto, Header, LeaseDto, PromiseDto, Refusal};
use crate::voter::words::Out;
use crate::voter::{ElectorateId, OwnEvent};
use core::time::Duration;

impl Voter {
    /// A leader asks for its lease.
    pub(super) fn acknowledge(
        &mut self,
        header: &Header,
        lease: &LeaseDto,
        out: &mut Out,
    ) -> Result<Option<AckDto>, Refusal> {
        if lease.leadership.leader != header.sender {
            return Err(Refusal::Malformed("a leadership of another one than its sender"));
        }
        if !self.is_majority() {
            self.hear_leader(header, lease, out)?;
            return Ok(None);
        }
        self.may_acknowledge(lease, out)?;
        let stored = self.store(lease, out);
        self.compare_times(lease, out);
        let promise = self.promise_to(&lease.leadership, lease.span);
        self.followed = Some(Followed::of(lease, &header.url, self.now, self.followed.take()));
        self.suspect_later();
        Ok(Some(AckDto { leadership: lease.leadership.clone(), promise, stored }))
    }

    /// Both may have what they like; that they do not is worth a word, once.
    fn compare_times(&mut self, lease: &LeaseDto, out: &mut Out) {
        let (leader, theirs) = (lease.leadership.leader.id.clone(), lease.span);
        let (told, ours) = (Some((leader.clone(), theirs)), self.config.lease());
        if theirs != ours && self.other_times != told {
            self.other_times = told;
            self.tell_own(OwnEvent::OtherTimes { leader, theirs, ours }, out);
        }
    }

    fn may_acknowledge(&mut self, lease: &LeaseDto, out: &mut Out) -> Result<(), Refusal> {
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

    /// Whether this electorate may bind this voter, now.
    pub(super) fn may_follow(
        &mut self,
        electorate: &crate::voter::Electorate,
        out: &mut Out,
    ) -> Result<(), Refusal> {
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

    /// What an acknowledgement rests on, durably.
    fn store(&mut self, lease: &LeaseDto, out: &mut Out) -> ElectorateId {
        let LeaseDto { leadership, electorate, .. } = lease;
        let own = self.memory.electorate.as_ref();
        if own.is_none_or(|own| own.id < electorate.id) {
            let electorate = electorate.clone();
            self.remember(out, |memory| {
                (memory.electorate, memory.founded) = (Some(electorate.clone()), true);
            });
            self.tell_own(OwnEvent::Electorate(electorate), out);
        } else if !self.memory.founded {
            self.remember(out, |memory| memory.founded = true);
        }
        if leadership.counter() > self.memory.counter() {
            self.endorse_durably(leadership, out);
        }
        electorate.id
    }

    /// From now on this counter is given away.
    pub(super) fn endorse_durably(&mut self, to: &Leadership, out: &mut Out) {
        let endorsed = Some(to.clone());
        self.remember(out, |memory| memory.endorsed = endorsed);
        self.hear_counter(to.counter());
    }

    /// Until C + p nobody else is endorsed or acknowledged.
    pub(super) fn promise_to(&mut self, to: &Leadership, asked: Duration) -> PromiseDto {
        // Not beyond what a restart would wait for.
        let span = asked.min(self.config.lease_max()).min(self.memory.lease_max);
        // C: a clock that was read after the request arrived (V6).
        self.promise.give(to.clone(), self.now.after(span));
        PromiseDto { span, drift: self.config.drift }
    }

    /// A leadership is over, or was given up, by its own word.
    pub(super) fn on_release(
        &mut self,
        header: &Header,
        leadership: &Leadership,
    ) -> Result<Answer, Refusal> {
        // Not a later run of it either: what the earlier one led may be stopped only at its end.
        if leadership.leader != header.sender {
            return Err(Refusal::NotAllowed);
        }
        self.released(leadership);
        Ok(Answer::Done)
    }

    /// The same, or by its answer to a result.
    pub(super) fn released(&mut self, leadership: &Leadership) {
        let ran = self.promise.release(leadership, self.now);
        let followed = self.followed.take_if(|followed| followed.leadership == *leadership);
        if ran || followed.is_some() {
            self.starter.at = Some(self.now);
            self.wait_a_little();
        }
    }

    /// A leader shows by what it has won.
    pub(super) fn hear_certificate(
        &mut self,
        leadership: &Leadership,
        certificate: ElectionDto,
        out: &mut Out,
    ) {
        let proper = certificate.new_leader == leadership.leader
            && certificate.ballot == leadership.ballot
            && certificate.certified;
        let news = self.last.as_ref() != Some(&certificate);
        if proper && news {
            self.certified(certificate, out);
        }
    }

    pub(super) fn certified(&mut self, certificate: ElectionDto, out: &mut Out) {
        let (ballot, leader) = (certificate.ballot.clone(), certificate.new_leader.clone());
        self.last = Some(certificate);
        if self.round.as_ref().is_some_and(|round| round.ballot <= ballot) {
            self.leave_round(out);
        }
        self.tell_own(OwnEvent::Certified { ballot, leader }, out);
    }
}
