//! etcd: two versions of it, and clusters of either.

mod cluster;
mod config;
mod grpc_proxy;
mod member;
mod protoc;
mod restore;

use std::fmt;
use std::path::PathBuf;

pub use cluster::Cluster;
pub use config::{ClientCertificate, ClusterConfig, Host, Tls};
pub use grpc_proxy::GrpcProxy;
pub use member::{Member, Status};
pub use restore::Restore;

use crate::error::Error;
use crate::service::{Service, Started};
use crate::{debian, go, place};

/// What [`Version::Newest`] is: the newest that was looked at. `cargo xtask facts etcd --newest
/// latest` looks at a newer one, before this line is changed.
const NEWEST: &str = "v3.7.3";

/// The variable that puts another version of the Go module (`v3.8.0`) in the place of
/// [`Version::Newest`].
pub const NEWEST_VARIABLE: &str = "TESTS_ETCD_NEWEST";

const SERVER: &str = "go.etcd.io/etcd/server/v3";
const PROGRAMS: [(&str, &str); 3] = [
    (SERVER, "etcd"),
    ("go.etcd.io/etcd/etcdctl/v3", "etcdctl"),
    ("go.etcd.io/etcd/etcdutl/v3", "etcdutl"),
];

/// etcd, for `cargo xtask`.
pub static SERVICE: Service = Service {
    name: "etcd",
    versions: &["3.4", "newest"],
    takes: "a minute or two",
    newest_variable: NEWEST_VARIABLE,
    variables: "ETCD",
    install: |version| Ok(install(Version::ALL[version])?.etcd),
    start: |version, members| start(Version::ALL[version], members),
    latest,
    build_tools: protoc::ensure,
};

/// A version of etcd that tests run against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 3.4, from Debian 12: the oldest that is in wide use.
    Debian34,
    /// The newest, built from its Go module.
    Newest,
}

/// Makes a test of each function that takes a [`Version`], on each.
#[macro_export]
macro_rules! on_each_version {
    ($($name:ident),+) => {
        $(mod $name {
            #[test]
            fn on_debians_3_4() {
                super::$name($crate::etcd::Version::Debian34);
            }

            #[test]
            fn on_the_newest() {
                super::$name($crate::etcd::Version::Newest);
            }
        })+
    };
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

/// Gets `version` into the user's cache of services, unless it is there: seconds for
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
            debian::is_version(&folder.join("usr/bin/etcd"), "etcd Version: 3.4.", folder)
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

fn start(version: Version, members: usize) -> Result<Started, Error> {
    let cluster = Cluster::start(version, members)?;
    let line = |member: Member<'_>| {
        let (endpoint, pid) = (member.endpoint(), member.pid().unwrap_or_default());
        format!("{version} at {endpoint} (process {pid})\n")
    };
    let members: String = cluster.members().map(line).collect();
    let etcdctl = cluster.binaries().etcdctl.display();
    let endpoints = cluster.endpoints().join(",");
    let said =
        format!("{members}\n    ETCDCTL_API=3 {etcdctl} --endpoints={endpoints} member list\n");
    Ok(Started { said, folder: cluster.folder().into(), running: Box::new(cluster) })
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
