//! The memory of each member, as far as one member knows.
//!
//! A member whose state directory was lost comes back with another memory. The process with the old
//! memory may only have been cut off: then two processes grant under one name, and each can
//! complete a quorum with members that the other does not reach. So before a new memory serves, at
//! least one other member of every quorum writes down the new memory as the member's present
//! memory. An ok names the memories that its sender has written down. A candidate never counts an
//! ok of one memory together with an ok that names another memory of the same member. Every quorum
//! of the old memory has a member that wrote the new memory down, so the old memory completes no
//! further lease. The new memory waits for earlier leases to end.
//!
//! No entry ever goes back: the later of two memories of a member counts, by [`Instance`].

use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::epoch::Membership;
use super::identity::{Instance, Mark};
use super::quorum::MemberSet;
use crate::name::NodeName;

/// The known memory of one member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub instance: Instance,
    /// Whether the memory was there at the founding, empty, so that it has forgotten nothing.
    pub founder: bool,
}

impl Entry {
    /// A memory without evidence that it was there at the founding.
    #[must_use]
    pub const fn new(instance: Instance) -> Self {
        Self { instance, founder: false }
    }

    /// Joins both entries. The later memory counts; reports of an earlier memory are out of date.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        match self.instance.cmp(&other.instance) {
            Ordering::Less => other,
            Ordering::Equal => Self { founder: self.founder || other.founder, ..self },
            Ordering::Greater => self,
        }
    }
}

/// The known memories of all members, each at its [position](Membership::position), which is the
/// same everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Roster(Vec<Option<Entry>>);

impl Roster {
    /// A roster of the entry of each member, by its position.
    #[must_use]
    pub const fn new(entries: Vec<Option<Entry>>) -> Self {
        Self(entries)
    }

    /// The roster of these members, from the entries that were written down.
    pub(super) fn of(membership: &Membership, kept: &[(NodeName, Entry)]) -> Self {
        let mut this = Self(alloc::vec![None; membership.names().len()]);
        for (name, entry) in kept {
            if let Some(member) = membership.position(name) {
                this.add(member, *entry);
            }
        }
        this
    }

    /// The entries with the names of their members, as a record has them.
    pub(super) fn named(&self, membership: &Membership) -> Vec<(NodeName, Entry)> {
        let entry = |(member, name): (usize, &NodeName)| Some((name.clone(), self.at(member)?));
        membership.names().iter().enumerate().filter_map(entry).collect()
    }

    /// The entry of the member at this position.
    #[must_use]
    pub fn at(&self, member: usize) -> Option<Entry> {
        self.0.get(member).copied().flatten()
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.0.iter().copied().flatten()
    }

    /// Adds a memory of the member at this position, as another node has reported it. Does nothing
    /// if no member has this position. True if the memory is new.
    pub(super) fn add(&mut self, member: usize, entry: Entry) -> bool {
        let Some(known) = self.0.get_mut(member) else { return false };
        let merged = known.map_or(entry, |known| known.merged(entry));
        let before = known.replace(merged);
        before.is_none_or(|before| before.instance != merged.instance)
    }

    pub(super) fn set(&mut self, member: usize, entry: Entry) {
        if let Some(known) = self.0.get_mut(member) {
            *known = Some(entry);
        }
    }

    pub(super) fn clear(&mut self, member: usize) {
        if let Some(known) = self.0.get_mut(member) {
            *known = None;
        }
    }

    /// Adds all entries of another roster; true if a memory is news.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let mut is_news = false;
        for (member, entry) in other.0.iter().enumerate() {
            if let Some(entry) = entry {
                is_news |= self.add(member, *entry);
            }
        }
        is_news
    }

    /// The marks of the memories, as oks carry them: empty if no memory is known.
    pub(super) fn marks(&self) -> Vec<Mark> {
        match self.0.iter().any(Option::is_some) {
            true => self.0.iter().map(|entry| entry.map_or(Mark::NONE, Entry::mark)).collect(),
            false => Vec::new(),
        }
    }
}

impl Entry {
    fn mark(self) -> Mark {
        self.instance.mark()
    }
}

/// The members whose answers are ignored: each has answered with one memory, while another member
/// has written down another memory of that member. The pair is an example: such a member, and the
/// other member. Each of `words` is a member, its memory, and the memories that it has written
/// down.
pub(super) fn replaced<'a>(
    words: impl Iterator<Item = (usize, Instance, &'a [Mark])> + Clone,
) -> Option<(MemberSet, (usize, usize))> {
    if words.clone().all(|(_, _, names)| names.is_empty()) {
        return None;
    }
    let denied = |(member, instance, _): (usize, Instance, _)| {
        let own = instance.mark();
        let differs = |mark: &Mark| *mark != Mark::NONE && *mark != own;
        let denies = |(other, _, names): (usize, _, &[Mark])| {
            (other != member && names.get(member).is_some_and(differs)).then_some(other)
        };
        Some((member, words.clone().find_map(denies)?))
    };
    let pairs = words.clone().filter_map(denied);
    let first = pairs.clone().next()?;
    Some((pairs.map(|(member, _)| member).collect(), first))
}
