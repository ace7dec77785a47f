//! The elections of a key.

use std::fmt;
use std::str::FromStr;

use tenure_core::nerio::Which;
use tenure_core::{ElectionName, NameError};

use super::{Grant, Rights};

/// Maximum number of bytes of a list. A list of this length, the longest name of an application and
/// one byte between them have 255 bytes together.
const BYTES_MAX: usize = 190;

/// Maximum number of bytes of name and list together, in a grant with a byte of rights. This byte
/// and two zero bytes complete the 255 bytes of a grant.
const GRANT_MAX: usize = 252;

pub(super) fn check_room(grant: &Grant) -> Result<(), ElectionsError> {
    let name = grant.application.as_str().len();
    let bytes = grant.elections.as_str().len();
    if grant.rights == Rights::USUAL || name + bytes <= GRANT_MAX {
        Ok(())
    } else {
        Err(ElectionsError::TooLongWithRights { bytes: name + bytes, name })
    }
}

/// A list of elections, such as `billing/*,audit`: names, or beginnings of names with `*`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Elections(Box<str>);

/// The reason why a list of elections was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ElectionsError {
    #[error("the list names no election")]
    Empty,
    #[error("the list has {bytes} bytes; at most {BYTES_MAX} are allowed")]
    TooLong { bytes: usize },
    #[error(
        "the list of elections and the application's name ({name} bytes) have {bytes} bytes \
         together; a key with other rights than contend,ask holds at most {GRANT_MAX}"
    )]
    TooLongWithRights { bytes: usize, name: usize },
    #[error("{pattern:?} is no election: {error}. A pattern may hold * as its last character")]
    Name { pattern: String, error: NameError },
}

impl Elections {
    /// The list as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the list covers `election`.
    #[must_use]
    pub fn cover(&self, election: &ElectionName) -> bool {
        let name = election.as_str();
        self.0.split(',').any(|pattern| match pattern.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == pattern,
        })
    }

    /// Whether the list covers all elections of the question.
    #[must_use]
    pub fn cover_which(&self, which: &Which) -> bool {
        match which {
            Which::All => self.cover_all(),
            Which::Only(election) => self.cover(election),
            Which::Beginning(begin) => {
                let mut begins = self.0.split(',').filter_map(|pattern| pattern.strip_suffix('*'));
                begins.any(|allowed| begin.as_str().starts_with(allowed))
            }
        }
    }

    /// The list as questions. If the list covers all elections, there is a single question.
    pub(crate) fn which(&self) -> Vec<Which> {
        if self.cover_all() {
            return vec![Which::All];
        }
        let which = |pattern: &str| match pattern.strip_suffix('*') {
            Some(begin) => ElectionName::new(begin).map(Which::Beginning),
            None => ElectionName::new(pattern).map(Which::Only),
        };
        // The constructor has checked that every part is a name.
        self.0.split(',').filter_map(|pattern| which(pattern).ok()).collect()
    }

    /// Whether the list covers every election.
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
    fn star_covers_any_ending() {
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
    #[test]
    fn list_asks_for_covered_elections() {
        let list: Elections = "billing/*,audit".parse().unwrap();
        let name = |name: &str| name.parse().unwrap();
        let which = [Which::Beginning(name("billing/")), Which::Only(name("audit"))];
        assert_eq!(list.which(), which);
        assert!(which.iter().all(|which| list.cover_which(which)));
        assert!(list.cover_which(&Which::Beginning(name("billing/eu"))));
        let more = [
            Which::All,
            Which::Beginning(name("billing")),
            Which::Beginning(name("audit")),
            Which::Only(name("auditor")),
        ];
        assert!(!more.iter().any(|which| list.cover_which(which)));
        let all: Elections = "audit,*".parse().unwrap();
        assert_eq!(all.which(), [Which::All]);
        assert!(more.iter().all(|which| all.cover_which(which)));
    }
}
