//! Settings of a cluster.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::{Cluster, Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;

/// Settings of a cluster; [`start`](Self::start) starts it.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    pub(super) version: Version,
    pub(super) hosts: Vec<Host>,
    pub(super) arguments: Vec<String>,
    pub(super) tls: Option<Tls>,
}

/// The place of a member.
#[derive(Clone, Debug)]
pub struct Host {
    /// Address for clients and for the other members.
    pub address: Ipv4Addr,
    /// Prefix of the member's command, such as `ip netns exec NAME`. The prefix must execute the
    /// command in its own process, not as a child. The client that asks this member has the same
    /// prefix.
    pub wrapper: Vec<String>,
}

/// TLS between clients and members, but not among members. PEM files.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The members' certificate, valid for their addresses.
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
    /// Certificate of clients. If set, members refuse clients without a certificate.
    pub client: Option<ClientCertificate>,
}

#[derive(Clone, Debug)]
pub struct ClientCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl ClusterConfig {
    /// Members of `version` on loopback, without TLS, with etcd's defaults.
    pub fn new(version: Version, members: usize) -> Self {
        let host = Host { address: Ipv4Addr::LOCALHOST, wrapper: Vec::new() };
        Self { version, hosts: vec![host; members], arguments: Vec::new(), tls: None }
    }

    /// Adds an argument for every member: `--max-txn-ops=16`. The argument follows the default
    /// arguments, so it overrides them.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets the size of the database, in bytes, above which writes are refused with `NOSPACE`.
    #[must_use]
    pub fn quota(self, bytes: u64) -> Self {
        self.argument(format!("--quota-backend-bytes={bytes}"))
    }

    /// Sets TLS for clients.
    #[must_use]
    pub fn tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Sets the places of the members, and with them their number.
    #[must_use]
    pub fn hosts(self, hosts: Vec<Host>) -> Self {
        Self { hosts, ..self }
    }

    /// Installs the version if necessary, starts the members on free ports, and waits until each
    /// answers. Takes two seconds.
    pub fn start(self) -> Result<Cluster, Error> {
        let binaries = install(self.version)?;
        on_free_ports(|| Cluster::launch(&self, &binaries), Cluster::wait_ready)
    }
}

impl Tls {
    pub(super) fn of_member(&self) -> Vec<String> {
        let mut words = vec![flag("cert-file", &self.certificate), flag("key-file", &self.key)];
        if self.client.is_some() {
            words.push("--client-cert-auth".to_owned());
            words.push(flag("trusted-ca-file", &self.authority));
        }
        words
    }

    pub(super) fn of_client(&self) -> Vec<String> {
        let mut words = vec![flag("cacert", &self.authority)];
        if let Some(client) = &self.client {
            words.extend([flag("cert", &client.certificate), flag("key", &client.key)]);
        }
        words
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
