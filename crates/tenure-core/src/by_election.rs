//! A map for thousands of elections that finds an entry without comparing other names.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

use crate::name::ElectionName;

/// A `T` for each election. [`each`](Self::each) visits the elections in the order of the hashes of
/// their names, whatever the order of insertions was.
///
/// A search reads one entry. In a B-tree of 10,000 elections a search would load five tree nodes
/// from memory.
#[derive(Clone, Debug)]
pub(crate) struct ByElection<T> {
    table: HashTable<Entry<T>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry<T> {
    hash: u64,
    election: ElectionName,
    kept: Box<T>,
}

fn hash(election: &ElectionName) -> u64 {
    let mut hasher = SipHasher13::new();
    election.hash(&mut hasher);
    hasher.finish()
}

impl<T> Entry<T> {
    fn is_of(&self, hash: u64, election: &ElectionName) -> bool {
        self.hash == hash && self.election == *election
    }

    fn place(&self) -> (u64, &ElectionName) {
        (self.hash, &self.election)
    }
}

impl<T> ByElection<T> {
    pub(crate) const fn new() -> Self {
        Self { table: HashTable::new() }
    }

    pub(crate) fn get(&self, election: &ElectionName) -> Option<&T> {
        let hash = hash(election);
        self.table.find(hash, |entry| entry.is_of(hash, election)).map(|entry| &*entry.kept)
    }

    pub(crate) fn get_mut(&mut self, election: &ElectionName) -> Option<&mut T> {
        let hash = hash(election);
        let found = self.table.find_mut(hash, |entry| entry.is_of(hash, election));
        found.map(|entry| &mut *entry.kept)
    }

    pub(crate) fn get_or_insert_with(
        &mut self,
        election: &ElectionName,
        begin: impl FnOnce() -> T,
    ) -> &mut T {
        let hash = hash(election);
        let is_its = |entry: &Entry<T>| entry.is_of(hash, election);
        let entry = self.table.entry(hash, is_its, |entry| entry.hash);
        let new = || Entry { hash, election: election.clone(), kept: begin().into() };
        &mut entry.or_insert_with(new).into_mut().kept
    }

    pub(crate) fn contains(&self, election: &ElectionName) -> bool {
        self.get(election).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut T)) {
        let mut all: Vec<_> = self.table.iter_mut().collect();
        all.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        all.into_iter().for_each(|entry| act(&mut entry.kept));
    }

    /// Drops entries for which `keep` is false. `keep` must not depend on the order of its calls.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.table.retain(|entry| keep(&entry.kept));
    }

    fn entries(&self) -> Vec<&Entry<T>> {
        let mut all: Vec<_> = self.table.iter().collect();
        all.sort_unstable_by_key(|entry| entry.place());
        all
    }
}

// Compares sorted entries: the order in the table depends on earlier insertions.
impl<T: PartialEq> PartialEq for ByElection<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl<T: Eq> Eq for ByElection<T> {}

impl<T: Hash> Hash for ByElection<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn each_is_found_by_its_name() {
        let name = |nth: u32| ElectionName::new(&format!("billing/{nth}")).unwrap();
        let mut all = ByElection::new();
        for nth in 0..100 {
            assert_eq!(*all.get_or_insert_with(&name(nth), || nth), nth);
            assert_eq!(*all.get_or_insert_with(&name(nth), || 1_000), nth, "kept");
        }
        *all.get_mut(&name(7)).unwrap() = 8;
        all.retain(|kept| kept % 2 == 0);
        assert_eq!((all.len(), all.get(&name(7)), all.get(&name(9))), (51, Some(&8), None));
        let mut again = ByElection::new();
        for nth in (0..100).rev().filter(|nth| *nth == 7 || nth % 2 == 0) {
            again.get_or_insert_with(&name(nth), || if nth == 7 { 8 } else { nth });
        }
        assert_eq!(all, again, "whatever came first");
        let mut visited = [Vec::new(), Vec::new()];
        all.each(|kept| visited[0].push(*kept));
        again.each(|kept| visited[1].push(*kept));
        assert_eq!((visited[0].len(), &visited[0]), (51, &visited[1]));
        assert!(all.contains(&name(98)) && !all.contains(&name(99)));
    }
}
