//! Who else is there: seeds, lists of others, and voters that are dropped (the text's bootstrap
//! and reconciliation; V1, V12).

use super::Voter;
use super::request::Exchange;
use crate::name::NodeName;
use crate::voter::calls::{Purpose, WAITERS_MAX};
use crate::voter::identity::VoterUrl;
use crate::voter::message::{Answer, Ask, Header, Refusal, SEEDS_MAX, VoterDto};
use crate::voter::words::Out;
use crate::voter::{Founding, OwnEvent};

/// How many unknown voters of one list are looked for at once.
const UNKNOWN_MAX: usize = 8;

impl Voter {
    /// Where the seeds' name leads now, beside the voters of the list.
    pub(super) fn on_seeds(&mut self, urls: impl Iterator<Item = VoterUrl>) {
        let before = core::mem::take(&mut self.seeds);
        let found = |url: &VoterUrl| before.get(url).cloned().flatten();
        let listed = match &self.config.founding {
            Founding::List(listed) => listed.as_slice(),
            Founding::Expected(_) | Founding::Anybody => &[],
        };
        let others = listed.iter().filter(|listed| listed.id != self.me.id);
        let all = others.map(|listed| listed.url.clone()).chain(urls);
        self.seeds = all.take(SEEDS_MAX).map(|url| (url.clone(), found(&url))).collect();
    }

    /// Registers with each seed behind which no voter is known that answers. One's own answer is
    /// none, and is not asked for again.
    pub(super) fn register(&mut self, out: &mut Out) {
        let answers = |id: &NodeName| {
            let known = self.known.get(id);
            *id == self.me.id || known.is_some_and(|known| known.dropped.is_none())
        };
        let open = |url: &VoterUrl| {
            self.calls.any(|open| open.to == *url && open.purpose == Purpose::Register)
        };
        let at = |url: &VoterUrl| self.known.shown().any(|known| known.url() == url);
        let seeds = self
            .seeds
            .iter()
            .filter(|(url, found)| !found.as_ref().is_some_and(answers) && !open(url) && !at(url));
        let seeds: alloc::vec::Vec<_> = seeds.map(|(url, _)| url.clone()).collect();
        for url in seeds {
            let ask = Ask::Register(self.own_dto());
            let (to, within) = ((url, None), self.config.request_timeout);
            self.ask(to, (Purpose::Register, within), ask, out);
        }
    }

    /// Somebody has answered at a seed: another voter, or this one.
    pub(super) fn on_registered(&mut self, other: Option<&NodeName>, url: &VoterUrl) {
        let who = other.unwrap_or(&self.me.id).clone();
        if let Some(found) = self.seeds.get_mut(url) {
            *found = Some(who);
        }
    }

    pub(super) fn is_unknown(&self, id: &NodeName) -> bool {
        *id != self.me.id && self.known.get(id).is_none_or(|known| known.dropped.is_some())
    }

    /// Another one knows these: those that are unknown here are asked for their status. Of those
    /// that do not answer the other one is told.
    pub(super) fn look_for_unknown(&mut self, theirs: &[VoterDto], by: &NodeName, out: &mut Out) {
        let unknown = theirs.iter().filter(|voter| self.is_unknown(&voter.voter_id));
        let unknown: alloc::vec::Vec<_> = unknown.take(UNKNOWN_MAX).cloned().collect();
        let Some(named_by) = self.known.get(by).map(|known| known.url().clone()) else { return };
        for voter in unknown {
            self.probe(&voter, Some(&named_by), out);
        }
    }

    /// A run that was taken for over asks something. If it answers, it is there.
    pub(super) fn look_again(&mut self, header: &Header, out: &mut Out) {
        let (voter_id, voter_url) = (header.sender.id.clone(), header.url.clone());
        let role = crate::voter::Role::None;
        let voter = VoterDto { voter_id, voter_url, role, on_line: true };
        self.probe(&voter, None, out);
    }

    /// Asks a voter that may be there for its status; once at a time.
    pub(super) fn probe(&mut self, voter: &VoterDto, named_by: Option<&VoterUrl>, out: &mut Out) {
        let id = &voter.voter_id;
        let probes =
            |purpose: &Purpose| matches!(purpose, Purpose::Probe { id: of, .. } if of == id);
        if *id == self.me.id || self.calls.any(|open| probes(&open.purpose)) {
            return;
        }
        let purpose = Purpose::Probe { id: id.clone(), named_by: named_by.cloned() };
        let (to, within) = ((voter.voter_url.clone(), None), self.config.request_timeout);
        self.ask(to, (purpose, within), Ask::Status { suspect: None }, out);
    }

    /// Another one doubts that the suspect is there: this voter asks it, and answers then.
    pub(super) fn on_doubt(
        &mut self,
        exchange: &Exchange,
        suspect: &NodeName,
        out: &mut Out,
    ) -> Option<Answer> {
        if *suspect == self.me.id {
            return Some(Answer::Status(self.status(Some(true))));
        }
        let Some(url) = self.known.get(suspect).map(|known| known.url().clone()) else {
            return Some(Answer::Status(self.status(None)));
        };
        if self.calls.wait(suspect, exchange) {
            return None;
        }
        let crowded = |purpose: &Purpose| match purpose {
            Purpose::Suspect { id, waiters } => id == suspect && waiters.len() >= WAITERS_MAX,
            _ => false,
        };
        if self.calls.any(|open| crowded(&open.purpose)) {
            return Some(Answer::Status(self.status(None)));
        }
        let purpose = Purpose::Suspect { id: suspect.clone(), waiters: [exchange.clone()].into() };
        // Half of the time that the other one waits.
        let within = self.config.request_timeout / 2;
        self.ask((url, None), (purpose, within), Ask::Status { suspect: None }, out);
        None
    }

    /// Another one says that a voter does not answer.
    pub(super) fn on_remove(&mut self, id: &NodeName, out: &mut Out) -> Result<Answer, Refusal> {
        if *id == self.me.id {
            return Err(Refusal::Malformed("a voter that answers is not removed"));
        }
        let Some(known) = self.known.get_mut(id) else { return Err(Refusal::UnknownVoter) };
        known.doubted = Some(self.now);
        self.drop_if_lost(id, out);
        Ok(Answer::Done)
    }

    /// Another one does not reach these either.
    pub(super) fn hear_doubts(&mut self, theirs: &[VoterDto], out: &mut Out) {
        let doubted = theirs.iter().filter(|voter| !voter.on_line);
        for VoterDto { voter_id, .. } in doubted {
            if let Some(known) = self.known.get_mut(voter_id) {
                known.doubted = Some(self.now);
                self.drop_if_lost(voter_id, out);
            }
        }
    }

    /// A voter is dropped that this one has failed to reach, and another one too.
    pub(super) fn drop_if_lost(&mut self, id: &NodeName, out: &mut Out) {
        let Some(known) = self.known.get(id).filter(|known| known.dropped.is_none()) else {
            return;
        };
        let lately = |at| self.now.since(at) <= self.config.silence();
        if !known.is_on_line(self.config.tolerance) && known.doubted.is_some_and(lately) {
            self.drop_voter(id, out);
        }
    }

    fn drop_voter(&mut self, id: &NodeName, out: &mut Out) {
        let now = self.now;
        if let Some(known) = self.known.get_mut(id).filter(|known| known.dropped.is_none()) {
            known.dropped = Some(now);
            self.tell_own(OwnEvent::Dropped { id: id.clone() }, out);
        }
    }

    /// Those that were dropped long ago are forgotten; a member's place is kept.
    pub(super) fn forget_dropped(&mut self) {
        let (now, after) = (self.now, self.config.forget_after);
        let members = self.others();
        self.known.forget(now, after, |id| members.contains(id));
    }

    /// One that was dropped answers again.
    pub(super) fn revive(&mut self, id: &NodeName, out: &mut Out) {
        let Some(known) = self.known.get_mut(id) else { return };
        if known.dropped.take().is_some() {
            let who = known.who().clone();
            self.tell_own(OwnEvent::Known { who }, out);
            // Two leaders that had dropped each other meet with this, and not a heartbeat later.
            if self.leads() && !self.is_majority() {
                self.send_heartbeats(core::slice::from_ref(id), out);
            }
        }
    }
}
