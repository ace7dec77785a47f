//! etcd: two versions, and clusters of either.

mod cluster;
mod config;
mod grpc_proxy;
mod member;
mod protoc;
mod restore;

use std::path::PathBuf;

pub use cluster::Cluster;
pub use config::{ClientCertificate, ClusterConfig, Host, Tls};
pub use member::{Member, Status};
pub use restore::Restore;

use crate::error::Error;
pub use crate::service::Version;
use crate::service::{Service, Started};
use crate::{debian, go, place};

const SERVER: &str = "go.etcd.io/etcd/server/v3";
const PROGRAMS: [(&str, &str); 3] = [
    (SERVER, "etcd"),
    ("go.etcd.io/etcd/etcdctl/v3", "etcdctl"),
    ("go.etcd.io/etcd/etcdutl/v3", "etcdutl"),
];

/// etcd: the oldest is from Debian 12, the newest is built from its Go module.
pub static SERVICE: Service = Service {
    name: "etcd",
    versions: &["3.4", "newest"],
    newest: "3.7.3",
    newest_variable: "TESTS_ETCD_NEWEST",
    takes: "a minute or two",
    variables: "ETCD",
    install: |version| Ok(install(Version::ALL[version])?.etcd),
    start: |version, members| start(Version::ALL[version], members),
    latest: || go::latest(SERVER),
    build_tools: protoc::ensure,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binaries {
    pub etcd: PathBuf,
    pub etcdctl: PathBuf,
    /// The tool that restores snapshots; before 3.5 `etcdctl` does this.
    pub etcdutl: Option<PathBuf>,
}

/// Gets `version` into the user's cache of services, unless the cache has it: takes seconds for
/// Debian's version, a minute or two for the newest. Two processes may call this at once. The error
/// says what is missing, with the remedy.
pub fn install(version: Version) -> Result<Binaries, Error> {
    let number = SERVICE.number(version);
    let folder = place::once(&format!("etcd-{number}"), |folder| match version {
        Version::Oldest => {
            let packages = ["etcd-server", "etcd-client"];
            debian::unpack(&packages, folder, "usr/bin/etcd", "etcd Version: 3.4.")
        }
        Version::Newest => go::build(&PROGRAMS, &number, folder),
    })?;
    let is_newest = version == Version::Newest;
    let programs = if is_newest { folder } else { folder.join("usr/bin") };
    Ok(Binaries {
        etcd: programs.join("etcd"),
        etcdctl: programs.join("etcdctl"),
        etcdutl: is_newest.then(|| programs.join("etcdutl")),
    })
}

fn start(version: Version, members: usize) -> Result<Started, Error> {
    let cluster = Cluster::start(version, members)?;
    let members: String = cluster.members().map(|member| member.told()).collect();
    let etcdctl = cluster.binaries().etcdctl.display();
    let endpoints = cluster.endpoints().join(",");
    let said =
        format!("{members}\n    ETCDCTL_API=3 {etcdctl} --endpoints={endpoints} member list\n");
    Ok(Started { said, folder: cluster.folder().into(), running: Box::new(cluster) })
}
