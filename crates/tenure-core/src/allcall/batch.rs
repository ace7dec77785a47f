//! Lists that are split so that each packet fits (ruling 9).

use alloc::vec;
use alloc::vec::Vec;

use super::message::{ENTRIES_MAX, PARTS_MAX, Part};

/// Splits items into as few lists as possible, in order. A list has at most [`ENTRIES_MAX`] items
/// and `room` bytes; an item larger than `room` is alone in its list. Lists beyond [`PARTS_MAX`]
/// are left out.
pub(super) fn split<T>(items: Vec<T>, room: usize, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut lists = vec![Vec::new()];
    let mut used = 0;
    for item in items {
        let needs = bytes(&item);
        let full = lists.last().is_some_and(|list| {
            list.len() >= ENTRIES_MAX || (!list.is_empty() && used + needs > room)
        });
        if full {
            lists.push(Vec::new());
            used = 0;
        }
        used += needs;
        if let Some(list) = lists.last_mut() {
            list.push(item);
        }
    }
    lists.retain(|list| !list.is_empty());
    lists.truncate(usize::from(PARTS_MAX));
    lists
}

pub(super) fn parts(of: usize) -> impl Iterator<Item = Part> {
    let of = u16::try_from(of).unwrap_or(PARTS_MAX);
    (0..of).map(move |number| Part { number, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_split_where_full() {
        let lists = |items: &[usize]| split(items.to_vec(), 10, |bytes| *bytes);
        assert_eq!(lists(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(lists(&[5, 5, 1, 20, 3]), [vec![5, 5], vec![1], vec![20], vec![3]]);
        let many = split(vec![(); ENTRIES_MAX + 1], 10, |()| 0);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [ENTRIES_MAX, 1]);
        assert_eq!(split(vec![9; 2_000], 10, |bytes| *bytes).len(), usize::from(PARTS_MAX));
        let of_two: Vec<_> = parts(2).collect();
        assert_eq!(of_two, [Part { number: 0, of: 2 }, Part { number: 1, of: 2 }]);
    }
}
