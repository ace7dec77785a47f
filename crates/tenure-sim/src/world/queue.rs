//! A queue of future events, the earliest first.

/// A queue in true time. Events of the same instant keep their order.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    /// Time, unique number and place of each event in one number, the earliest last. A queue holds
    /// some dozens of events, and most new events are early: a sorted list moves less than a heap.
    order: Vec<u128>,
    kept: Vec<Option<T>>,
    free: Vec<u32>,
    last: u64,
}

/// Room for one event in a queue.
#[derive(Debug)]
pub struct Room<'a, T>(&'a mut Option<T>);

impl<T> Room<'_, T> {
    /// Puts the event into its room.
    #[inline(always)]
    pub fn put(self, happening: T) {
        // The room is free, so that no event is dropped.
        if self.0.is_none() {
            *self.0 = Some(happening);
        }
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { order: Vec::new(), kept: Vec::new(), free: Vec::new(), last: 0 }
    }
}

impl<T> Queue<T> {
    /// Adds `happening` at the true time `at`.
    pub fn push(&mut self, at: u64, happening: T) {
        self.room(at).put(happening);
    }

    /// Room for an event at the true time `at`, to be made in its place.
    pub fn room(&mut self, at: u64) -> Room<'_, T> {
        self.last += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.kept.push(None);
            u32::try_from(self.kept.len() - 1).unwrap_or(u32::MAX)
        });
        debug_assert!(self.last >> 40 == 0 && place >> 24 == 0, "each has its bits");
        let key = u128::from(at) << 64 | u128::from(self.last << 24 | u64::from(place));
        let at = self.order.partition_point(|other| *other > key);
        self.order.insert(at, key);
        Room(&mut self.kept[place as usize])
    }

    /// The next event, and its true time.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        let key = self.order.pop()?;
        let place = key as u32 & ((1 << 24) - 1);
        self.free.push(place);
        Some(((key >> 64) as u64, self.kept[place as usize].take()?))
    }

    /// The time of the next event.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.order.last().map(|key| (key >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_entries_come_first() {
        let mut queue = Queue::default();
        for (at, what) in [(5, 'a'), (3, 'b'), (5, 'c'), (1, 'd')] {
            queue.push(at, what);
        }
        assert_eq!(queue.pop(), Some((1, 'd')));
        queue.push(3, 'e');
        let rest: String = std::iter::from_fn(|| queue.pop()).map(|(_, what)| what).collect();
        assert_eq!(rest, "beac");
    }
}
