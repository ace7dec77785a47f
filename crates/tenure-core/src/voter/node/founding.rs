//! The rules of the founding: the one set that this voter accepts, and the network, founded once
//! all members have accepted that set (V2). Also the electorates that a voter adopts from others.

use alloc::vec::Vec;

use super::state::Voter;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::config::Founding;
use crate::voter::electorate::{Electorate, Member};
use crate::voter::event::{Breach, OwnEvent};
use crate::voter::identity::Ballot;
use crate::voter::known::Neighbour;
use crate::voter::message::{FirstVoters, Header};
use crate::voter::words::Out;

impl Voter {
    /// Accepts a set, or founds the network once all members have accepted the set. Runs once per
    /// heartbeat interval.
    pub(super) fn found(&mut self, out: &mut Out) {
        // A failing write would stop the heartbeats, by which others hear of the failure.
        if !self.is_majority() || !self.can_write() {
            return;
        }
        // Accept only if no set was ever accepted: others may depend on the first set (V2).
        if self.memory.electorate.is_none() {
            self.accept(out);
        }
        let Some(electorate) = &self.memory.electorate else { return };
        if self.memory.founded {
            return;
        }
        let same = |header: &Header| match header.founding {
            Some((founding, _)) => founding == electorate.founding,
            None => false,
        };
        // A member that has founded the network proves that all have accepted the set.
        let has_founded = |known: &Neighbour| same(&known.header) && known.is_founded();
        let accepted = |member: &Member| {
            let known = self.known.get(&member.id).map(|known| &known.header);
            let other = known.is_some_and(|it| it.sender.identity == member.identity && same(it));
            member.id == self.me.id || other
        };
        if electorate.members.iter().all(accepted) || self.known.all().any(has_founded) {
            let electorate = electorate.clone();
            self.remember(out, |memory| memory.founded = true);
            self.tell_own(OwnEvent::Electorate(electorate), out);
            self.starter.at = self.starter.at.or(Some(self.now));
            self.wait_a_little();
        }
    }

    /// Accepts the set of known voters, if it has the right size and was the same a heartbeat ago.
    /// If a known voter is founded already, this voter waits for a vote instead.
    fn accept(&mut self, out: &mut Out) {
        let set = self.candidates().map(Electorate::founded);
        let clear = !self.known.all().any(Neighbour::is_founded);
        let set = set.filter(|set| clear && !self.is_mixed(set));
        let settled = self.founding.consider(set.as_ref());
        if let Some(set) = set.filter(|_| settled) {
            self.remember(out, |memory| memory.electorate = Some(set));
        }
    }

    /// Whether a voter of the set was recently heard with two identities: this voter can accept
    /// only one of them, and does not know which one stays.
    fn is_mixed(&self, set: &Electorate) -> bool {
        let lately = |at: Time| self.now.since(at) <= self.config.silence();
        let of_set = |known: &&Neighbour| set.member(&known.who().id).is_some();
        let others = self.known.all().filter(of_set).filter_map(|known| known.mixed);
        others.chain(self.namesake.mixed).any(lately)
    }

    /// The voters of the list, or all known voters if their number is right.
    fn candidates(&self) -> Option<Vec<Member>> {
        let own = Member::of(&self.me);
        match &self.config.founding {
            Founding::List(listed) => {
                let others = listed.iter().filter(|listed| listed.id != self.me.id);
                let known = others.map(|one| Some(Member::of(self.known.get(&one.id)?.who())));
                known.chain([Some(own)]).collect()
            }
            Founding::Expected(expected) => {
                let known = self.known.shown().map(|known| Member::of(known.who()));
                let all: Vec<_> = known.chain([own]).collect();
                (all.len() == usize::from(*expected)).then_some(all)
            }
            Founding::Anybody => None,
        }
    }

    pub(super) fn look_whether_superseded(&mut self, header: &Header) {
        let Some((theirs, true)) = header.founding else { return };
        let ours = self.accepted().filter(|_| self.is_unfounded());
        if ours.is_some_and(|ours| ours.founding != theirs && ours.has(&header.sender)) {
            self.founding.supersede();
        }
    }

    pub(super) fn note_apart(&mut self, id: &NodeName, begins: Option<FirstVoters>) {
        self.founding.forget_apart(self.now, self.config.silence());
        let electorate = self.accepted().filter(|_| !self.memory.founded);
        if electorate.is_some_and(|electorate| electorate.member(id).is_some()) {
            self.founding.note_apart(id, self.now, begins);
        }
    }

    /// Adopts the document of an answer, if its sender is a member of it.
    pub(super) fn adopt_of(&mut self, by: &Header, electorate: &Electorate, out: &mut Out) {
        if electorate.has(&by.sender) {
            self.adopt(electorate, out);
        }
    }

    /// Adopts a document of another voter that is later than this voter's.
    fn adopt(&mut self, electorate: &Electorate, out: &mut Out) {
        let own = self.accepted();
        let other = own.is_some_and(|own| own.founding != electorate.founding);
        let later = own.is_none_or(|own| own.id < electorate.id);
        let formed = electorate.is_formed() && electorate.id.counter <= Ballot::COUNTER_MAX;
        if !self.is_majority() || self.leads() || other || !formed || !later {
            return;
        }
        if own.is_none() && !electorate.has(&self.me) {
            self.lose(electorate, out);
            return;
        }
        self.remember_electorate(electorate, out);
        self.tell_own(OwnEvent::Electorate(electorate.clone()), out);
    }

    /// Notices that this voter has lost its directory: the electorate has this voter's id with
    /// another identity.
    pub(super) fn lose(&mut self, electorate: &Electorate, out: &mut Out) {
        if electorate.member(&self.me.id).is_some() {
            self.lost_directory(out);
        }
    }

    pub(super) fn lost_directory(&mut self, out: &mut Out) {
        if self.founding.lose() {
            self.breach(Breach::LostDirectory, out);
        }
    }
}
