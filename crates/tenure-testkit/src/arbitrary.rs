//! Drawn messages of the protocols. Contract tests hand these messages to cores; tests of a wire
//! format write and read them. Names, processes and figures of a small cluster are likely, so that
//! a core takes a message for a message of its cluster. All other values that a wire format carries
//! occur, too.

use std::ops::Range;

use crate::Rng;

/// Characters of names.
pub(crate) const NAME: &str = "abzABZ019._-";
/// Characters that a format may have to escape, and others.
pub(crate) const ANY: &str = " !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~äßé😀";

/// Any number; the lowest and the highest are likely.
pub(crate) fn number(rng: &mut Rng) -> u64 {
    match rng.within(0..8) {
        0 => 0,
        1 => u64::MAX,
        _ => rng.number(),
    }
}

/// Any number of 128 bits.
pub(crate) fn long(rng: &mut Rng) -> u128 {
    u128::from(number(rng)) << 64 | u128::from(number(rng))
}

/// Usually a number of this range, sometimes any number.
pub(crate) fn near(rng: &mut Rng, range: Range<u64>) -> u64 {
    if rng.once_in(12) { number(rng) } else { rng.within(range) }
}

/// A text of these characters.
pub(crate) fn text(rng: &mut Rng, characters: &str, lengths: Range<u64>) -> String {
    let characters: Vec<char> = characters.chars().collect();
    (0..rng.within(lengths)).map(|_| *rng.pick(&characters)).collect()
}

pub(crate) fn flag(rng: &mut Rng) -> bool {
    rng.once_in(2)
}

pub(crate) fn maybe<T>(rng: &mut Rng, one: fn(&mut Rng) -> T) -> Option<T> {
    flag(rng).then(|| one(rng))
}

pub(crate) fn list<T>(rng: &mut Rng, lengths: Range<u64>, one: fn(&mut Rng) -> T) -> Vec<T> {
    (0..rng.within(lengths)).map(|_| one(rng)).collect()
}
