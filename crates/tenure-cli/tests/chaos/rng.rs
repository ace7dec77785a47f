//! One stream of draws from one seed (SplitMix64).

use std::ops::Range;
use std::time::Duration;

#[derive(Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn within(&mut self, range: Range<usize>) -> usize {
        let width = (range.end - range.start) as u64;
        range.start + usize::try_from(self.next() % width).unwrap()
    }

    /// From `range`, by the microsecond.
    pub(crate) fn span(&mut self, range: &Range<Duration>) -> Duration {
        let width = (range.end - range.start).as_micros().max(1);
        let drawn = u128::from(self.next()) % width;
        range.start + Duration::from_micros(u64::try_from(drawn).unwrap())
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: u8) -> bool {
        self.next() % 100 < u64::from(percent)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.within(0..last + 1));
        }
    }
}
