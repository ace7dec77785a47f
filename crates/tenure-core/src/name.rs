//! Names and values: short texts, each with a rule that is checked once, where the text enters.

use alloc::string::String;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The reason why a name was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} has {bytes} bytes; at most {max} are allowed")]
    TooLong { what: &'static str, bytes: usize, max: usize },
    #[error("{what} may hold {rule}; {found:?} is not allowed")]
    Character { what: &'static str, found: char, rule: &'static str },
}

fn check(
    text: &str,
    what: &'static str,
    bytes: core::ops::RangeInclusive<usize>,
    allowed: impl Fn(char) -> bool,
    rule: &'static str,
) -> Result<(), NameError> {
    if text.len() > *bytes.end() {
        return Err(NameError::TooLong { what, bytes: text.len(), max: *bytes.end() });
    }
    if text.len() < *bytes.start() {
        return Err(NameError::Empty { what });
    }
    match text.chars().find(|c| !allowed(*c)) {
        Some(found) => Err(NameError::Character { what, found, rule }),
        None => Ok(()),
    }
}

fn is_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn is_path(c: char) -> bool {
    is_label(c) || matches!(c, '/' | ':' | '@')
}

fn is_printable(c: char) -> bool {
    !c.is_control()
}

/// Reads a text, with escapes or without, and checks it.
struct TextVisitor<T>(fn(&str) -> Result<T, NameError>);

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.0(text).map_err(E::custom)
    }
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $bytes:expr, $allowed:ident, $rule:literal) => {
        $(#[$doc])*
        // `None` is the empty text, which allocates nothing.
        #[derive(Clone)]
        pub struct $name(Option<Arc<str>>);

        impl $name {
            /// The maximum number of bytes that the text may have.
            pub const MAX_BYTES: usize = *$bytes.end();

            /// Checks `text` against the rule for this kind of name.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text, $what, $bytes, $allowed, $rule)?;
                Ok(Self((!text.is_empty()).then(|| text.into())))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_deref().unwrap_or_default()
            }

            /// Whether both texts share one allocation.
            fn is_clone(&self, other: &Self) -> bool {
                self.as_str().as_ptr() == other.as_str().as_ptr()
            }
        }

        // Compares lengths and last bytes first: most compared names are clones, or differ there.
        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                let one = self.as_str();
                let two = other.as_str();
                let may_be = one.len() == two.len() && one.bytes().last() == two.bytes().last();
                may_be && (self.is_clone(other) || one == two)
            }
        }

        impl Eq for $name {}

        impl Ord for $name {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                if self.is_clone(other) {
                    return Ordering::Equal;
                }
                self.as_str().cmp(other.as_str())
            }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = NameError;

            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(&text)
            }
        }

        impl From<$name> for Arc<str> {
            fn from(name: $name) -> Self {
                name.0.unwrap_or_default()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor(Self::new))
            }
        }
    };
}

text! {
    /// The name of an election, for which candidates contend.
    ///
    /// 1 to 64 bytes: letters, digits and `. _ - / : @`.
    ElectionName, "an election's name", 1..=64, is_path, "letters, digits and . _ - / : @"
}

text! {
    /// The name of a participant, unique in its cluster.
    ///
    /// 1 to 64 bytes: letters, digits and `. _ -`.
    NodeName, "a node's name", 1..=64, is_label, "letters, digits and . _ -"
}

text! {
    /// The name of a cluster. Messages carry it, so that two clusters on one network stay apart.
    ///
    /// 1 to 32 bytes: letters, digits and `. _ -`.
    ClusterName, "the name of a cluster or group", 1..=32, is_label, "letters, digits and . _ -"
}

text! {
    /// The value that a leader shows to others, such as its address.
    ///
    /// At most 128 bytes without control characters; may be empty.
    Value, "a candidate's value", 0..=128, is_printable, "all but control characters"
}

text! {
    /// A longer text, such as the description of a quorum system.
    ///
    /// At most 4 MiB without control characters; may be empty.
    Text, "a text", 0..=4_194_304, is_printable, "all but control characters"
}

impl Default for Text {
    /// The empty text.
    fn default() -> Self {
        Self(None)
    }
}

impl Default for Value {
    /// The empty value.
    fn default() -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_name_keeps_its_rule() {
        assert_eq!(ElectionName::new("db/primary:eu@1").unwrap().as_str(), "db/primary:eu@1");
        assert!(Value::new("").is_ok());
        assert_eq!(NodeName::new("").unwrap_err().to_string(), "a node's name is empty");
        assert_eq!(
            NodeName::new("a b").unwrap_err().to_string(),
            "a node's name may hold letters, digits and . _ -; ' ' is not allowed"
        );
        assert_eq!(
            ElectionName::new(&"x".repeat(65)).unwrap_err().to_string(),
            "an election's name has 65 bytes; at most 64 are allowed"
        );
        assert!(Value::new("a\nb").is_err());
    }

    #[test]
    fn name_equals_its_text() {
        let [a, same, b] = ["a", "a", "b"].map(|text| NodeName::new(text).unwrap());
        assert!(a == same && a == a.clone() && a != b);
        assert_eq!(a.cmp(&same), Ordering::Equal);
        assert_eq!(a.cmp(&a.clone()), Ordering::Equal);
        assert!(a < b && b > same);
        let kept = alloc::collections::BTreeSet::from([a, same, b]);
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn deserialized_names_are_checked() {
        let good = postcard::to_allocvec("billing").unwrap();
        assert_eq!(postcard::from_bytes::<ElectionName>(&good).unwrap().as_str(), "billing");
        let bad = postcard::to_allocvec("bill\u{7}ing").unwrap();
        assert!(postcard::from_bytes::<ElectionName>(&bad).is_err());
    }
}
