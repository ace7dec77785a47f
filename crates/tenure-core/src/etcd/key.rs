//! Keys of an election, and ranges of keys.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::name::ElectionName;
use crate::value::LeaderValue;

/// The id of a lease. etcd takes any number but zero. The session draws positive ids: Go prints a
/// negative id with its sign, and would not find the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub i64);

impl fmt::Display for LeaseId {
    /// Prints the id as in keys: lower-case hexadecimal without padding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// The bytes of a key or a value. `Display` prints text, and `\x..` for other bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// Copies these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// Whether these bytes begin with `prefix`.
    #[must_use]
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl From<Bytes> for LeaderValue {
    fn from(bytes: Bytes) -> Self {
        bytes.0.into()
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Keys {
    One(Bytes),
    /// All keys with this prefix, which is not empty.
    Prefix(Bytes),
}

impl Keys {
    /// The first key, and the end of the range as in etcd's requests. The end is empty for one key,
    /// `\0` for "to the end of all keys", and otherwise the first key beyond the range.
    #[must_use]
    pub fn range(&self) -> (&[u8], Vec<u8>) {
        match self {
            Self::One(key) => (key.as_slice(), Vec::new()),
            Self::Prefix(prefix) => (prefix.as_slice(), prefix_end(prefix.as_slice())),
        }
    }

    /// Whether `key` belongs to these keys.
    #[must_use]
    pub fn contains(&self, key: &Bytes) -> bool {
        match self {
            Self::One(one) => key == one,
            Self::Prefix(prefix) => key.starts_with(prefix),
        }
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(key) => key.fmt(f),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// The end of a prefix's range: the prefix without trailing 0xFF bytes, with its last byte raised
/// by one.
fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    match prefix.iter().rposition(|byte| *byte < 0xff) {
        Some(last) => {
            let mut end: Vec<u8> = prefix.iter().take(last + 1).copied().collect();
            if let Some(byte) = end.last_mut() {
                *byte += 1;
            }
            end
        }
        None => [0].into(),
    }
}

/// The prefix of all keys of `election`: the namespace, the name, and a slash. Without the slash,
/// `test` would see the keys of `testa`.
pub(super) fn prefix(namespace: &str, election: &ElectionName) -> Bytes {
    format!("{namespace}{election}/").as_str().into()
}

pub(super) fn key(namespace: &str, election: &ElectionName, lease: LeaseId) -> Bytes {
    format!("{namespace}{election}/{lease}").as_str().into()
}

/// The id in a key: the lease id after the election's name.
pub(super) fn id(namespace: &str, election: &ElectionName, key: &Bytes) -> Arc<str> {
    let own = key.as_slice().strip_prefix(prefix(namespace, election).as_slice());
    own.unwrap_or(key.as_slice()).escape_ascii().to_string().into()
}

/// A key under an election's prefix that no candidate of this election has made. Candidates still
/// wait behind such a key, as Go's candidates do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Foreign {
    key: Bytes,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    /// The rest of the key is no lease id.
    Name { has_lease: Option<bool> },
    /// The rest of the key has a slash; `election` is the part before the last slash.
    Deeper { election: Arc<str> },
    /// The key has the name of a candidate's key, but no lease.
    Unleased,
}

impl Foreign {
    #[must_use]
    pub const fn key(&self) -> &Bytes {
        &self.key
    }

    /// Whether the owner of the key may lead. Another program may have written a candidate's key
    /// without its lease, or may name its keys in another way.
    pub(super) const fn may_lead(&self) -> bool {
        matches!(self.kind, Kind::Name { has_lease: Some(true) } | Kind::Unleased)
    }

    /// The reason why the key is foreign. For a key that no leader can need, the reason includes
    /// the commands to show and to delete the key.
    #[must_use]
    pub fn why(&self) -> Arc<str> {
        let key = shell_word(&self.key);
        let show = format!("look at the key with `etcdctl get {key}`");
        let delete = format!(
            "make sure that the process that made the key has ended, then delete the key with \
             `etcdctl del {key}`"
        );
        let name = "its name does not end in the id of a lease";
        match &self.kind {
            Kind::Name { has_lease: Some(true) } => {
                format!(
                    "{name}, but the key has a lease, so a leader of another program may own the \
                     key: {show}"
                )
            }
            Kind::Name { has_lease: Some(false) } => format!("{name}: {show}; {delete}"),
            Kind::Name { has_lease: None } => format!(
                "{name}: look at the key with `etcdctl get {key} --write-out=fields`. If its \
                 \"Lease\" is not 0, leave the key: a leader of another program may own it. If its \
                 \"Lease\" is 0, {delete}"
            ),
            Kind::Unleased => {
                format!("it has no lease, so etcd never deletes it by itself: {show}; {delete}")
            }
            Kind::Deeper { election } => format!(
                "a candidate of election {election} may have made it: rename one of the two \
                 elections; {show}"
            ),
        }
        .into()
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, .. } = self;
        write!(
            f,
            "key {key} belongs to no candidate, and candidates wait behind it: {}",
            self.why()
        )
    }
}

/// Returns the key as foreign if its name has not the form of a candidate's key, or if it has no
/// lease. `has_lease` is `None` if unknown. Only the form of the id is checked: a key keeps its
/// name when it moves to another lease.
pub(super) fn foreign(
    namespace: &str,
    election: &ElectionName,
    key: &Bytes,
    has_lease: Option<bool>,
) -> Option<Foreign> {
    let own = key.as_slice().strip_prefix(prefix(namespace, election).as_slice())?;
    let kind = match own.iter().rposition(|byte| *byte == b'/') {
        Some(last) => {
            let rest = own.iter().take(last).copied().collect::<Vec<u8>>();
            Kind::Deeper { election: format!("{election}/{}", rest.escape_ascii()).into() }
        }
        None => match (is_id(own), has_lease) {
            (false, has_lease) => Kind::Name { has_lease },
            (true, Some(false)) => Kind::Unleased,
            (true, _) => return None,
        },
    };
    Some(Foreign { key: key.clone(), kind })
}

/// Whether the text has the form in which Go and etcdctl print a lease id. They print negative ids,
/// too.
fn is_id(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(digits.len(), 1..=16)
        && digits.iter().all(is_digit)
        && digits.first().is_some_and(|first| *first != b'0')
}

/// The key as one word of a shell: unchanged, or in bash's quotes that accept `\x..`.
fn shell_word(key: &Bytes) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._:@%+=-".contains(byte);
    if key.as_slice().iter().all(is_plain) { key.to_string() } else { format!("$'{key}'") }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn keys_are_named_as_by_etcdctl() {
        let election = "test".parse().unwrap();
        assert_eq!(key("", &election, LeaseId(0x0069_4d0a)).to_string(), "test/694d0a");
        assert_eq!(key("app/", &election, LeaseId(1)).to_string(), "app/test/1");
        let keys = Keys::Prefix(prefix("", &election));
        assert!(keys.contains(&"test/1".into()) && !keys.contains(&"testa/1".into()));
    }

    #[test]
    fn leaders_are_named_by_lease() {
        let election = "shop/billing".parse().unwrap();
        assert_eq!(&*id("app/", &election, &"app/shop/billing/694d0a".into()), "694d0a");
        assert_eq!(&*id("", &election, &"elsewhere/1".into()), "elsewhere/1");
        assert_eq!(&*id("", &election, &Bytes::new(b"shop/billing/\xff")), "\\xff");
    }

    #[test]
    fn candidate_keys_end_in_ids() {
        let election = "shop".parse().unwrap();
        let why = |key: &str, has_lease| {
            foreign("app/", &election, &key.into(), has_lease).map(|found| found.why().to_string())
        };
        for id in ["1", "694d0a", "ffffffffffffffff", "-5"] {
            assert_eq!(why(&format!("app/shop/{id}"), Some(true)), None, "{id}");
            assert_eq!(why(&format!("app/shop/{id}"), None), None, "{id}");
        }
        let decimal = "7587889457811426053";
        for id in ["", "0", "012", "note", "694D0A", "-", "+5", "1ffffffffffffffff", decimal] {
            let key = format!("app/shop/{id}");
            let told = why(&key, Some(true)).unwrap();
            assert!(told.starts_with("its name does not end in the id of a lease, but"), "{told}");
            assert!(!told.contains("etcdctl del"), "{told}");
            let unknown = why(&key, None).unwrap();
            assert!(unknown.contains(r#"If its "Lease" is not 0, leave the key"#), "{unknown}");
        }
        assert_eq!(
            why("app/shop/note", Some(false)).unwrap(),
            "its name does not end in the id of a lease: look at the key with `etcdctl get \
             app/shop/note`; make sure that the process that made the key has ended, then delete \
             the key with `etcdctl del app/shop/note`"
        );
        assert_eq!(
            why("app/shop/694d0a", Some(false)).unwrap(),
            "it has no lease, so etcd never deletes it by itself: look at the key with `etcdctl \
             get app/shop/694d0a`; make sure that the process that made the key has ended, then \
             delete the key with `etcdctl del app/shop/694d0a`"
        );
        assert_eq!(
            why("app/shop/eu/7", None).unwrap(),
            "a candidate of election shop/eu may have made it: rename one of the two elections; \
             look at the key with `etcdctl get app/shop/eu/7`"
        );
        let quoted = why("app/shop/a b\n'", None).unwrap();
        assert!(quoted.contains(r"etcdctl del $'app/shop/a b\n\''"), "{quoted}");
    }

    #[test]
    fn prefixes_end_as_in_etcd() {
        let end = |prefix: &[u8]| Keys::Prefix(Bytes::new(prefix)).range().1;
        assert_eq!(end(b"test/"), b"test0");
        assert_eq!(end(b"a\xff\xff"), b"b");
        assert_eq!(end(b"\xff\xff"), vec![0]);
        assert_eq!(Keys::One("k".into()).range(), (&b"k"[..], vec![]));
    }

    #[test]
    fn foreign_bytes_print_on_one_line() {
        assert_eq!(Bytes::new(b"a\n\xff\x1b\"").to_string(), r#"a\n\xff\x1b\""#);
    }
}
