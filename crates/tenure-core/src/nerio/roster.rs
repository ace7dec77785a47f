//! Which memory each member has, as far as one member knows.
//!
//! A member whose state directory was lost comes back with another memory, and the old one may
//! only have been cut off: then two processes grant under one name, and each can complete a quorum
//! with members that the other one does not reach. So before a new memory serves, other members
//! write down that it is the member's memory now: so many that no quorum goes without one of them.
//! An ok says which memories its sender has written down, and a candidate never counts an ok of a
//! memory together with one that names another memory of the same member. Every quorum of the old
//! memory has a member among those that wrote the new one down, so no lease of it is completed from
//! then on; those before are waited out.
//!
//! Nothing here ever goes back: of two memories of a member the later one counts, by [`Instance`].

use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::config::Checked;
use super::identity::{Instance, Mark};
use super::quorum::MemberSet;
use crate::name::NodeName;

/// What is known of the memory of one member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The latest one that was heard of.
    pub instance: Instance,
    /// Whether it was there when the cluster was founded, empty: then it has forgotten nothing.
    pub founder: bool,
}

impl Entry {
    /// A memory of which it is not known that it was there at the founding.
    #[must_use]
    pub const fn new(instance: Instance) -> Self {
        Self { instance, founder: false }
    }

    /// Both words together. The later memory counts; what is said of an earlier one is out of date.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        match self.instance.cmp(&other.instance) {
            Ordering::Less => other,
            Ordering::Equal => Self { founder: self.founder || other.founder, ..self },
            Ordering::Greater => self,
        }
    }
}

/// What is known of the memories of all members, each at its [place](Checked::place), which is the
/// same everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Roster(Vec<Option<Entry>>);

impl Roster {
    /// What is known of each member, by its place.
    #[must_use]
    pub const fn new(entries: Vec<Option<Entry>>) -> Self {
        Self(entries)
    }

    /// What is written down of these members.
    pub(super) fn of(config: &Checked, kept: &[(NodeName, Entry)]) -> Self {
        let mut this = Self(alloc::vec![None; config.members.len()]);
        for (name, entry) in kept {
            if let Some(member) = config.position(name) {
                this.add(config.place(member), *entry);
            }
        }
        this
    }

    /// What is to be written down.
    pub(super) fn named(&self, config: &Checked) -> Vec<(NodeName, Entry)> {
        let entry =
            |(member, name): (usize, NodeName)| Some((name, self.at(config.place(member))?));
        config.names().into_iter().enumerate().filter_map(entry).collect()
    }

    /// What is known of the member at this place.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<Entry> {
        self.0.get(place).copied().flatten()
    }

    /// All that is known.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.0.iter().copied().flatten()
    }

    /// Adds what was heard of the member at this place; nothing where no member is. Says whether
    /// that memory is news.
    pub(super) fn add(&mut self, place: usize, entry: Entry) -> bool {
        let Some(known) = self.0.get_mut(place) else { return false };
        let merged = known.map_or(entry, |known| known.merged(entry));
        let before = known.replace(merged);
        before.is_none_or(|before| before.instance != merged.instance)
    }

    /// This is so of the member at this place, whatever was heard.
    pub(super) fn set(&mut self, place: usize, entry: Entry) {
        if let Some(known) = self.0.get_mut(place) {
            *known = Some(entry);
        }
    }

    /// Nothing is known of the member at this place.
    pub(super) fn clear(&mut self, place: usize) {
        if let Some(known) = self.0.get_mut(place) {
            *known = None;
        }
    }

    /// Adds all that somebody else knows. Says whether a memory is news.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let mut is_news = false;
        for (place, entry) in other.0.iter().enumerate() {
            if let Some(entry) = entry {
                is_news |= self.add(place, *entry);
            }
        }
        is_news
    }

    /// The memories that it names, as oks do: none where no memory is known.
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

/// The members whose words do not count, because another one names another memory of theirs, and
/// one of them, with who does. Each word is a member's, with the memory that said it, and those
/// that this one has written down.
pub(super) fn replaced<'a>(
    words: impl Iterator<Item = (usize, Instance, &'a [Mark])> + Clone,
    config: &Checked,
) -> Option<(MemberSet, (usize, usize))> {
    if words.clone().all(|(_, _, names)| names.is_empty()) {
        return None;
    }
    let denied = |(member, instance, _): (usize, Instance, _)| {
        let (place, own) = (config.place(member), instance.mark());
        let differs = |mark: &Mark| *mark != Mark::NONE && *mark != own;
        let denies = |(other, _, names): (usize, _, &[Mark])| {
            (other != member && names.get(place).is_some_and(differs)).then_some(other)
        };
        Some((member, words.clone().find_map(denies)?))
    };
    let pairs = words.clone().filter_map(denied);
    let first = pairs.clone().next()?;
    Some((pairs.map(|(member, _)| member).collect(), first))
}
