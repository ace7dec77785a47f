//! The ring of a node (section 9): pings, answers, and reports of the weak leader.

use super::super::body::Service;
use super::super::event::Ignored;
use super::super::message::Sender;
use super::super::ring::{OwnGrant, Ping, Pong, Ring};
use super::super::words::{Out, emit, send};
use super::{Nerio, ignore};
use crate::name::ElectionName;
use crate::time::Time;

impl Nerio {
    /// Begins the ring of this epoch, if the settings have one. Only a grantor stands on the ring.
    pub(super) fn begin_ring(&mut self, now: Time, out: &mut Out) {
        let Some(config) = self.context.config.ring else { return };
        let membership = &self.context.membership;
        let position = membership.position(&self.context.who.name);
        let own = position.filter(|_| self.grantor.is_some());
        match &mut self.context.ring {
            Some(ring) => ring.switch(own, membership, now),
            None => self.context.ring = Some(Ring::new(config, own, membership, now)),
        }
        self.say_weak_leader(out);
    }

    /// Asks the neighbours at a tick.
    pub(super) fn run_ring(&mut self, now: Time, out: &mut Out) {
        let Some(ring) = &mut self.context.ring else { return };
        let asked = ring.run_due(now);
        if asked.is_empty() {
            return self.say_weak_leader(out);
        }
        self.context.asked = self.context.asked.max(Some(now));
        for member in asked.iter() {
            send(out, self.context.membership.to(member), Ping { start: now });
        }
        self.say_weak_leader(out);
    }

    /// Answers a ping. Two kinds of grantor do not answer, because an answer confirms the epoch
    /// (founding by document 3.11): a grantor that never grants again, and a blank.
    pub(super) fn on_ping(&self, now: Time, from: &Sender, ping: &Ping, out: &mut Out) {
        let Some(grantor) = &self.grantor else { return ignore(out, None, Ignored::NotAGrantor) };
        let Some(ring) = &self.context.ring else { return ignore(out, None, Ignored::NoRing) };
        let grants_no_more = matches!(grantor.service(now), Service::Removed | Service::Replaced);
        if grants_no_more || grantor.is_blank() {
            return ignore(out, None, Ignored::NotServing);
        }
        let pong = Pong {
            asker: from.who.inc,
            start: ping.start,
            instance: grantor.instance,
            weak: ring.named(&self.context.membership).cloned(),
        };
        send(out, from, pong);
    }

    /// Takes an answer, which must come from the member itself: an answer in the name of a failed
    /// member would keep the member alive.
    pub(super) fn on_pong(&mut self, now: Time, from: &Sender, pong: &Pong, out: &mut Out) {
        if !self.admit_answer(pong.asker, out) {
            return;
        }
        let Some(member) = self.member(from) else {
            return ignore(out, None, Ignored::NotAMember);
        };
        if !self.is_of_seat(member, pong.instance) {
            return ignore(out, None, Ignored::OtherMemory);
        }
        let named = pong.weak.as_ref().and_then(|weak| self.context.membership.position(weak));
        let ring = self.context.ring.as_mut();
        if !ring.is_some_and(|ring| ring.on_pong(now, member, pong.start, named)) {
            return ignore(out, None, Ignored::Unasked);
        }
        self.context.confirmation.answers(member, pong.start, &self.context.membership);
        self.say_weak_leader(out);
    }

    fn say_weak_leader(&mut self, out: &mut Out) {
        let ring = self.context.ring.as_mut();
        if let Some(event) = ring.and_then(|ring| ring.news(&self.context.membership)) {
            emit(out, None, event);
        }
    }

    /// Notes the holder to which this node's own grantor has granted the election. A candidate that
    /// may have to leave the election to the weak leader reads this note.
    pub(super) fn look_at_own_grant(&mut self, election: &ElectionName) {
        let Some(ring) = self.context.ring.as_mut().filter(|ring| ring.holds_back()) else {
            return;
        };
        let grant = self.grantor.as_ref().and_then(|grantor| grantor.state(election));
        let grant = grant.and_then(|state| state.live(self.now)).map(|grant| &grant.record);
        ring.own_grant = grant.map(|record| OwnGrant {
            to: record.holder.clone(),
            leads: record.announced.is_some(),
        });
    }
}
