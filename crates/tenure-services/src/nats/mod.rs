//! NATS: two versions of it, and servers of either, alone or as a cluster whose routes can be cut.

mod cluster;
mod config;
mod server;

use std::fmt;
use std::path::PathBuf;

pub use cluster::Cluster;
pub use config::{ClusterConfig, Tls};
pub use server::Server;

use crate::error::Error;
use crate::service::{Service, Started};
use crate::{debian, go, place};

/// What [`Version::Newest`] is: the newest that was looked at. `cargo xtask facts nats --newest
/// latest` looks at a newer one, before this line is changed.
const NEWEST: &str = "v2.15.2";

/// The variable that puts another version of the Go module (`v2.16.0`) in the place of
/// [`Version::Newest`].
pub const NEWEST_VARIABLE: &str = "TESTS_NATS_NEWEST";

const MODULE: &str = "github.com/nats-io/nats-server/v2";
const PROGRAM: &str = "nats-server";

/// NATS, for `cargo xtask`.
pub static SERVICE: Service = Service {
    name: "nats",
    versions: &["2.9", "newest"],
    takes: "half a minute",
    newest_variable: NEWEST_VARIABLE,
    variables: "NATS",
    install: |version| install(Version::ALL[version]),
    start: |version, servers| start(Version::ALL[version], servers),
    latest,
    build_tools: || Ok(()),
};

/// A version of NATS that tests run against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 2.9, from Debian 12: the oldest that is in wide use.
    Debian29,
    /// The newest, built from its Go module.
    Newest,
}

/// Makes a test of each function that takes a [`Version`], on each.
#[macro_export]
macro_rules! on_each_nats {
    ($($name:ident),+) => {
        $(mod $name {
            #[test]
            fn on_debians_2_9() {
                super::$name($crate::nats::Version::Debian29);
            }

            #[test]
            fn on_the_newest() {
                super::$name($crate::nats::Version::Newest);
            }
        })+
    };
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 2] = [Self::Debian29, Self::Newest];

    /// Its number as far as it is known before it is installed: `2.9` or `2.15.2`.
    #[must_use]
    pub fn number(self) -> String {
        match self {
            Self::Debian29 => "2.9".to_owned(),
            Self::Newest => module_version().trim_start_matches('v').to_owned(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NATS {}", self.number())
    }
}

/// Gets the server of `version` into the user's cache of services, unless it is there, and
/// says where: seconds for Debian's, half a minute for the newest. Two processes at once do no
/// harm.
///
/// # Errors
///
/// When it is not there and cannot be got: no `apt-get`, no `go`, no network. The error says what
/// is missing and what to do.
pub fn install(version: Version) -> Result<PathBuf, Error> {
    let number = version.number();
    let folder = place::once(&format!("nats-{number}"), |folder| match version {
        Version::Debian29 => {
            debian::unpack(&[PROGRAM], folder)?;
            let program = folder.join("usr/sbin").join(PROGRAM);
            debian::is_version(&program, "nats-server: v2.9.", folder)
        }
        Version::Newest => go::build(&[(MODULE, PROGRAM)], &module_version(), folder),
    })?;
    Ok(match version {
        Version::Debian29 => folder.join("usr/sbin").join(PROGRAM),
        Version::Newest => folder.join(PROGRAM),
    })
}

fn start(version: Version, servers: usize) -> Result<Started, Error> {
    let cluster = Cluster::start(version, servers)?;
    let line = |server: Server<'_>| {
        let (url, pid) = (server.url(), server.pid().unwrap_or_default());
        format!("{version} at {url} (process {pid})\n")
    };
    let servers: String = cluster.servers().map(line).collect();
    let said = format!("{servers}\n    --servers {}\n", cluster.urls().join(","));
    Ok(Started { said, folder: cluster.folder().into(), running: Box::new(cluster) })
}

/// The newest version that the Go module proxy has, as `v2.16.0`: a value for
/// [`NEWEST_VARIABLE`].
///
/// # Errors
///
/// When there is no `go`, or it cannot ask.
pub fn latest() -> Result<String, Error> {
    go::latest(MODULE)
}

fn module_version() -> String {
    let version = std::env::var(NEWEST_VARIABLE).unwrap_or_else(|_| NEWEST.to_owned());
    format!("v{}", version.trim_start_matches('v'))
}
