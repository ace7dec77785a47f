//! Settings of a node from variables and a file, as the command `tenure` reads them.

mod file;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tenure::settings::{DurationError, SecretFile, duration, without_mark};
use tenure_core::nerio::{Config, Quorums, members};
use tenure_core::{ClusterName, NodeName};

use self::file::SettingsFile;
use super::keys::Keys;

/// The settings of a node or a candidate of Nerio. A program may change what it reads before it
/// checks `config`.
///
/// | variable | |
/// |---|---|
/// | `TENURE_MEMBERS` | the members, `a=db-1.internal:7101,b=…`; must be set |
/// | `TENURE_CLUSTER`, `TENURE_QUORUMS`, `TENURE_DRIFT` | the same on every node, if they are set |
/// | `TENURE_LEASE`, `TENURE_LEASE_MAX`, `TENURE_GRACE`, `TENURE_KILL_MARGIN`, `TENURE_ROUND_TRIP`, `TENURE_REFRESH`, `TENURE_VERIFY_MAX` | spans of time: `5s`, `500ms` |
/// | `TENURE_NAME`, `TENURE_STATE` | of a member: its name, and its state directory |
/// | `TENURE_KEY_FILE` or `TENURE_KEYS` | a file with the keys, which only its owner and group read, or the keys themselves |
///
/// Variables that are not set have the default of the command, which is that of [`Config`]. In a
/// file they go by the names of the command's flags, `lease-max = "20s"`, and members by a list or
/// by a table.
///
/// ```
/// use tenure_nerio::Settings;
///
/// let variable = |name: &str| match name {
///     "TENURE_MEMBERS" => Some("a=db-1.internal:7101,b=10.0.0.2:7101,c=[fd00::3]:7101".into()),
///     "TENURE_LEASE" => Some("10s".into()),
///     _ => None,
/// };
/// let settings = Settings::read(variable)?;
/// assert_eq!(settings.config.delta_max.as_secs(), 20);
/// # Ok::<(), tenure_nerio::SettingsError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Members, lease and other times.
    pub config: Config,
    /// The name of the member, if the node is one.
    pub name: Option<NodeName>,
    /// The state directory.
    pub state: Option<PathBuf>,
    /// The keys that seal datagrams.
    pub keys: Option<Keys>,
}

/// Errors of settings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum SettingsError {
    #[error("{variable} is not set: {fix}")]
    Missing { variable: &'static str, fix: &'static str },
    #[error("{variable}: {what}")]
    Refused { variable: &'static str, what: String },
    #[error("the keys are set twice, by TENURE_KEYS and by TENURE_KEY_FILE: unset one of them")]
    Twice,
    /// The settings file cannot be used, or what it sets.
    #[error("the settings file {path} {what}", path = path.display())]
    File { path: PathBuf, what: String },
    /// The file of the keys cannot be used.
    #[error("the key file {path} {what}", path = path.display())]
    KeyFile { path: PathBuf, what: String },
}

impl Settings {
    /// All variables that are read.
    pub const VARIABLES: [&str; 15] = [
        "TENURE_MEMBERS",
        "TENURE_CLUSTER",
        "TENURE_QUORUMS",
        "TENURE_DRIFT",
        "TENURE_LEASE",
        "TENURE_LEASE_MAX",
        "TENURE_VERIFY_MAX",
        "TENURE_GRACE",
        "TENURE_KILL_MARGIN",
        "TENURE_ROUND_TRIP",
        "TENURE_REFRESH",
        "TENURE_NAME",
        "TENURE_STATE",
        "TENURE_KEY_FILE",
        "TENURE_KEYS",
    ];

    /// Reads the variables of this process, and the file of the keys.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(|name| env::var_os(name))
    }

    /// Reads a settings file, TOML, as the command does; what variables of this process set counts
    /// more. Keys themselves stand in no settings file, but `key-file` does. A setting that the
    /// table does not have is refused: the command's file may have more than that.
    pub fn from_file(path: &Path) -> Result<Self, SettingsError> {
        Self::of_file(path, |name| env::var_os(name))
    }

    fn of_file(
        path: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingsError> {
        let wrong = |what| SettingsError::File { path: path.to_owned(), what };
        let file = SettingsFile::read(path).map_err(wrong)?;
        let both = ["TENURE_KEY_FILE", "TENURE_KEYS"];
        let has_keys = both.iter().any(|name| variable(name).is_some());
        let read = |name: &str| {
            let hidden = has_keys && both.contains(&name);
            let said = || file.value(name).filter(|_| !hidden).map(OsString::from);
            variable(name).or_else(said)
        };
        Self::read(read).map_err(|error| match error {
            SettingsError::Refused { variable: name, what }
                if variable(name).is_none() && file.value(name).is_some() =>
            {
                wrong(format!("sets {}: {what}", file::key(name)))
            }
            SettingsError::Missing { variable, fix } => {
                wrong(format!("sets no {}: {fix}", file::key(variable)))
            }
            other => other,
        })
    }

    /// The same of variables that `variable` gives.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let read = Variables(&variable);
        let list = read.text("TENURE_MEMBERS")?.ok_or(SettingsError::Missing {
            variable: "TENURE_MEMBERS",
            fix: "list the members, such as a=db-1.internal:7101,b=db-2.internal:7101",
        })?;
        let list = members(&list).map_err(|error| refused("TENURE_MEMBERS", error))?;
        let cluster = match read.parsed::<ClusterName>("TENURE_CLUSTER")? {
            Some(cluster) => cluster,
            None => "tenure".parse().map_err(|error| refused("TENURE_CLUSTER", error))?,
        };
        let mut config = Config::new(cluster, list);
        if let Some(quorums) = read.text("TENURE_QUORUMS")? {
            config.quorums = Quorums::parse(&quorums, &config.names())
                .map_err(|error| refused("TENURE_QUORUMS", error))?;
        }
        if let Some(lease) = read.span("TENURE_LEASE")? {
            config = config.with_lease(lease);
        }
        for (variable, span) in [
            ("TENURE_LEASE_MAX", &mut config.delta_max),
            ("TENURE_VERIFY_MAX", &mut config.verify_max),
            ("TENURE_GRACE", &mut config.grace),
            ("TENURE_KILL_MARGIN", &mut config.kill_margin),
            ("TENURE_ROUND_TRIP", &mut config.round_trip),
            ("TENURE_REFRESH", &mut config.refresh),
        ] {
            *span = read.span(variable)?.unwrap_or(*span);
        }
        config.drift = read.parsed("TENURE_DRIFT")?.unwrap_or(config.drift);
        let name = read.parsed("TENURE_NAME")?;
        let state = variable("TENURE_STATE");
        if state.as_ref().is_some_and(|state| state.is_empty()) {
            return Err(refused("TENURE_STATE", "the path is empty: name a directory"));
        }
        Ok(Self { config, name, state: state.map(PathBuf::from), keys: read.keys()? })
    }
}

struct Variables<'a, F>(&'a F);

impl<F: Fn(&str) -> Option<OsString>> Variables<'_, F> {
    fn text(&self, variable: &'static str) -> Result<Option<String>, SettingsError> {
        let text = (self.0)(variable).map(OsString::into_string).transpose();
        let text = text.map_err(|_| refused(variable, "it is not UTF-8"))?;
        Ok(text.map(|text| without_mark(&text).to_owned()))
    }

    fn parsed<T: FromStr<Err: ToString>>(
        &self,
        variable: &'static str,
    ) -> Result<Option<T>, SettingsError> {
        let text = self.text(variable)?;
        text.map(|text| text.parse().map_err(|error: T::Err| refused(variable, error))).transpose()
    }

    fn span(&self, variable: &'static str) -> Result<Option<Duration>, SettingsError> {
        let wrong = |error| refused(variable, format!("{error}: {}", DurationError::FIX));
        self.text(variable)?.map(|text| duration(&text).map_err(wrong)).transpose()
    }

    fn keys(&self) -> Result<Option<Keys>, SettingsError> {
        let file = (self.0)("TENURE_KEY_FILE").map(PathBuf::from);
        match (file, self.text("TENURE_KEYS")?) {
            (Some(_), Some(_)) => Err(SettingsError::Twice),
            (None, None) => Ok(None),
            (Some(path), None) => match of_file(&path) {
                Ok(keys) => Ok(Some(keys)),
                Err(what) => Err(SettingsError::KeyFile { path, what }),
            },
            (None, Some(text)) => {
                Keys::parse(&text).map(Some).map_err(|error| refused("TENURE_KEYS", error))
            }
        }
    }
}

fn of_file(path: &Path) -> Result<Keys, String> {
    let SecretFile { bytes, mode } = SecretFile::read(path)?;
    if SecretFile::is_open(mode) {
        return Err(format!(
            "can be read or changed by other users, its mode is {mode:o}: run chmod 600 on it"
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    Keys::parse(&text).map_err(|error| format!("cannot be used: {error}"))
}

fn refused(variable: &'static str, what: impl ToString) -> SettingsError {
    SettingsError::Refused { variable, what: what.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const MEMBERS: &str = "a=db-1:7101,b=db-2:7101,c=db-3:7101";

    fn read(set: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| text.into())
        })
    }

    fn wrong(variable: &str, text: &str) -> String {
        read(&[("TENURE_MEMBERS", MEMBERS), (variable, text)]).unwrap_err().to_string()
    }

    #[test]
    fn unset_variables_have_defaults() {
        let settings = read(&[("TENURE_MEMBERS", MEMBERS)]).unwrap();
        let config = Config::new("tenure".parse().unwrap(), members(MEMBERS).unwrap());
        assert_eq!(settings, Settings { config, name: None, state: None, keys: None });
    }

    #[test]
    fn all_that_are_read_are_listed() {
        let asked = std::cell::RefCell::new(Vec::new());
        let read = Settings::read(|name| {
            asked.borrow_mut().push(name.to_owned());
            (name == "TENURE_MEMBERS").then(|| MEMBERS.into())
        });
        assert!(read.is_ok());
        let mut asked = asked.into_inner();
        let mut listed = Settings::VARIABLES.to_vec();
        asked.sort_unstable();
        listed.sort_unstable();
        assert_eq!(asked, listed);
    }

    #[test]
    fn error_names_variable_and_fix() {
        assert_eq!(
            read(&[]).unwrap_err().to_string(),
            "TENURE_MEMBERS is not set: list the members, such as \
             a=db-1.internal:7101,b=db-2.internal:7101"
        );
        assert_eq!(
            wrong("TENURE_LEASE", "5"),
            "TENURE_LEASE: the unit is missing: write a number and a unit, such as 500ms, 5s or 2m"
        );
        assert_eq!(wrong("TENURE_NAME", ""), "TENURE_NAME: a node's name is empty");
        assert!(wrong("TENURE_STATE", "").contains("the path is empty"));
        assert!(wrong("TENURE_QUORUMS", "sets:a,b").contains("no member in common"));
        assert!(wrong("TENURE_KEYS", "x").starts_with("TENURE_KEYS: "));
        assert!(wrong("TENURE_KEY_FILE", "/nowhere").contains("/nowhere cannot be read: "));
    }

    fn file(text: &str, set: &[(&str, &str)]) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.toml");
        fs::write(&path, text).unwrap();
        let variable = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| text.into())
        };
        let read = Settings::of_file(&path, variable);
        read.map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    #[test]
    fn variables_override_file() {
        let text = "name = \"b\"\nlease = \"10s\"\ndrift = 0.02\n\n[members]\nb = \"db-2:7101\"\n\
                    a = \"db-1:7101\"\nc = \"db-3:7101\"\n";
        let settings = file(text, &[("TENURE_LEASE", "7s")]).unwrap();
        let list = ("TENURE_MEMBERS", "b=db-2:7101,a=db-1:7101,c=db-3:7101");
        let same = [list, ("TENURE_NAME", "b"), ("TENURE_LEASE", "7s"), ("TENURE_DRIFT", "0.02")];
        assert_eq!(settings, read(&same).unwrap());
        assert_eq!(
            file("", &[("TENURE_MEMBERS", MEMBERS)]),
            read(&[("TENURE_MEMBERS", MEMBERS)]).map_err(|error| error.to_string())
        );
    }

    #[test]
    fn file_error_names_line() {
        let wrong = |text: &str| file(text, &[("TENURE_MEMBERS", MEMBERS)]).unwrap_err();
        assert_eq!(
            wrong("lease = \"5\""),
            "the settings file FILE sets lease: the unit is missing: write a number and a unit, \
             such as 500ms, 5s or 2m"
        );
        assert_eq!(
            wrong("name = \"a\"\nlease-mx = \"5s\""),
            "the settings file FILE line 2: lease-mx is no setting of a node in the library: \
             remove it"
        );
        assert!(wrong("keys = \"x\"").contains("line 1: keys is no setting"));
        assert!(wrong("name = true").contains("line 1: name is of the wrong type"));
        assert!(wrong("name = ").contains("FILE is not TOML in line 1: "));
        let none = file("name = \"a\"", &[]).unwrap_err();
        assert!(none.starts_with("the settings file FILE sets no members: list the members"));
        let gone = Settings::from_file(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(gone.starts_with("the settings file /nowhere cannot be read: "), "{gone}");
    }

    #[test]
    fn open_key_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let key = super::super::keys::ClusterKey::generate("x".parse().unwrap()).unwrap();
        fs::write(&path, key.to_line()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let shown = path.display().to_string();
        let said = wrong("TENURE_KEY_FILE", &shown);
        assert!(said.contains("other users, its mode is 644: run chmod 600 on it"), "{said}");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let settings = read(&[("TENURE_MEMBERS", MEMBERS), ("TENURE_KEY_FILE", &shown)]).unwrap();
        assert_eq!(settings.keys, Some(key.into()));
    }
}
