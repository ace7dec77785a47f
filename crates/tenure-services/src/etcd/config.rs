//! What a cluster is like.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use super::{Cluster, Version};
use crate::error::Error;

/// What a cluster is like; [`start`](Self::start) starts it.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    pub(super) version: Version,
    pub(super) hosts: Vec<Host>,
    pub(super) arguments: Vec<String>,
    pub(super) tls: Option<Tls>,
}

/// Where a member runs.
#[derive(Clone, Debug)]
pub struct Host {
    /// What it listens on, for clients and for the others.
    pub address: Ipv4Addr,
    /// What its command begins with, such as `ip netns exec NAME`; it must become the command, not
    /// start it. The client asks this member through the same.
    pub wrapper: Vec<String>,
}

impl Default for Host {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST, wrapper: Vec::new() }
    }
}

/// TLS between clients and members; the members among themselves do without. PEM files.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The members' certificate, good for their addresses.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Whoever signed the certificates.
    pub authority: PathBuf,
    /// What clients show: with it, members refuse clients that show none.
    pub client: Option<ClientCertificate>,
}

/// What a client shows.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// Its certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl ClusterConfig {
    /// So many members of `version` on loopback, without TLS, with etcd's defaults.
    #[must_use]
    pub fn new(version: Version, members: usize) -> Self {
        let hosts = vec![Host::default(); members];
        Self { version, hosts, arguments: Vec::new(), tls: None }
    }

    /// One more argument for every member: `--quota-backend-bytes=2097152`. It comes after our
    /// own, so it wins.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The size of the database in bytes from which on writes are refused with `NOSPACE`.
    #[must_use]
    pub fn quota(self, bytes: u64) -> Self {
        self.argument(format!("--quota-backend-bytes={bytes}"))
    }

    /// Clients speak TLS.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Where the members run, and how many they are.
    #[must_use]
    pub fn hosts(mut self, hosts: Vec<Host>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Installs the version if need be, starts the members on free ports, and waits until each
    /// answers. Takes two seconds.
    ///
    /// # Errors
    ///
    /// When the version cannot be got, or a member does not come up: the error has the end of
    /// its log.
    pub fn start(self) -> Result<Cluster, Error> {
        Cluster::with(self)
    }
}
