//! The text form of keys: a line for each key, and the line `accept-unsealed`.

use std::fmt::Write;

use tenure_core::{ClusterName, NameError, NodeName};

use super::{
    ApplicationKey, ClusterKey, Elections, ElectionsError, Grant, HeldKeys, KEYS_MAX, Keys, Rights,
    RightsError, Secret, derive, elections,
};

const CLUSTER: &str = "tenure-cluster-key-1";
const APPLICATION: &str = "tenure-application-key-1";
const WITH_RIGHTS: &str = "tenure-application-key-2";
const ACCEPT_UNSEALED: &str = "accept-unsealed";

/// Errors of a text with keys. No error shows any of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    #[error("no line holds a key")]
    Empty,
    #[error(
        "{count} lines hold keys; at most {KEYS_MAX} may: the key that this process uses, and one \
         more that it accepts"
    )]
    TooMany { count: usize },
    #[error("line {line} is no key: a key is what tenure keys new or tenure keys issue prints")]
    Form { line: usize },
    #[error("line {line} has a key of a form that this version of tenure does not know")]
    Version { line: usize },
    #[error(
        "line {line}: its {part} is not {digits} hexadecimal digits: the line was damaged or \
             cut"
    )]
    Digits { line: usize, part: &'static str, digits: usize },
    #[error("line {line}: {error}")]
    Name { line: usize, error: NameError },
    #[error("line {line}: the elections: {error}")]
    Elections { line: usize, error: ElectionsError },
    #[error("line {line}: the rights: {error}")]
    Rights { line: usize, error: RightsError },
    #[error("two keys of different {what} cannot replace each other")]
    Mixed { what: &'static str },
}

pub(super) fn parse(text: &str) -> Result<Keys, KeyError> {
    let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_key(line));
    let (lines, more): (Vec<_>, Vec<_>) =
        lines.map(|(nth, line)| (nth + 1, line)).partition(|(_, line)| *line != ACCEPT_UNSEALED);
    if lines.len() > KEYS_MAX {
        return Err(KeyError::TooMany { count: lines.len() });
    }
    let mut keys: Option<HeldKeys> = None;
    for (nth, line) in lines {
        let key = one(nth, line)?;
        keys = Some(match keys {
            None => key,
            Some(before) => join(before, key)?,
        });
    }
    let keys: Keys = keys.ok_or(KeyError::Empty)?.into();
    Ok(keys.accept_unsealed(!more.is_empty()))
}

fn one(line: usize, text: &str) -> Result<HeldKeys, KeyError> {
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    let name = |error| KeyError::Name { line, error };
    match words[..] {
        [CLUSTER, cluster, digits] => {
            let cluster = ClusterName::new(cluster).map_err(name)?;
            let secret = Secret(secret(line, digits, "secret")?);
            Ok(HeldKeys::Cluster(vec![ClusterKey::of(cluster, secret)]))
        }
        [APPLICATION, cluster, application, elections, digits, members] => {
            let of = [cluster, application, elections];
            application_key(line, of, Rights::USUAL, [digits, members])
        }
        [WITH_RIGHTS, cluster, application, elections, rights, digits, members] => {
            let rights: Result<Rights, _> = rights.parse();
            let rights = rights.map_err(|error| KeyError::Rights { line, error })?;
            application_key(line, [cluster, application, elections], rights, [digits, members])
        }
        [kind, ..] if is_other_version(kind) => Err(KeyError::Version { line }),
        _ => Err(KeyError::Form { line }),
    }
}

fn application_key(
    line: usize,
    [cluster, application, elections]: [&str; 3],
    rights: Rights,
    [digits, members]: [&str; 2],
) -> Result<HeldKeys, KeyError> {
    let name = |error| KeyError::Name { line, error };
    let of_elections = |error| KeyError::Elections { line, error };
    let cluster = ClusterName::new(cluster).map_err(name)?;
    let application = NodeName::new(application).map_err(name)?;
    let elections: Elections = elections.parse().map_err(of_elections)?;
    let digits = Secret(secret(line, digits, "secret")?);
    let members = secret(line, members, "last word")?;
    let grant = Grant { application, elections, rights };
    elections::check_room(&grant).map_err(of_elections)?;
    let id = derive::id(&members);
    let key = ApplicationKey { cluster, grant: grant.into(), secret: digits, members, id };
    Ok(HeldKeys::Application(vec![key]))
}

fn secret(line: usize, digits: &str, part: &'static str) -> Result<[u8; 32], KeyError> {
    unhex(digits).ok_or(KeyError::Digits { line, part, digits: 64 })
}

fn is_other_version(kind: &str) -> bool {
    let known = [CLUSTER, APPLICATION, WITH_RIGHTS].contains(&kind);
    let other = |form: &str| !known && kind.starts_with(form.trim_end_matches('1'));
    other(CLUSTER) || other(APPLICATION)
}

fn join(first: HeldKeys, second: HeldKeys) -> Result<HeldKeys, KeyError> {
    if first.cluster() != second.cluster() {
        return Err(KeyError::Mixed { what: "clusters" });
    }
    match (first, second) {
        (HeldKeys::Cluster(mut keys), HeldKeys::Cluster(more)) => {
            keys.extend(more);
            Ok(HeldKeys::Cluster(keys))
        }
        (HeldKeys::Application(mut keys), HeldKeys::Application(more)) => {
            let application =
                |keys: &[ApplicationKey]| keys.first().map(|key| key.grant.application.clone());
            if application(&keys) != application(&more) {
                return Err(KeyError::Mixed { what: "applications" });
            }
            keys.extend(more);
            Ok(HeldKeys::Application(keys))
        }
        _ => Err(KeyError::Mixed { what: "kinds" }),
    }
}

impl ClusterKey {
    /// The line that [`Keys::parse`] reads. Keep this line secret.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!("{CLUSTER} {} {}", self.cluster, hex(&self.secret.0))
    }
}

impl ApplicationKey {
    /// The line that [`Keys::parse`] reads. Keep this line secret.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Grant { application, elections, rights } = &*self.grant;
        let (form, rights) = match *rights {
            Rights::USUAL => (APPLICATION, String::new()),
            rights => (WITH_RIGHTS, format!("{rights} ")),
        };
        let secret = hex(&self.secret.0);
        let members = hex(&self.members);
        format!("{form} {} {application} {elections} {rights}{secret} {members}", self.cluster)
    }
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to memory cannot fail.
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
        match parse(&format!("{CLUSTER} {name} {SECRET}")).unwrap().held() {
            HeldKeys::Cluster(keys) => keys[0].clone(),
            HeldKeys::Application(_) => panic!("of a cluster"),
        }
    }

    /// Files with keys outlive versions of Tenure, so the form of a key must never change.
    #[test]
    fn a_key_is_this_line() {
        assert_eq!(cluster("prod").to_line(), format!("tenure-cluster-key-1 prod {SECRET}"));
        let key = cluster("prod").issue("billing".parse().unwrap(), "billing/*".parse().unwrap());
        let line = "tenure-application-key-1 prod billing billing/* \
                    f7ed8d411f1f0adbc15384ebd0f8c24dfc0eb4bbe825a3623b9e5d44a125a5ce \
                    7aa7faac7bbf2725ce24f13e11e83e044ec7ebfa3d2127b333aee8f5501bc461";
        assert_eq!(key.to_line(), line);
        assert_eq!(key.id().to_string(), "2e6c0c09");
        assert_eq!(parse(&key.to_line()), Ok(key.into()));
    }

    /// A key with other rights than the usual ones has a form of its own.
    #[test]
    fn key_with_rights_has_line() {
        let key = |elections: &str, rights: &str| {
            let application = "billing".parse().unwrap();
            let elections = elections.parse().unwrap();
            cluster("prod").issue_with(Grant {
                application,
                elections,
                rights: rights.parse().unwrap(),
            })
        };
        let line = |rights| key("billing/*", rights).unwrap().to_line();
        let expected = "tenure-application-key-2 prod billing billing/* contend,ask,resign \
                        b9ea8ffc030bc25e1deedd33ec9164124996d745d4f339ff3c01d9c63d142ff1 \
                        7aa7faac7bbf2725ce24f13e11e83e044ec7ebfa3d2127b333aee8f5501bc461";
        assert_eq!(line("resign,ask,contend"), expected);
        assert!(
            line("ask,contend").starts_with("tenure-application-key-1 prod billing billing/* f7")
        );
        for rights in ["ask", "contend,ask,resign", "ask,members"] {
            let key = key("billing/*", rights).unwrap();
            assert_eq!(parse(&key.to_line()), Ok(key.into()));
        }
        let long = "e".repeat(60) + "," + &"f".repeat(60) + "," + &"g".repeat(60);
        assert!(key(&long, "ask").is_ok());
        let wider = parse(&line("ask").replace(" ask ", " resign "));
        assert_eq!(wider.unwrap_err().to_string().split(':').nth(1), Some(" the rights"));
    }

    #[test]
    fn comments_are_skipped_and_order_kept() {
        let new = cluster("prod");
        let old = ClusterKey::generate("prod".parse().unwrap()).unwrap();
        let text = format!("# new\n{}\r\n\n # old\n{}\n", new.to_line(), old.to_line());
        assert_eq!(parse(&text), Ok(HeldKeys::Cluster(vec![new, old]).into()));
    }

    #[test]
    fn accept_unsealed_is_a_line() {
        let line = cluster("prod").to_line();
        assert!(!parse(&line).unwrap().accepts_unsealed());
        for text in [format!("{line}\naccept-unsealed\n"), format!("accept-unsealed\n{line}")] {
            assert_eq!(parse(&text), Ok(Keys::from(cluster("prod")).accept_unsealed(true)));
        }
        assert_eq!(parse("accept-unsealed"), Err(KeyError::Empty));
        assert_eq!(parse(&format!("{line}\naccept-all")), Err(KeyError::Form { line: 2 }));
    }

    #[test]
    fn errors_never_show_text() {
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
            "no line holds a key",
            "line 1 is no key",
            "line 1 is no key",
            "line 1: its secret is not 64",
            "line 1: the name of a cluster or group may hold",
            "line 1 has a key of a form",
            "line 1: the elections: \"**\" is no election",
            "3 lines hold keys",
            "two keys of different clusters",
            "two keys of different kinds",
        ];
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}");
        }
    }
}
