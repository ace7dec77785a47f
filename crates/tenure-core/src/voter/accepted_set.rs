//! The state of a founding: the set of first voters that this voter has accepted, and the voters
//! that oppose it (V2). The rules are in `node/founding.rs`.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::config::{Config, Founding};
use super::electorate::{Electorate, Fingerprint};
use super::memory::Memory;
use super::message::FirstVoters;
use crate::name::NodeName;
use crate::time::Time;

/// The state of a founding: the set that this voter may accept, and the voters that oppose it.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Foundation {
    /// The set that this voter could have accepted at the last heartbeat.
    considered: Option<Fingerprint>,
    /// Whether a member of the accepted set has founded another network, so that this set is never
    /// founded.
    superseded: bool,
    pub(super) lost: bool,
    /// Members with another identity than the accepted one, each with the time of its last message.
    strangers: BTreeMap<NodeName, Time>,
    /// First voters that have accepted another set.
    apart: BTreeMap<NodeName, OtherFounder>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OtherFounder {
    heard: Time,
    /// The first voters by the other voter's settings; `None` if it has not sent them.
    pub(super) begins: Option<FirstVoters>,
}

impl Foundation {
    /// The accepted electorate, if it is founded or still can be.
    pub(super) fn accepted<'a>(&self, memory: &'a Memory) -> Option<&'a Electorate> {
        let open = !self.superseded || memory.founded;
        memory.electorate.as_ref().filter(|_| open)
    }

    /// Notes the set that could be accepted now. Returns whether this voter could have accepted the
    /// same set one heartbeat ago.
    pub(super) fn consider(&mut self, set: Option<&Electorate>) -> bool {
        let set = set.map(|set| set.founding);
        core::mem::replace(&mut self.considered, set) == set && set.is_some()
    }

    /// Gives up the accepted set, because a member has founded another network: this set is never
    /// founded. The set stays in the memory, so that this voter accepts no second set, but no
    /// longer binds this voter.
    pub(super) fn supersede(&mut self) {
        self.superseded = true;
        self.apart.clear();
        self.strangers.clear();
    }

    /// Notes that this voter has lost its directory. Returns `true` the first time.
    pub(super) fn lose(&mut self) -> bool {
        !core::mem::replace(&mut self.lost, true)
    }

    /// Notes a member with another identity than the accepted one.
    pub(super) fn note_stranger(&mut self, id: &NodeName, now: Time, lately: Duration) {
        self.strangers.retain(|_, at| now.since(*at) <= lately);
        self.strangers.insert(id.clone(), now);
    }

    pub(super) fn is_stranger(&self, id: &NodeName, now: Time, lately: Duration) -> bool {
        self.strangers.get(id).is_some_and(|at| now.since(*at) <= lately)
    }

    pub(super) fn strangers(&self) -> impl Iterator<Item = &NodeName> {
        self.strangers.keys()
    }

    /// Forgets voters whose last message is too old to oppose the founding.
    pub(super) fn forget_apart(&mut self, now: Time, lately: Duration) {
        self.apart.retain(|_, apart| now.since(apart.heard) <= lately);
    }

    pub(super) fn note_apart(&mut self, id: &NodeName, now: Time, begins: Option<FirstVoters>) {
        let known = self.apart.remove(id).and_then(|apart| apart.begins);
        self.apart.insert(id.clone(), OtherFounder { heard: now, begins: begins.or(known) });
    }

    /// The first voters that were heard recently and have accepted another set.
    pub(super) fn apart(
        &self,
        now: Time,
        lately: Duration,
    ) -> impl Iterator<Item = (&NodeName, &OtherFounder)> {
        self.apart.iter().filter(move |(_, apart)| now.since(apart.heard) <= lately)
    }
}

/// The first voters, according to the settings.
pub(super) fn first_voters(config: &Config) -> Option<FirstVoters> {
    match &config.founding {
        Founding::List(listed) => {
            let ids = listed.iter().map(|listed| &listed.id).chain([&config.id]);
            let ids: BTreeSet<_> = ids.cloned().collect();
            Some(FirstVoters::Listed(ids.into_iter().collect()))
        }
        Founding::Expected(number) => Some(FirstVoters::Number(*number)),
        Founding::Anybody => None,
    }
}
