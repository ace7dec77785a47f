//! A violation of a property.

use std::fmt;

use crate::scenario::plan::ELECTIONS;

/// A violated property, and the evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub property: &'static str,
    /// The text that states the property.
    pub source: &'static str,
    /// True time of the violation.
    pub at: u64,
    pub said: String,
}

impl Violation {
    /// Whether both violate the same property with the same words, apart from names and numbers.
    #[must_use]
    pub fn resembles(&self, other: &Self) -> bool {
        self.property == other.property && self.words().eq(other.words())
    }

    /// The first words of the evidence, without names and numbers.
    fn words(&self) -> impl Iterator<Item = &str> {
        let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
        let is_election = |word: &&str| ELECTIONS.contains(word);
        self.said.split(' ').filter(is_word).filter(move |word| !is_election(word)).take(5)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, source, at, said } = self;
        write!(f, "{property} ({source}) at {:.6} s: {said}", *at as f64 / 1e9)
    }
}

impl std::error::Error for Violation {}
