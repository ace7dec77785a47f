//! Something that must not be.

use std::fmt;

/// What was violated, and what the property saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The property.
    pub property: &'static str,
    /// Where it is written.
    pub source: &'static str,
    /// When, in true time.
    pub at: u64,
    /// What was seen.
    pub said: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, source, at, said } = self;
        write!(f, "{property} ({source}) at {:.6} s: {said}", *at as f64 / 1e9)
    }
}

impl std::error::Error for Violation {}
