//! A map for thousands of elections that finds an entry without comparing other names.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

use crate::name::ElectionName;

/// A `T` for each election, ordered by a hash of its name. A search compares hashes, which are in
/// the nodes of the tree, and not names, which are elsewhere in memory. Names with equal hashes are
/// ordered by name. Entries are boxed, because about a third of the places in a node is empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ByElection<T>(BTreeMap<Key, Box<T>>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Key {
    hash: u64,
    election: ElectionName,
}

impl Key {
    fn of(election: &ElectionName) -> Self {
        let mut hasher = SipHasher13::new();
        election.hash(&mut hasher);
        Self { hash: hasher.finish(), election: election.clone() }
    }
}

impl<T> ByElection<T> {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn get(&self, election: &ElectionName) -> Option<&T> {
        self.0.get(&Key::of(election)).map(|entry| &**entry)
    }

    pub(crate) fn get_mut(&mut self, election: &ElectionName) -> Option<&mut T> {
        self.0.get_mut(&Key::of(election)).map(|entry| &mut **entry)
    }

    pub(crate) fn get_or_insert_with(
        &mut self,
        election: &ElectionName,
        begin: impl FnOnce() -> T,
    ) -> &mut T {
        self.0.entry(Key::of(election)).or_insert_with(|| Box::new(begin()))
    }

    pub(crate) fn contains(&self, election: &ElectionName) -> bool {
        self.0.contains_key(&Key::of(election))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut T)) {
        self.0.values_mut().for_each(|kept| act(kept));
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        self.0.retain(|_, kept| keep(kept));
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
        all.retain(|kept| *kept % 2 == 0);
        assert_eq!((all.len(), all.get(&name(7)), all.get(&name(9))), (51, Some(&8), None));
        assert!(all.contains(&name(98)) && !all.contains(&name(99)));
    }
}
