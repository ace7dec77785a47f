//! Which memories members have, as far as a grantor knows, and who waits until that is durable. See
//! [`roster`](super::super::roster).

use super::super::by_member::ByMember;
use super::super::identity::Instance;
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::roster::{Entry, Roster};
use super::super::timer::Timer;
use super::flush::Flush;
use crate::time::{Deadline, Time};

/// What is known of the memories of members, and who waits until it is written down.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Memories {
    /// What is durable: answers and oks go by it.
    pub(super) durable: Roster,
    /// That and what was heard since.
    pub(super) heard: Roster,
    /// On its way to the disk.
    pub(super) pending: Option<(Flush, Roster)>,
    /// When to write again what could not be written.
    pub(super) write_at: Option<Time>,
    /// Members that asked, and are answered when what they said of themselves is durable.
    pub(super) asked: ByMember<(Sender, Time)>,
    /// Who has written down the memory that this grantor has.
    pub(super) confirmed: MemberSet,
    /// When it says again which one that is.
    pub(super) say_at: Option<Time>,
}

impl Memories {
    pub(super) fn new(durable: Roster) -> Self {
        Self { heard: durable.clone(), durable, ..Self::default() }
    }

    /// What is written down.
    pub(super) const fn durable(&self) -> &Roster {
        &self.durable
    }

    /// Adds what somebody else has written down. Says whether it has memories that are news.
    pub(super) fn hear(&mut self, roster: &Roster) -> bool {
        self.heard.merge(roster)
    }

    /// Adds what is known of the member at `place`. Says whether that memory is news.
    pub(super) fn add(&mut self, place: usize, entry: Entry) -> bool {
        self.heard.add(place, entry)
    }

    /// The latest memory that was heard of for the member at `place`.
    pub(super) fn heard(&self, place: usize) -> Option<Instance> {
        Some(self.heard.at(place)?.instance)
    }

    /// Whether it is durable which memory the member at `place` has, as far as was heard.
    pub(super) fn has_written(&self, place: usize) -> bool {
        let [durable, heard] = [&self.durable, &self.heard].map(|roster| roster.at(place));
        durable.map(|entry| entry.instance) == heard.map(|entry| entry.instance)
    }

    /// Whether the memory `instance` of the member at `place` was there at the founding, as far as
    /// was heard.
    pub(super) fn names_founder(&self, place: usize, instance: Instance) -> bool {
        self.heard.at(place) == Some(Entry { instance, founder: true })
    }

    /// Whether all that was heard is durable.
    pub(super) fn is_written(&self) -> bool {
        self.heard == self.durable
    }

    pub(super) fn flush(&self) -> Option<Flush> {
        self.pending.as_ref().map(|(flush, _)| *flush)
    }

    /// What it has to do by itself, and when.
    pub(super) fn due(&self) -> Option<Deadline> {
        let write = self.write_at.map(|at| Timer::WriteMemories.at(at));
        let say = self.say_at.map(|at| Timer::SayMemory.at(at));
        write.into_iter().chain(say).fold(None, |first, due| Deadline::first(first, Some(due)))
    }
}
