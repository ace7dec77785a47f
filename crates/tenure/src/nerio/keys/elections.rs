//! Which elections a key is for.

use std::fmt;
use std::str::FromStr;

use tenure_core::{ElectionName, NameError};

/// With the longest name of an application, and one byte between them, 255.
const BYTES_MAX: usize = 190;

/// A list of elections, such as `billing/*,audit`: a name, or what names begin with and `*`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Elections(Box<str>);

/// Why a list of elections was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ElectionsError {
    /// There is none.
    #[error("it names no election")]
    Empty,
    /// It is too long.
    #[error("it has {bytes} bytes; at most {BYTES_MAX} are allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// One of them cannot be one.
    #[error("{pattern:?} is no election: {error}; only the last character may be *")]
    Name {
        /// Which one.
        pattern: String,
        /// Why.
        error: NameError,
    },
}

impl Elections {
    /// The list as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `election` is one of them.
    #[must_use]
    pub fn cover(&self, election: &ElectionName) -> bool {
        let name = election.as_str();
        self.0.split(',').any(|pattern| match pattern.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == pattern,
        })
    }

    /// Whether every election is.
    #[must_use]
    pub fn cover_all(&self) -> bool {
        self.0.split(',').any(|pattern| pattern == "*")
    }
}

impl FromStr for Elections {
    type Err = ElectionsError;

    fn from_str(text: &str) -> Result<Self, ElectionsError> {
        if text.is_empty() {
            return Err(ElectionsError::Empty);
        }
        if text.len() > BYTES_MAX {
            return Err(ElectionsError::TooLong { bytes: text.len() });
        }
        for pattern in text.split(',') {
            let begin = match pattern.strip_suffix('*') {
                Some("") => continue,
                Some(begin) => begin,
                None => pattern,
            };
            ElectionName::new(begin)
                .map_err(|error| ElectionsError::Name { pattern: pattern.to_owned(), error })?;
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Elections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_at_the_end_and_for_anything() {
        let covers = |list: &str, name: &str| {
            list.parse::<Elections>().unwrap().cover(&name.parse().unwrap())
        };
        assert!(covers("*", "x") && covers("a*", "a") && covers("b,a/*", "a/b"));
        assert!(!covers("a/*", "a") && !covers("a", "ab") && !covers("a,b", "c"));
        for list in ["", ",", "a,", "*a", "a**", "a b"] {
            assert!(list.parse::<Elections>().is_err(), "{list:?}");
        }
        assert!("x".repeat(BYTES_MAX + 1).parse::<Elections>().is_err());
    }
}
