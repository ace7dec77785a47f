//! A map by members, which are few and numbered.

use core::slice;

use smallvec::SmallVec;

/// The usual number of members.
pub(super) const USUAL: usize = 3;

/// A map from a member's position, in the order of positions.
///
/// A node has such a map for each of its elections, so the map allocates room for its entries
/// alone. A B-tree would allocate room for eleven entries with the first. `ROOM` entries are in
/// the map itself: with thousands of elections each allocation is one more wait for memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ByMember<T, const ROOM: usize = 0>(SmallVec<[(usize, T); ROOM]>);

impl<T, const ROOM: usize> Default for ByMember<T, ROOM> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T, const ROOM: usize> ByMember<T, ROOM> {
    fn place(&self, member: usize) -> Result<usize, usize> {
        // Usually every member has an entry: then a member's position is the index of its entry.
        if self.0.get(member).is_some_and(|(there, _)| *there == member) {
            return Ok(member);
        }
        self.0.binary_search_by_key(&member, |(member, _)| *member)
    }

    pub(super) fn get(&self, member: usize) -> Option<&T> {
        self.place(member).ok().map(|at| &self.0[at].1)
    }

    pub(super) fn get_mut(&mut self, member: usize) -> Option<&mut T> {
        self.place(member).ok().map(|at| &mut self.0[at].1)
    }

    pub(super) fn get_or_insert(&mut self, member: usize, value: T) -> &mut T {
        let at = match self.place(member) {
            Ok(at) => at,
            Err(at) => {
                self.insert_at(at, member, value);
                at
            }
        };
        &mut self.0[at].1
    }

    pub(super) fn insert(&mut self, member: usize, value: T) {
        match self.place(member) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.insert_at(at, member, value),
        }
    }

    fn insert_at(&mut self, at: usize, member: usize, value: T) {
        self.0.reserve_exact(1);
        self.0.insert(at, (member, value));
    }

    pub(super) fn remove(&mut self, member: usize) -> Option<T> {
        self.place(member).ok().map(|at| self.0.remove(at).1)
    }

    pub(super) fn contains(&self, member: usize) -> bool {
        self.place(member).is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> slice::Iter<'_, (usize, T)> {
        self.0.iter()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|(member, _)| *member)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|(_, value)| keep(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_agrees_with_standard_map() {
        let mut map = alloc::collections::BTreeMap::new();
        let mut ours = ByMember::<_, 3>::default();
        for step in 0_u64..2_000 {
            let mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let member = (mixed % 7) as usize;
            match mixed / 7 % 5 {
                0 => assert_eq!(ours.remove(member), map.remove(&member)),
                1 => {
                    assert_eq!(ours.get_or_insert(member, step), map.entry(member).or_insert(step));
                }
                2 if step % 9 == 0 => {
                    ours.retain(|value| value % 2 == 0);
                    map.retain(|_, value| *value % 2 == 0);
                }
                _ => {
                    ours.insert(member, step);
                    map.insert(member, step);
                }
            }
            assert_eq!(ours.contains(member), map.contains_key(&member));
            assert_eq!(ours.get(member), map.get(&member));
            assert_eq!(ours.get_mut(member), map.get_mut(&member));
            assert!(ours.iter().map(|(member, value)| (member, value)).eq(map.iter()));
            assert!(ours.members().eq(map.keys().copied()) && ours.values().eq(map.values()));
            assert_eq!(ours.len(), map.len());
        }
        ours.clear();
        assert_eq!((ours.len(), ours.get(0)), (0, None));
    }
}
