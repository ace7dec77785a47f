//! Leading: a lease out of promises, its end, and what is said then (V5, V6, V8).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Voter;
use crate::event::{End, Loss};
use crate::fence::Fence;
use crate::name::{NodeName, Value};
use crate::time::Time;
use crate::voter::calls::Purpose;
use crate::voter::electorate::Electorate;
use crate::voter::event::{Event, Ignored};
use crate::voter::identity::{Leadership, Participant};
use crate::voter::message::{AckDto, Ask, ElectionDto, Header, LeaderDto, PromiseDto};
use crate::voter::promise::Promise;
use crate::voter::words::{Effect, Out};
use crate::waiting::Waiting;

/// What the application contends with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Campaign {
    pub(super) value: Value,
    lease: Option<Lease>,
    /// What it was last said to wait for.
    pub(super) waits: Option<Waiting>,
}

/// A leadership that holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) leadership: Leadership,
    /// With `available`, those that the ballot was counted of.
    pub(super) electorate: Electorate,
    /// E.
    pub(super) ends: Time,
    /// For each voter s + D(p): until then it certainly endorses nobody else.
    promises: BTreeMap<NodeName, Time>,
    /// Who has stored the current document under this counter.
    pub(super) stored: BTreeSet<NodeName>,
    /// Who has heard by what it was won.
    informed: BTreeSet<NodeName>,
    certificate: ElectionDto,
    settled: bool,
    /// It was asked to let others draw.
    pub(super) gives_way: bool,
}

/// A leadership that is over, which others are told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Releasing {
    leadership: Leadership,
    to: BTreeSet<NodeName>,
    /// Then nobody is bound by it any more.
    pub(super) until: Time,
}

impl Voter {
    /// The application contends.
    pub(super) fn campaign(&mut self, value: Value, out: &mut Out) {
        if self.campaign.is_some() {
            return self.ignore(Ignored::Command, out);
        }
        self.campaign = Some(Campaign { value, lease: None, waits: None });
        if self.starter.at.is_none() {
            self.starter.at = Some(self.promise.ends(self.now).unwrap_or(self.now));
            self.wait_a_little();
        }
    }

    pub(super) fn lease(&self) -> Option<&Lease> {
        self.campaign.as_ref()?.lease.as_ref()
    }

    fn lease_mut(&mut self) -> Option<&mut Lease> {
        self.campaign.as_mut()?.lease.as_mut()
    }

    /// E, while it leads.
    pub(super) fn leads_until(&self) -> Option<Time> {
        self.lease().map(|lease| lease.ends)
    }

    pub(super) fn leads(&self) -> bool {
        self.leads_until().is_some_and(|ends| self.now < ends)
    }

    pub(super) fn fence(&self) -> Option<Fence> {
        let counter = self.lease()?.leadership.counter();
        self.is_majority().then(|| Fence::new(counter))
    }

    /// This one has won: the results and what each of them promises, and until when that holds.
    pub(super) fn win(
        &mut self,
        (leadership, electorate): (Leadership, Electorate),
        (promises, ends): (BTreeMap<NodeName, Time>, Time),
        certificate: ElectionDto,
        out: &mut Out,
    ) {
        let again = self.leads();
        if self.is_majority() {
            // So that no change of an earlier leader is taken for a later one (V9).
            let document = electorate.rewritten(leadership.counter());
            self.remember(out, |memory| memory.electorate = Some(document));
        }
        let Some(campaign) = &mut self.campaign else { return };
        (campaign.waits, self.winning) = (None, true);
        let (stored, informed) = ([self.me.id.clone()].into(), BTreeSet::new());
        let settled =
            !self.config.mode.eq(&crate::voter::Mode::Majority) || electorate.members.len() == 1;
        campaign.lease = Some(Lease {
            leadership,
            electorate,
            ends,
            promises,
            stored,
            informed,
            certificate: certificate.clone(),
            settled,
            gives_way: false,
        });
        (self.followed, self.starter.at) = (None, None);
        (self.starter.forced, self.starter.poll) = (false, None);
        if !again {
            let (election, fence) = (self.config.election.clone(), self.fence());
            out.push(Effect::Raise { election, until: ends, fence });
            self.tell(Event::Elected { id: self.me.id.clone().into(), fence }, out);
            if settled {
                self.tell(Event::Settled, out);
            }
        }
        self.certified(certificate, out);
        self.renew_own(out);
        let others = match self.is_majority() {
            true => self.others(),
            false => self.known.shown().map(|known| known.who().id.clone()).collect(),
        };
        self.send_heartbeats(&others, out);
    }

    /// The write that a win rests on has failed: nobody was told.
    pub(super) fn unwin(&mut self, out: &mut Out) {
        let Some(lease) = self.campaign.as_mut().and_then(|campaign| campaign.lease.take()) else {
            return;
        };
        self.promise.release(&lease.leadership, self.now);
        for by in lease.certificate.endorsed_by {
            let ask = Ask::Release(lease.leadership.clone());
            self.ask_voter(&by.id, Purpose::Tell, ask, out);
        }
    }

    /// A leadership that goes on after a write that failed: what it grew by was not carried out.
    pub(super) fn lead_as_before(&mut self, before: Lease, promise: Promise) {
        let now = self.lease_mut().filter(|lease| lease.leadership == before.leadership);
        if let Some(lease) = now {
            *lease = before;
            self.promise = promise;
        }
    }

    /// It promises to itself, too.
    pub(super) fn renew_own(&mut self, out: &mut Out) {
        let Some(lease) = self.lease().filter(|lease| !lease.gives_way) else { return };
        let leadership = lease.leadership.clone();
        if !self.is_majority() || !self.leads() {
            return;
        }
        // One that has won before it had counted has not endorsed itself yet.
        if leadership.counter() > self.memory.counter() && self.promise.is_free(self.now) {
            self.endorse_durably(&leadership, out);
        }
        if !self.memory.endorsed.as_ref().is_some_and(|own| own.is_as(&leadership)) {
            return;
        }
        let promise = self.promise_to(&leadership, self.config.lease());
        let (id, now) = (self.me.id.clone(), self.now);
        let until = now.after(self.config.counted(promise.span));
        if let Some(lease) = self.lease_mut() {
            lease.promises.insert(id, until);
        }
        self.grow(out);
    }

    /// What an answer's promise is worth: from before its request was sent, by the worst clocks.
    pub(super) fn counted(&self, sent: Time, promise: PromiseDto) -> Time {
        let span = promise.span.min(self.config.lease());
        sent.after(self.config.counted_of(span, promise.drift))
    }

    /// Another one has promised.
    pub(super) fn on_acknowledged(
        &mut self,
        header: &Header,
        (asked, sent): (Option<Leadership>, Time),
        ack: &AckDto,
        out: &mut Out,
    ) {
        let current = self.lease().map(|lease| &lease.leadership);
        if asked.as_ref() != current || current != Some(&ack.leadership) {
            return self.ignore(Ignored::NotAsked, out);
        }
        // What has lapsed does not return (V6).
        if !self.leads() {
            return;
        }
        // Of another memory of a member's id nothing counts (V9).
        let document = self.memory.electorate.as_ref().filter(|it| it.has(&header.sender));
        let Some(document) = document.map(|electorate| electorate.id) else { return };
        let id = header.sender.id.clone();
        let until = self.counted(sent, ack.promise);
        let Some(lease) = self.lease_mut() else { return };
        let promised = lease.promises.entry(id.clone()).or_insert(Time::ZERO);
        *promised = until.max(*promised);
        lease.informed.insert(id.clone());
        if ack.stored == document {
            lease.stored.insert(id);
        }
        self.grow(out);
        self.settle(out);
    }

    /// A quorum has acknowledged it: the lease has its full length.
    fn settle(&mut self, out: &mut Out) {
        let quorum = self.memory.electorate.as_ref().map_or(1, Electorate::quorum);
        let Some(lease) = self.lease_mut() else { return };
        if lease.informed.len() + 1 >= quorum && !core::mem::replace(&mut lease.settled, true) {
            self.tell(Event::Settled, out);
        }
    }

    /// E is the q-th largest over the electorate. It never moves back.
    fn grow(&mut self, out: &mut Out) {
        let Some(ends) = self.quorum_ends() else { return };
        let (now, fence) = (self.now, self.fence());
        let election = self.config.election.clone();
        let Some(lease) = self.lease_mut() else { return };
        if ends <= lease.ends || now >= lease.ends || lease.gives_way {
            return;
        }
        lease.ends = ends;
        out.push(Effect::Raise { election, until: ends, fence });
    }

    /// Until when a quorum of the current document has promised.
    pub(super) fn quorum_ends(&self) -> Option<Time> {
        let (lease, electorate) = (self.lease()?, self.memory.electorate.as_ref()?);
        qth_largest(&lease.promises, electorate)
    }

    /// The certificate, for one that has not acknowledged this leadership.
    pub(super) fn certificate_for(&self, id: &NodeName) -> Option<ElectionDto> {
        let lease = self.lease()?;
        (!lease.informed.contains(id)).then(|| lease.certificate.clone())
    }

    /// With `available` nobody acknowledges; an answer says that it was heard.
    pub(super) fn informed(&mut self, id: &NodeName) {
        let available = !self.is_majority();
        if let Some(lease) = self.lease_mut().filter(|_| available) {
            lease.informed.insert(id.clone());
        }
    }

    /// The document has changed: nobody has stored it yet. What one that was taken out has
    /// promised goes with it: another memory of its id begins anew.
    pub(super) fn document_changed(&mut self) {
        let (me, members) = (self.me.id.clone(), self.others());
        if let Some(lease) = self.lease_mut() {
            lease.stored = [me.clone()].into();
            lease.promises.retain(|id, _| *id == me || members.contains(id));
            lease.informed.retain(|id| members.contains(id));
        }
    }

    /// E has passed: it is over for ever.
    pub(super) fn lapse(&mut self, out: &mut Out) {
        self.end(Loss::Expired, out);
    }

    /// This leader was asked to let others draw: it leads to the end of its lease, so that its
    /// work has ended when the others are free.
    pub(super) fn give_way(&mut self, out: &mut Out) {
        let Some(lease) = self.lease_mut() else { return };
        if !core::mem::replace(&mut lease.gives_way, true) {
            self.tell_own(crate::voter::OwnEvent::GivesWay, out);
        }
    }

    /// The application gives up.
    pub(super) fn withdraw(&mut self, out: &mut Out) {
        if self.lease().is_some() {
            return self.end(Loss::Resigned, out);
        }
        if self.campaign.take().is_some() {
            self.leave_round(out);
            self.tell(Event::Ended(End::Withdrawn), out);
            // What it led before may bind others still.
            if self.releasing.is_none() {
                self.tell(Event::Released, out);
            }
        }
    }

    /// The leadership is over: first by its handle, then by the others.
    pub(super) fn end(&mut self, loss: Loss, out: &mut Out) {
        let Some(lease) = self.campaign.as_mut().and_then(|campaign| campaign.lease.take()) else {
            return;
        };
        self.campaign = None;
        out.push(Effect::Lower { election: self.config.election.clone() });
        self.tell(Event::Ended(End::Lost(loss)), out);
        self.promise.release(&lease.leadership, self.now);
        self.starter.at = Some(self.now);
        self.starter.forced = lease.gives_way;
        if !lease.gives_way {
            self.wait_a_little();
        }
        let ends = match self.is_majority() {
            true => lease.ends.max(self.now),
            // Nobody is bound: one that does not hear it notices that no leader is heard.
            false => self.now.after(self.config.request_timeout),
        };
        self.release(lease.leadership, ends, out);
    }

    /// Tells all members, or with `available` all that are known, that a leadership is over, until
    /// they have heard it or its lease has run out.
    fn release(&mut self, leadership: Leadership, ends: Time, out: &mut Out) {
        let to: BTreeSet<_> = match self.is_majority() {
            true => self.others().into_iter().collect(),
            false => self.known.shown().map(|known| known.who().id.clone()).collect(),
        };
        let until = if to.is_empty() { self.now } else { ends };
        self.releasing = Some(Releasing { leadership, to, until });
        self.repeat_release(out);
    }

    pub(super) fn repeat_release(&mut self, out: &mut Out) {
        let Some(Releasing { leadership, to, .. }) = self.releasing.clone() else { return };
        for id in to {
            let ask = Ask::Release(leadership.clone());
            self.ask_voter(&id, Purpose::Release(leadership.clone()), ask, out);
        }
    }

    /// Another one has heard of it.
    pub(super) fn on_release_heard(
        &mut self,
        id: &NodeName,
        leadership: &Leadership,
        out: &mut Out,
    ) {
        let Some(releasing) = &mut self.releasing else { return };
        if releasing.leadership == *leadership && releasing.to.remove(id) && releasing.to.is_empty()
        {
            self.on_released(out);
        }
    }

    /// All have heard it, or nobody is bound any more.
    pub(super) fn on_released(&mut self, out: &mut Out) {
        if self.releasing.take().is_some() {
            self.tell(Event::Released, out);
        }
    }

    /// This leadership as others are told of it.
    pub(super) fn own_leader_dto(&self) -> Option<LeaderDto> {
        let lease = self.lease().filter(|_| self.leads())?;
        let left = lease.ends.since(self.now);
        Some(LeaderDto {
            leadership: lease.leadership.clone(),
            url: self.config.url.clone(),
            value: self.campaign.as_ref()?.value.clone(),
            remaining: self.is_majority().then_some(left),
        })
    }

    /// Whether this is this run of this voter.
    pub(super) fn is_me(&self, who: &Participant) -> bool {
        self.me == *who
    }
}

/// The q-th largest of these, over an electorate.
pub(super) fn qth_largest(
    promises: &BTreeMap<NodeName, Time>,
    electorate: &Electorate,
) -> Option<Time> {
    let members = electorate.members.iter();
    let ends = members.filter_map(|member| promises.get(&member.id)).copied();
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let place = ends.len().checked_sub(electorate.quorum())?;
    ends.get(place).copied()
}
