//! What keeps this voter from voting: a state directory that cannot be written, or another process
//! of its id.

use core::time::Duration;

use super::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::Founding;
use crate::voter::calls::Purpose;
use crate::voter::event::Breach;
use crate::voter::identity::VoterUrl;
use crate::voter::message::{Ask, Condition, FirstVoters, Header, VoterDto};
use crate::voter::words::{Effect, Out};

/// How often it is tried whether the directory can be written again.
const AGAIN: Duration = Duration::from_secs(1);

impl Voter {
    /// Nothing that must be written first is done until a write succeeds.
    pub(super) fn fail(&mut self) {
        if self.is_majority() {
            self.failing = Some(self.now.after(AGAIN));
        }
    }

    /// What was written by the input before this one is there.
    pub(super) fn on_written(&mut self) {
        if core::mem::take(&mut self.tried) || self.before.is_some() {
            self.failing = None;
        }
    }

    /// Tries whether the directory can be written. After all else: nothing rests on it.
    pub(super) fn write_again(&mut self, out: &mut Out) {
        if self.failing.is_none_or(|due| due > self.now) {
            return;
        }
        self.fail();
        if self.write.is_none() {
            self.tried = true;
            out.push(Effect::Persist(self.memory.clone()));
        }
    }

    /// Whether it can endorse somebody, as far as its directory goes.
    pub(super) fn can_write(&self) -> bool {
        self.failing.is_none()
    }

    /// When it looks again whether it can write, where it cannot.
    pub(super) fn writes_later(&self) -> Option<Time> {
        (!self.can_write()).then(|| self.now.after(self.config.heartbeat))
    }

    /// By its own word.
    pub(super) fn condition(&self) -> Condition {
        let first = self.is_unfounded().then(|| self.first_voters()).flatten();
        Condition { failing: self.failing.is_some(), first }
    }

    /// With whom it begins.
    pub(super) fn first_voters(&self) -> Option<FirstVoters> {
        match &self.config.founding {
            Founding::List(listed) => {
                let ids = listed.iter().map(|listed| &listed.id).chain([&self.me.id]);
                let ids: alloc::collections::BTreeSet<_> = ids.cloned().collect();
                Some(FirstVoters::Listed(ids.into_iter().collect()))
            }
            Founding::Expected(number) => Some(FirstVoters::Number(*number)),
            Founding::Anybody => None,
        }
    }

    /// Somebody shows this voter's id at another address.
    pub(super) fn hear_own_id(&mut self, theirs: &[VoterDto], out: &mut Out) {
        let own = theirs.iter().find(|voter| voter.voter_id == self.me.id);
        if let Some(url) = own.map(|voter| voter.voter_url.clone()) {
            self.look_for_twin(url, out);
        }
    }

    /// One without a vote looks where its list says that its id is.
    pub(super) fn look_at_own_place(&mut self, out: &mut Out) {
        let Founding::List(listed) = &self.config.founding else { return };
        let own = listed.iter().find(|listed| listed.id == self.me.id);
        if let Some(url) = own.filter(|_| self.lost).map(|listed| listed.url.clone()) {
            self.look_for_twin(url, out);
        }
    }

    /// Who is there, once at a time.
    fn look_for_twin(&mut self, there: VoterUrl, out: &mut Out) {
        let me = &self.me.id;
        let asks = |purpose: &Purpose| matches!(purpose, Purpose::Probe { id, .. } if id == me);
        if there == self.config.url || self.calls.any(|open| asks(&open.purpose)) {
            return;
        }
        let purpose = Purpose::Probe { id: me.clone(), named_by: None };
        let within = self.config.request_timeout;
        self.ask((there, None), (purpose, within), Ask::Status { suspect: None }, out);
    }

    /// Another process of this voter's id was heard.
    pub(super) fn meet_twin(&mut self, header: &Header, out: &mut Out) {
        if header.sender.identity != self.me.identity {
            self.mixed = Some(self.now);
        }
        self.twin = Some((header.url.clone(), self.now));
        self.breach(Breach::OtherIdentity { id: self.me.id.clone() }, out);
    }

    /// Where another process of its id is, if that was heard lately.
    pub(super) fn twin_at(&self) -> Option<&VoterUrl> {
        let (url, at) = self.twin.as_ref()?;
        (self.now.since(*at) <= self.config.silence()).then_some(url)
    }

    /// Another voter has heard a later run of this one. That may be an echo, once.
    pub(super) fn on_told_over(&mut self, out: &mut Out) {
        let since = self.told_over.map(|at| self.now.since(at));
        match since.filter(|since| *since <= self.config.silence().saturating_mul(2)) {
            Some(since) if since >= self.config.heartbeat => {
                self.told_over = Some(self.now);
                self.breach(Breach::OtherIdentity { id: self.me.id.clone() }, out);
            }
            Some(_) => {}
            None => self.told_over = Some(self.now),
        }
    }

    /// A member was heard with another identity than the one that is accepted.
    pub(super) fn note_stranger(&mut self, id: &NodeName) {
        let (now, lately) = (self.now, self.config.silence());
        self.strangers.retain(|_, at| now.since(*at) <= lately);
        self.strangers.insert(id.clone(), now);
    }

    /// One of the first voters has accepted others than this one has, and begins with these.
    pub(super) fn note_apart(&mut self, id: &NodeName, begins: Option<FirstVoters>) {
        let (now, lately) = (self.now, self.config.silence());
        self.apart.retain(|_, (at, _)| now.since(*at) <= lately);
        let electorate = self.accepted().filter(|_| !self.memory.founded);
        if electorate.is_some_and(|electorate| electorate.member(id).is_some()) {
            let known = self.apart.remove(id).and_then(|(_, known)| known);
            self.apart.insert(id.clone(), (now, begins.or(known)));
        }
    }
}
