//! Numbers that have come from a sender.

/// Distance below the newest number up to which a datagram is still accepted. A sender counts its
/// datagrams to all recipients together. So two datagrams that were reordered on one path may have
/// numbers that are hundreds apart.
pub(super) const BITS: u64 = 1_024;
const WORDS: usize = BITS as usize / 64;

/// The newest number, and which of the [`BITS`] numbers before it have come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Window {
    /// Newest number plus one; zero before the first.
    next: u64,
    /// The bit of `number` is `number % BITS`.
    seen: [u64; WORDS],
}

impl Window {
    /// Whether `number` is new, as far as the window tells.
    pub(super) fn is_new(&self, number: u64) -> bool {
        match number {
            u64::MAX => false,
            number if number >= self.next => true,
            number => self.next - number <= BITS && !self.has(number),
        }
    }

    pub(super) fn take(&mut self, number: u64) {
        if !self.is_new(number) {
            return;
        }
        if number >= self.next {
            if number - self.next >= BITS {
                self.seen = [0; WORDS];
            } else {
                (self.next..number).for_each(|skipped| self.set(skipped, false));
            }
            self.next = number + 1;
        }
        self.set(number, true);
    }

    fn has(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.seen[word] & bit != 0
    }

    fn set(&mut self, number: u64, come: bool) {
        let (word, bit) = place(number);
        if come { self.seen[word] |= bit } else { self.seen[word] &= !bit }
    }
}

const fn place(number: u64) -> (usize, u64) {
    let at = number % BITS;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares the window with a set of all numbers that have come. The window takes no number
        /// twice, and takes each recent number once.
        #[test]
        fn window_takes_each_number_once(
            numbers in prop::collection::vec((0..4_u8, 0..3_000_u64), 1..400),
        ) {
            let mut window = Window::default();
            let mut come = BTreeSet::new();
            let mut newest = 0;
            for (kind, offset) in numbers {
                let number = match kind {
                    0 => newest + offset,
                    1 => newest + offset % 3,
                    _ => u64::saturating_sub(newest, offset),
                };
                let is_near = newest < BITS || number > newest - BITS;
                if window.is_new(number) {
                    prop_assert!(come.insert(number), "{number} came before");
                } else {
                    prop_assert!(come.contains(&number) || !is_near, "{number} is new");
                }
                window.take(number);
                newest = newest.max(number);
            }
        }
    }

    #[test]
    fn last_number_is_never_new() {
        let mut window = Window::default();
        window.take(u64::MAX - 1);
        assert!(!window.is_new(u64::MAX) && !window.is_new(u64::MAX - 1));
        assert!(window.is_new(u64::MAX - 2));
        window.take(u64::MAX);
        assert!(window.is_new(u64::MAX - 2), "nothing changed");
    }
}
