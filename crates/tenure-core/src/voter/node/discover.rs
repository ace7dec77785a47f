//! Discovery: seeds, the lists of other voters, and voters that are dropped (bootstrap and
//! reconciliation of the text; S2 to S5, S9, S16 to S18; V1, V12).

use alloc::vec::Vec;

use super::state::Voter;
use crate::name::NodeName;
use crate::voter::calls::{Exchange, Purpose, WAITERS_MAX};
use crate::voter::config::Founding;
use crate::voter::event::OwnEvent;
use crate::voter::identity::VoterUrl;
use crate::voter::message::{Answer, Ask, Header, Refusal, Role, VoterDto};
use crate::voter::words::Out;

/// The maximum number of unknown voters of one list that are asked at once.
const UNKNOWN_MAX: usize = 8;

impl Voter {
    /// Sets the seeds: the addresses to which their name resolves now, and the addresses of the
    /// list (S2).
    pub(super) fn on_seeds(&mut self, urls: impl Iterator<Item = VoterUrl>) {
        let listed = match &self.config.founding {
            Founding::List(listed) => listed.as_slice(),
            Founding::Expected(_) | Founding::Anybody => &[],
        };
        let others = listed.iter().filter(|listed| listed.id != self.me.id);
        self.known.seek(others.map(|listed| listed.url.clone()).chain(urls));
    }

    /// Registers with each seed at which no answering voter is known (S3). If a seed leads to this
    /// voter itself, this voter ignores the answer, and does not ask there again once it knows
    /// another voter (S4). Several voters may share an address that is neither this voter's URL nor
    /// the answering voter's. This voter asks at such an address until the network is founded and
    /// this voter knows every other member. In a network without a founding it always asks. A voter
    /// that starts again remembers members, and none of their addresses.
    pub(super) fn register(&mut self, out: &mut Out) {
        let waits = |url: &VoterUrl| {
            self.calls.any(|open| open.to == *url && open.purpose == Purpose::Register)
        };
        let own = (&self.me.id, &self.config.url);
        let settled = self.memory.founded && !self.others().iter().any(|id| self.is_unknown(id));
        let seeds = self.known.open_seeds(own, settled);
        let seeds = seeds.filter(|(url, _)| !waits(url));
        let seeds: Vec<_> = seeds.map(|(url, is_found)| (url.clone(), is_found)).collect();
        let heartbeat = self.config.heartbeat;
        for (url, is_found) in seeds {
            // A balancer may hand out requests in turn. If all voters asked at each heartbeat, each
            // of them would reach the same voters again.
            if is_found && self.random(heartbeat) < heartbeat / 2 {
                continue;
            }
            let ask = Ask::Register(self.own_dto());
            self.ask_at(url, Purpose::Register, ask, out);
        }
    }

    /// Compares the sender's list with this voter's list. If they differ, this voter sends its list
    /// to the sender. Each of the two asks the voters that it does not know (S16).
    pub(super) fn compare(&mut self, header: &Header, theirs: &[VoterDto], out: &mut Out) {
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

    /// Asks each unknown voter of the sender's list for its status. If such a voter does not
    /// answer, this voter asks the sender to remove that voter (S17, S18).
    pub(super) fn look_for_unknown(&mut self, theirs: &[VoterDto], by: &NodeName, out: &mut Out) {
        let unknown = theirs.iter().filter(|voter| self.is_unknown(&voter.voter_id));
        let unknown: Vec<_> = unknown.take(UNKNOWN_MAX).cloned().collect();
        let Some(named_by) = self.known.get(by).map(|known| known.url().clone()) else { return };
        for voter in unknown {
            self.probe(&voter, Some(&named_by), out);
        }
    }

    /// Asks for the status of an earlier run that counted as ended and has sent a request.
    pub(super) fn look_again(&mut self, header: &Header, out: &mut Out) {
        let (voter_id, voter_url) = (header.sender.id.clone(), header.url.clone());
        let role = Role::None;
        let voter = VoterDto { voter_id, voter_url, role, on_line: true };
        self.probe(&voter, None, out);
    }

    /// Asks a voter for its status, unless it is being asked.
    pub(super) fn probe(&mut self, voter: &VoterDto, named_by: Option<&VoterUrl>, out: &mut Out) {
        let id = &voter.voter_id;
        let probes =
            |purpose: &Purpose| matches!(purpose, Purpose::Probe { id: of, .. } if of == id);
        if *id == self.me.id || self.calls.any(|open| probes(&open.purpose)) {
            return;
        }
        let purpose = Purpose::Probe { id: id.clone(), named_by: named_by.cloned() };
        self.ask_at(voter.voter_url.clone(), purpose, Ask::Status { suspect: None }, out);
    }

    /// Asks the suspect on behalf of another voter; returns `None` if the answer follows later.
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
        // Leave the other half of the timeout for the answer.
        let within = self.config.request_timeout / 2;
        self.ask(url, None, purpose, within, Ask::Status { suspect: None }, out);
        None
    }

    pub(super) fn on_remove(&mut self, id: &NodeName, out: &mut Out) -> Result<Answer, Refusal> {
        if *id == self.me.id {
            return Err(Refusal::Malformed("the voter to remove answers"));
        }
        if !self.known.doubt(id, self.now) {
            return Err(Refusal::UnknownVoter);
        }
        self.drop_if_lost(id, out);
        Ok(Answer::Done)
    }

    /// Notes the voters that the sender does not reach.
    pub(super) fn hear_doubts(&mut self, theirs: &[VoterDto], out: &mut Out) {
        let doubted = theirs.iter().filter(|voter| !voter.on_line);
        for VoterDto { voter_id, .. } in doubted {
            if self.known.doubt(voter_id, self.now) {
                self.drop_if_lost(voter_id, out);
            }
        }
    }

    /// Drops a voter that neither this voter nor another voter can reach (S9, V12).
    pub(super) fn drop_if_lost(&mut self, id: &NodeName, out: &mut Out) {
        let (tolerance, lately) = (self.config.tolerance, self.config.silence());
        if self.known.drop_if_lost(id, tolerance, self.now, lately) {
            self.tell_own(OwnEvent::Dropped { id: id.clone() }, out);
        }
    }

    /// Forgets voters that were dropped long ago, except members.
    pub(super) fn forget_dropped(&mut self) {
        let (now, after) = (self.now, self.config.forget_after);
        let members = self.others();
        self.known.forget(now, after, |id| members.contains(id));
    }

    /// Restores a dropped voter that has answered.
    pub(super) fn revive(&mut self, id: &NodeName, out: &mut Out) {
        let Some(known) = self.known.get_mut(id) else { return };
        if known.dropped.take().is_some() {
            let who = known.who().clone();
            self.tell_own(OwnEvent::Known { who }, out);
            // Send a heartbeat now: the revived voter may lead, too, and the lesser leader must
            // give up.
            if self.leads() && !self.is_majority() {
                self.send_heartbeats(core::slice::from_ref(id), out);
            }
        }
    }
}
