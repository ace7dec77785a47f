//! What happens by chance, from the seed.

use tenure_core::Draw;

pub(crate) struct Dice {
    draw: Draw,
    thrown: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { draw: Draw::new(seed), thrown: 0 }
    }

    /// A number in `[0, sides)`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.thrown += 1;
        let number = self.draw.number("company", "dice", self.thrown);
        usize::try_from(number % u64::try_from(sides).unwrap()).unwrap()
    }

    /// True in one of so many throws.
    pub(crate) fn one_in(&mut self, throws: usize) -> bool {
        self.below(throws) == 0
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}
