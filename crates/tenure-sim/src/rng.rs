//! Draws: every random choice comes from one seed.

use std::ops::Range;

/// The finaliser of SplitMix64: one draw for each number.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of draws (SplitMix64): small, fast, the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of `seed` for one purpose; streams of different purposes are independent.
    #[must_use]
    pub const fn new(seed: u64, purpose: u64) -> Self {
        Self(mix(seed ^ mix(purpose)))
    }

    pub const fn next(&mut self) -> u64 {
        let draw = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        draw
    }

    /// A number in `range`, which must not be empty.
    pub const fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// A number below `bound`, as an index.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.within(0..bound as u64)).unwrap_or(0)
    }

    /// A random element of `choices`, which must not be empty.
    pub fn choose<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// True once in `n` times on average; never for zero.
    pub const fn once_in(&mut self, n: u64) -> bool {
        n != 0 && self.next().is_multiple_of(n)
    }
}
