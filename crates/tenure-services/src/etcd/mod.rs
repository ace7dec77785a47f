//! etcd: two versions of it, and clusters of either.

mod cluster;
mod config;
mod member;
mod restore;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use cluster::Cluster;
pub use config::{ClientCertificate, ClusterConfig, Host, Tls};
pub use member::{Member, Status};
pub use restore::Restore;

use crate::error::Error;
use crate::{debian, go, place, tool};

/// What [`Version::Newest`] is: the newest that was looked at. `cargo xtask facts etcd --newest
/// latest` looks at a newer one, before this line is changed.
const NEWEST: &str = "v3.7.3";

/// The variable that puts another version of the Go module (`v3.8.0`) in the place of
/// [`Version::Newest`].
pub const NEWEST_VARIABLE: &str = "TENURE_ETCD_NEWEST";

const SERVER: &str = "go.etcd.io/etcd/server/v3";
const PROGRAMS: [(&str, &str); 3] = [
    (SERVER, "etcd"),
    ("go.etcd.io/etcd/etcdctl/v3", "etcdctl"),
    ("go.etcd.io/etcd/etcdutl/v3", "etcdutl"),
];

/// A version of etcd that tests run against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 3.4, from Debian 12: the oldest that is in wide use.
    Debian34,
    /// The newest, built from its Go module.
    Newest,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 2] = [Self::Debian34, Self::Newest];

    /// Its number as far as it is known before it is installed: `3.4` or `3.7.3`.
    #[must_use]
    pub fn number(self) -> String {
        match self {
            Self::Debian34 => "3.4".to_owned(),
            Self::Newest => module_version().trim_start_matches('v').to_owned(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "etcd {}", self.number())
    }
}

/// The programs of one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binaries {
    /// The server.
    pub etcd: PathBuf,
    /// The client.
    pub etcdctl: PathBuf,
    /// What restores snapshots; before 3.5 the client does.
    pub etcdutl: Option<PathBuf>,
}

/// Gets `version` into `target/services` of the workspace, unless it is there: seconds for
/// Debian's, a minute or two for the newest. Two processes at once do no harm.
///
/// # Errors
///
/// When it is not there and cannot be got: no `apt-get`, no `go`, no network. The error says what
/// is missing and what to do.
pub fn install(version: Version) -> Result<Binaries, Error> {
    let number = version.number();
    let folder = place::once(&format!("etcd-{number}"), |folder| match version {
        Version::Debian34 => {
            debian::unpack(&["etcd-server", "etcd-client"], folder)?;
            check_version(&folder.join("usr/bin/etcd"), "3.4.", folder)
        }
        Version::Newest => go::build(&PROGRAMS, &module_version(), folder),
    })?;
    Ok(match version {
        Version::Debian34 => {
            let programs = folder.join("usr/bin");
            let (etcd, etcdctl) = (programs.join("etcd"), programs.join("etcdctl"));
            Binaries { etcd, etcdctl, etcdutl: None }
        }
        Version::Newest => Binaries {
            etcd: folder.join("etcd"),
            etcdctl: folder.join("etcdctl"),
            etcdutl: Some(folder.join("etcdutl")),
        },
    })
}

/// The newest version that the Go module proxy has, as `v3.8.0`: a value for
/// [`NEWEST_VARIABLE`].
///
/// # Errors
///
/// When there is no `go`, or it cannot ask.
pub fn latest() -> Result<String, Error> {
    go::latest(SERVER)
}

fn module_version() -> String {
    let version = std::env::var(NEWEST_VARIABLE).unwrap_or_else(|_| NEWEST.to_owned());
    format!("v{}", version.trim_start_matches('v'))
}

/// Another Debian has another etcd.
fn check_version(etcd: &Path, wanted: &'static str, place: &Path) -> Result<(), Error> {
    let said = tool::run(Command::new(etcd).arg("--version"))?.stdout;
    let said = String::from_utf8_lossy(&said);
    let got = said.lines().next().unwrap_or_default().to_owned();
    if got.starts_with(&format!("etcd Version: {wanted}")) {
        return Ok(());
    }
    Err(Error::OtherVersion { wanted, got, place: place.with_extension("") })
}
