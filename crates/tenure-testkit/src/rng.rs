//! A stream of draws from one seed (SplitMix64).

use core::ops::Range;
use core::time::Duration;

/// Draws numbers: the same from the same seed, on every machine and in every release.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of draws from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.number() % (range.end - range.start)
    }

    /// Index of a drawn element among `items` elements. `items` must be at least 1.
    pub fn index(&mut self, items: usize) -> usize {
        usize::try_from(self.number() % items as u64).unwrap()
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// A drawn span in `range`, in whole microseconds.
    pub fn span(&mut self, range: &Range<Duration>) -> Duration {
        let width = (range.end - range.start).as_micros().max(1);
        let drawn = u128::from(self.number()) % width;
        range.start + Duration::from_micros(u64::try_from(drawn).unwrap())
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u8) -> bool {
        self.number() % 100 < u64::from(percent)
    }

    /// True once in `n` cases; never for zero.
    pub fn once_in(&mut self, n: u64) -> bool {
        n != 0 && self.number().is_multiple_of(n)
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}
