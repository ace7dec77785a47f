//! NATS: two versions, and servers of either, alone or as a cluster whose routes can be cut.

mod cluster;
mod config;
mod server;

use std::path::PathBuf;

pub use cluster::Cluster;
pub use config::{ClusterConfig, Tls};
pub use server::Server;

use crate::error::Error;
pub use crate::service::Version;
use crate::service::{Service, Started};
use crate::{debian, go, place};

const MODULE: &str = "github.com/nats-io/nats-server/v2";
const PROGRAM: &str = "nats-server";
/// Debian's path of the server.
const DEBIAN: &str = "usr/sbin/nats-server";

/// NATS: the oldest is from Debian 12, the newest is built from its Go module.
pub static SERVICE: Service = Service {
    name: "nats",
    versions: &["2.9", "newest"],
    newest: "2.15.2",
    newest_variable: "TESTS_NATS_NEWEST",
    takes: "half a minute",
    variables: "NATS",
    install: |version| install(Version::ALL[version]),
    start: |version, servers| start(Version::ALL[version], servers),
    latest: || go::latest(MODULE),
    build_tools: || Ok(()),
};

/// Gets the server of `version` into the user's cache of services, unless the cache has it, and
/// returns its path. Takes seconds for Debian's version, half a minute for the newest. Two
/// processes may call this at once. The error says what is missing, with the remedy.
pub fn install(version: Version) -> Result<PathBuf, Error> {
    let number = SERVICE.number(version);
    let folder = place::once(&format!("nats-{number}"), |folder| match version {
        Version::Oldest => debian::unpack(&[PROGRAM], folder, DEBIAN, "nats-server: v2.9."),
        Version::Newest => go::build(&[(MODULE, PROGRAM)], &number, folder),
    })?;
    Ok(folder.join(if version == Version::Oldest { DEBIAN } else { PROGRAM }))
}

fn start(version: Version, servers: usize) -> Result<Started, Error> {
    let cluster = Cluster::start(version, servers)?;
    let servers: String = cluster.servers().map(|server| server.told()).collect();
    let said = format!("{servers}\n    --servers {}\n", cluster.urls().join(","));
    Ok(Started { said, folder: cluster.folder().into(), running: Box::new(cluster) })
}
