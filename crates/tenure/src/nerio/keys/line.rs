//! Keys as text.

use std::fmt::Write;

use tenure_core::{ClusterName, NameError, NodeName};

use super::{
    ApplicationKey, ClusterKey, Elections, ElectionsError, Grant, KEYS_MAX, Keys, Secret, derive,
};

const CLUSTER: &str = "tenure-cluster-key-1";
const APPLICATION: &str = "tenure-application-key-1";

/// Why a text holds no keys. It never shows any of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no line with a key.
    #[error("it holds no key")]
    Empty,
    /// There are more keys than two.
    #[error(
        "it holds {count} keys; at most {KEYS_MAX} are allowed: the one that is used, and one \
             that is accepted beside it"
    )]
    TooMany {
        /// How many.
        count: usize,
    },
    /// A line is no key.
    #[error("line {line} is no key: a key is what tenure keys new or tenure keys issue prints")]
    Form {
        /// Which line.
        line: usize,
    },
    /// A line has a key of another version.
    #[error("line {line} has a key of a form that this version of tenure does not know")]
    Version {
        /// Which line.
        line: usize,
    },
    /// A line was damaged or cut.
    #[error("line {line}: its {part} is not {digits} hexadecimal digits: it was damaged or cut")]
    Digits {
        /// Which line.
        line: usize,
        /// Which word of it.
        part: &'static str,
        /// How many there should be.
        digits: usize,
    },
    /// A name in a line cannot be one.
    #[error("line {line}: {error}")]
    Name {
        /// Which line.
        line: usize,
        /// Why.
        error: NameError,
    },
    /// The elections in a line cannot be any.
    #[error("line {line}: the elections: {error}")]
    Elections {
        /// Which line.
        line: usize,
        /// Why.
        error: ElectionsError,
    },
    /// Two keys of which one cannot take the place of the other.
    #[error("its two keys are of different {what}: one can only take the place of its like")]
    Mixed {
        /// What differs.
        what: &'static str,
    },
}

pub(super) fn parse(text: &str) -> Result<Keys, KeyError> {
    let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_key(line));
    let lines: Vec<_> = lines.map(|(nth, line)| (nth + 1, line)).collect();
    if lines.len() > KEYS_MAX {
        return Err(KeyError::TooMany { count: lines.len() });
    }
    let mut keys: Option<Keys> = None;
    for (nth, line) in lines {
        let key = one(nth, line)?;
        keys = Some(match keys {
            None => key,
            Some(before) => join(before, key)?,
        });
    }
    keys.ok_or(KeyError::Empty)
}

fn one(line: usize, text: &str) -> Result<Keys, KeyError> {
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    let name = |error| KeyError::Name { line, error };
    let secret =
        |digits: &str, part| unhex(digits).ok_or(KeyError::Digits { line, part, digits: 64 });
    match words[..] {
        [CLUSTER, cluster, digits] => {
            let cluster = ClusterName::new(cluster).map_err(name)?;
            let secret = Secret(secret(digits, "secret")?);
            Ok(ClusterKey::of(cluster, secret).into())
        }
        [APPLICATION, cluster, application, elections, digits, members] => {
            let cluster = ClusterName::new(cluster).map_err(name)?;
            let application = NodeName::new(application).map_err(name)?;
            let elections: Result<Elections, _> = elections.parse();
            let elections = elections.map_err(|error| KeyError::Elections { line, error })?;
            let (secret, members) =
                (Secret(secret(digits, "secret")?), secret(members, "last word")?);
            let grant = Grant { application, elections }.into();
            let id = derive::id(&members);
            Ok(ApplicationKey { cluster, grant, secret, members, id }.into())
        }
        [kind, ..] if is_other_version(kind) => Err(KeyError::Version { line }),
        _ => Err(KeyError::Form { line }),
    }
}

fn is_other_version(kind: &str) -> bool {
    let other = |known: &str| kind != known && kind.starts_with(known.trim_end_matches('1'));
    other(CLUSTER) || other(APPLICATION)
}

fn join(first: Keys, second: Keys) -> Result<Keys, KeyError> {
    if first.cluster() != second.cluster() {
        return Err(KeyError::Mixed { what: "clusters" });
    }
    match (first, second) {
        (Keys::Cluster(mut keys), Keys::Cluster(more)) => {
            keys.extend(more);
            Ok(Keys::Cluster(keys))
        }
        (Keys::Application(mut keys), Keys::Application(more)) => {
            let application =
                |keys: &[ApplicationKey]| keys.first().map(|key| key.grant.application.clone());
            if application(&keys) != application(&more) {
                return Err(KeyError::Mixed { what: "applications" });
            }
            keys.extend(more);
            Ok(Keys::Application(keys))
        }
        _ => Err(KeyError::Mixed { what: "kinds" }),
    }
}

impl ClusterKey {
    /// The line that [`Keys::parse`] reads. It is the secret.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!("{CLUSTER} {} {}", self.cluster, hex(&self.secret.0))
    }
}

impl ApplicationKey {
    /// The line that [`Keys::parse`] reads. It is the secret.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Grant { application, elections } = &*self.grant;
        let (secret, members) = (hex(&self.secret.0), hex(&self.members));
        format!("{APPLICATION} {} {application} {elections} {secret} {members}", self.cluster)
    }
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Cannot fail: a text grows.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<_> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::try_from(pair[0] * 16 + pair[1]).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "07070707070707070707070707070707\
                          07070707070707070707070707070707";

    fn cluster(name: &str) -> ClusterKey {
        match parse(&format!("{CLUSTER} {name} {SECRET}")).unwrap() {
            Keys::Cluster(keys) => keys[0].clone(),
            Keys::Application(_) => panic!("of a cluster"),
        }
    }

    /// Files with keys outlive versions of tenure.
    #[test]
    fn a_key_is_this_line() {
        assert_eq!(cluster("prod").to_line(), format!("tenure-cluster-key-1 prod {SECRET}"));
        let key = cluster("prod").issue("billing".parse().unwrap(), "billing/*".parse().unwrap());
        let line = "tenure-application-key-1 prod billing billing/* \
                    f7ed8d411f1f0adbc15384ebd0f8c24dfc0eb4bbe825a3623b9e5d44a125a5ce \
                    7aa7faac7bbf2725ce24f13e11e83e044ec7ebfa3d2127b333aee8f5501bc461";
        assert_eq!(key.to_line(), line);
        assert_eq!(key.id().to_string(), "2e6c0c09");
        assert_eq!(parse(&key.to_line()), Ok(Keys::Application(vec![key])));
    }

    #[test]
    fn comments_and_empty_lines_are_left_out_and_two_keys_stay_in_order() {
        let (new, old) = (cluster("prod"), ClusterKey::generate("prod".parse().unwrap()).unwrap());
        let text = format!("# new\n{}\r\n\n # old\n{}\n", new.to_line(), old.to_line());
        assert_eq!(parse(&text), Ok(Keys::Cluster(vec![new, old])));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_text() {
        let line = cluster("prod").to_line();
        let other = cluster("test").to_line();
        let application =
            cluster("prod").issue("a".parse().unwrap(), "*".parse().unwrap()).to_line();
        let texts = [
            String::new(),
            "hello".into(),
            format!("{line} more"),
            line[..line.len() - 1].to_owned(),
            line.replace("prod", "pr/d"),
            line.replace("key-1", "key-2"),
            application.replace(" * ", " ** "),
            format!("{line}\n{line}\n{line}"),
            format!("{line}\n{other}"),
            format!("{line}\n{application}"),
        ];
        let told: Vec<_> = texts.iter().map(|text| parse(text).unwrap_err().to_string()).collect();
        assert!(told.iter().all(|told| !told.contains("0707")), "{told:?}");
        let begins = [
            "it holds no key",
            "line 1 is no key",
            "line 1 is no key",
            "line 1: its secret is not 64",
            "line 1: a cluster's name may hold",
            "line 1 has a key of a form",
            "line 1: the elections: \"**\" is no election",
            "it holds 3 keys",
            "its two keys are of different clusters",
            "its two keys are of different kinds",
        ];
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}");
        }
    }
}
