//! The memories of members, as far as a grantor knows, and the members that wait until a memory is
//! durable. See [`roster`](super::super::roster).

use super::super::by_member::ByMember;
use super::super::identity::Instance;
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::roster::{Entry, Roster};
use super::super::timer::Timer;
use super::flush::Flush;
use crate::time::{Deadline, Time};

/// The known memories of members, and the members that wait until these memories are durable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Memories {
    /// The durable memories, on which answers and oks rest.
    pub(super) durable: Roster,
    /// The durable memories, and later memories that were heard of.
    pub(super) heard: Roster,
    pub(super) pending: Option<(Flush, Roster)>,
    pub(super) write_at: Option<Time>,
    /// Members that asked, and get an answer when their own memory is durable here.
    pub(super) asked: ByMember<(Sender, Time)>,
    pub(super) confirmed: MemberSet,
    pub(super) say_at: Option<Time>,
}

impl Memories {
    pub(super) fn new(durable: Roster) -> Self {
        Self { heard: durable.clone(), durable, ..Self::default() }
    }

    pub(super) const fn durable(&self) -> &Roster {
        &self.durable
    }

    /// Adds memories that another member has written down; true if any of them is news.
    pub(super) fn hear(&mut self, roster: &Roster) -> bool {
        self.heard.merge(roster)
    }

    /// Adds a memory of `member`; true if the memory is news.
    pub(super) fn add(&mut self, member: usize, entry: Entry) -> bool {
        self.heard.add(member, entry)
    }

    /// The latest memory heard of for `member`.
    pub(super) fn heard(&self, member: usize) -> Option<Instance> {
        Some(self.heard.at(member)?.instance)
    }

    /// Whether the latest memory heard of for `member` is durable.
    pub(super) fn has_written(&self, member: usize) -> bool {
        let [durable, heard] = [&self.durable, &self.heard].map(|roster| roster.at(member));
        durable.map(|entry| entry.instance) == heard.map(|entry| entry.instance)
    }

    /// Whether the memory `instance` of `member` was there at the founding, as far as
    /// this grantor has heard.
    pub(super) fn names_founder(&self, member: usize, instance: Instance) -> bool {
        self.heard.at(member) == Some(Entry { instance, founder: true })
    }

    pub(super) fn is_written(&self) -> bool {
        self.heard == self.durable
    }

    pub(super) fn flush(&self) -> Option<Flush> {
        self.pending.as_ref().map(|(flush, _)| *flush)
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        let write = self.write_at.map(|at| Timer::WriteMemories.at(at));
        let say = self.say_at.map(|at| Timer::SayMemory.at(at));
        write.into_iter().chain(say).fold(None, |first, due| Deadline::first(first, Some(due)))
    }
}
