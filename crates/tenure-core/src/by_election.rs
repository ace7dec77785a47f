//! A map for thousands of elections that finds an entry without comparing other names.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::mem;

use siphasher::sip::SipHasher13;

use crate::name::ElectionName;

/// A `T` for each election, in the order of a hash of its name. Elections with equal hashes are
/// ordered by name.
///
/// A search reads the bucket of its hash and no other. In a B-tree of 10,000 elections, each search
/// waits for five reads of memory. The order of entries depends on names alone, unlike in other
/// hash tables.
#[derive(Clone, Debug)]
pub(crate) struct ByElection<T> {
    /// Entries by the first bits of their hashes. The number of buckets is zero or a power of two,
    /// and never below the number of entries.
    buckets: Vec<Vec<Entry<T>>>,
    count: usize,
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
}

impl<T> ByElection<T> {
    pub(crate) const fn new() -> Self {
        Self { buckets: Vec::new(), count: 0 }
    }

    /// The position of the bucket for `hash`; beyond the end while there is no bucket.
    fn bucket(&self, hash: u64) -> usize {
        let bits = self.buckets.len().trailing_zeros();
        usize::try_from(hash >> 1 >> 63_u32.saturating_sub(bits)).unwrap_or(usize::MAX)
    }

    pub(crate) fn get(&self, election: &ElectionName) -> Option<&T> {
        let hash = hash(election);
        let bucket = self.buckets.get(self.bucket(hash))?;
        bucket.iter().find(|entry| entry.is_of(hash, election)).map(|entry| &*entry.kept)
    }

    pub(crate) fn get_mut(&mut self, election: &ElectionName) -> Option<&mut T> {
        let hash = hash(election);
        let at = self.bucket(hash);
        let bucket = self.buckets.get_mut(at)?;
        bucket.iter_mut().find(|entry| entry.is_of(hash, election)).map(|entry| &mut *entry.kept)
    }

    pub(crate) fn get_or_insert_with(
        &mut self,
        election: &ElectionName,
        begin: impl FnOnce() -> T,
    ) -> &mut T {
        self.make_room();
        let hash = hash(election);
        let at = self.bucket(hash);
        let bucket = &mut self.buckets[at];
        let place = |entry: &Entry<T>| (entry.hash, &entry.election).cmp(&(hash, election));
        let nth = bucket.binary_search_by(place).unwrap_or_else(|nth| {
            self.count += 1;
            // Most buckets hold at most one entry.
            bucket.reserve_exact(1);
            bucket.insert(nth, Entry { hash, election: election.clone(), kept: begin().into() });
            nth
        });
        &mut bucket[nth].kept
    }

    /// Doubles the buckets if another entry could make more entries than buckets.
    fn make_room(&mut self) {
        if self.count < self.buckets.len() {
            return;
        }
        let larger = (self.buckets.len() * 2).max(1);
        let entries = mem::take(&mut self.buckets).into_iter().flatten();
        self.buckets.resize_with(larger, Vec::new);
        for entry in entries {
            let at = self.bucket(entry.hash);
            self.buckets[at].reserve_exact(1);
            self.buckets[at].push(entry);
        }
    }

    pub(crate) fn contains(&self, election: &ElectionName) -> bool {
        self.get(election).is_some()
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut T)) {
        self.buckets.iter_mut().flatten().for_each(|entry| act(&mut entry.kept));
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        self.buckets.iter_mut().for_each(|bucket| bucket.retain_mut(|entry| keep(&mut entry.kept)));
        self.count = self.buckets.iter().map(Vec::len).sum();
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.buckets.iter().flatten()
    }
}

// The number of buckets depends on earlier insertions, so equality ignores that number.
impl<T: PartialEq> PartialEq for ByElection<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entries().eq(other.entries())
    }
}

impl<T: Eq> Eq for ByElection<T> {}

impl<T: Hash> Hash for ByElection<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.count.hash(state);
        self.entries().for_each(|entry| entry.hash(state));
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
        assert_eq!(all.entries().count(), 51);
        assert!(all.entries().is_sorted_by_key(|entry| entry.hash), "by hash, whatever came first");
        assert!(all.contains(&name(98)) && !all.contains(&name(99)));
    }
}
