//! The subjects of a cluster.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tenure_core::ClusterName;
use tenure_core::allcall::Body;

/// The beginning of all subjects of elections: one or more words of letters, digits, `_` and `-`
/// with dots between them, at most 64 bytes. Default `tenure`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SubjectPrefix(Arc<str>);

impl SubjectPrefix {
    pub const MAX_BYTES: usize = 64;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SubjectPrefix {
    fn default() -> Self {
        Self("tenure".into())
    }
}

impl fmt::Display for SubjectPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SubjectPrefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PrefixError::TooLong { bytes: text.len() });
        }
        let is_right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if let Some(found) = text.chars().find(|c| !is_right(*c)) {
            return Err(PrefixError::Character { found });
        }
        if text.split('.').any(str::is_empty) {
            return Err(PrefixError::EmptyWord);
        }
        Ok(Self(text.into()))
    }
}

/// The reason why a text is no [`SubjectPrefix`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PrefixError {
    #[error(
        "a subject prefix has at most {} bytes; this one has {bytes}",
        SubjectPrefix::MAX_BYTES
    )]
    TooLong { bytes: usize },
    #[error(
        "a subject prefix may hold letters, digits, _ and -, with dots between words; {found:?} is \
             not allowed"
    )]
    Character { found: char },
    #[error(
        "a subject prefix needs a word before, between and after its dots, such as tenure or \
         shop.elections"
    )]
    EmptyWord,
}

/// The subjects for packets of one cluster: `PREFIX.CLUSTER.KIND`, where KIND is `ask`, `call`,
/// `reply` or `resign`. Each kind has its own subject, so that a server's permissions can tell
/// askers, which change nothing, from participants.
///
/// A dot in the cluster's name becomes `=`, which no cluster's name may contain. With the dot, two
/// clusters could share a subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subjects {
    /// `PREFIX.CLUSTER.`
    stem: Arc<str>,
    kinds: [Arc<str>; 4],
}

/// Kinds of packets, each with its subject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Ask,
    Call,
    Reply,
    Resign,
}

impl Kind {
    /// All kinds, in the order in which they are declared.
    pub const ALL: [Self; 4] = [Self::Ask, Self::Call, Self::Reply, Self::Resign];

    /// The last word of this kind's subject.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Call => "call",
            Self::Reply => "reply",
            Self::Resign => "resign",
        }
    }

    #[must_use]
    pub const fn of(body: &Body) -> Self {
        match body {
            Body::Ask(_) => Self::Ask,
            Body::Call(_) => Self::Call,
            Body::Reply(_) => Self::Reply,
            Body::Resign(_) => Self::Resign,
        }
    }
}

impl Subjects {
    /// The subjects of `cluster`.
    #[must_use]
    pub fn new(prefix: &SubjectPrefix, cluster: &ClusterName) -> Self {
        let stem = format!("{prefix}.{}.", cluster.as_str().replace('.', "="));
        let kinds = Kind::ALL.map(|kind| format!("{stem}{}", kind.word()).into());
        Self { stem: stem.into(), kinds }
    }

    #[must_use]
    pub fn of(&self, kind: Kind) -> &str {
        let [ask, call, reply, resign] = &self.kinds;
        match kind {
            Kind::Ask => ask,
            Kind::Call => call,
            Kind::Reply => reply,
            Kind::Resign => resign,
        }
    }

    /// The subscription: `PREFIX.CLUSTER.*`.
    #[must_use]
    pub fn all(&self) -> String {
        format!("{}*", self.stem)
    }

    /// The kind of packets on `subject`, if it is a subject of this cluster.
    #[must_use]
    pub fn kind(&self, subject: &str) -> Option<Kind> {
        let word = subject.strip_prefix(&*self.stem)?;
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(prefix: &str, cluster: &str) -> Subjects {
        Subjects::new(&prefix.parse().unwrap(), &cluster.parse().unwrap())
    }

    #[test]
    fn kinds_match_their_subjects() {
        let own = subjects("tenure", "prod");
        assert_eq!(own.all(), "tenure.prod.*");
        assert_eq!(own.of(Kind::Call), "tenure.prod.call");
        for kind in Kind::ALL {
            assert_eq!(own.kind(own.of(kind)), Some(kind));
        }
        for other in ["tenure.prod", "tenure.prod.calls", "tenure.prod.call.x", "tenure.other.call"]
        {
            assert_eq!(own.kind(other), None, "{other}");
        }
    }

    #[test]
    fn two_clusters_never_share_a_subject() {
        let dotted = subjects("tenure", "eu.prod");
        assert_eq!(dotted.of(Kind::Ask), "tenure.eu=prod.ask");
        assert_ne!(dotted.all(), subjects("tenure.eu", "prod").all());
        assert_ne!(dotted.all(), subjects("tenure", "eu_prod").all());
    }

    #[test]
    fn unusable_prefix_is_refused() {
        let told = |text: &str| text.parse::<SubjectPrefix>().unwrap_err().to_string();
        assert!(told("a.*").contains("'*' is not allowed"));
        assert!(told("a b").contains("' ' is not allowed"));
        for text in ["", ".a", "a.", "a..b"] {
            assert_eq!(text.parse::<SubjectPrefix>(), Err(PrefixError::EmptyWord), "{text}");
        }
        assert_eq!(told(&"a".repeat(65)), "a subject prefix has at most 64 bytes; this one has 65");
        assert_eq!("shop.elections".parse::<SubjectPrefix>().unwrap().as_str(), "shop.elections");
    }
}
