//! Settings of a cluster.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Cluster, Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;

/// Settings of a cluster; [`start`](Self::start) starts it.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    version: Version,
    pub(super) servers: usize,
    settings: String,
    pub(super) tls: Option<Tls>,
}

/// TLS between clients and servers, but not among servers. PEM files.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The servers' certificate, valid for their addresses.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The authority of the clients' certificates. If set, servers refuse clients without a
    /// certificate of this authority.
    pub clients: Option<PathBuf>,
    /// Whether TLS begins before the greeting: `handshake_first`, which only newer servers have.
    pub first: bool,
}

impl ClusterConfig {
    /// Servers of `version` on loopback, without TLS and without logins. A single server has no
    /// cluster settings.
    pub fn new(version: Version, servers: usize) -> Self {
        Self { version, servers, settings: String::new(), tls: None }
    }

    /// Adds lines to the configuration file of every server, such as `authorization { … }`.
    #[must_use]
    pub fn settings(mut self, lines: &str) -> Self {
        self.settings.push_str(lines);
        self.settings.push('\n');
        self
    }

    /// Sets TLS for clients.
    #[must_use]
    pub fn tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Installs the version if necessary, starts the servers on free ports, and waits until each
    /// accepts clients and knows all others. Takes a second or two.
    pub fn start(self) -> Result<Cluster, Error> {
        let program = install(self.version)?;
        on_free_ports(|| Cluster::launch(&self, &program), Cluster::wait_ready)
    }

    /// Whether a server greets before TLS, so that the greeting shows that it is up.
    pub(super) fn greets(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.first)
    }

    /// The configuration file of one server. `ports` are the ports for clients, for monitoring and
    /// for routes; `others` are relays to the other servers.
    pub(super) fn file(&self, name: &str, ports: &[SocketAddr], others: &[SocketAddr]) -> String {
        let client = ports[0];
        let monitor = ports[1];
        let route = ports[2];
        let mut text = format!(
            "server_name: \"{name}\"\nlisten: \"{client}\"\nhttp: \"{monitor}\"\n\
             write_deadline: \"10s\"\n"
        );
        if let Some(Tls { certificate, key, clients, first }) = &self.tls {
            let certificate = certificate.display();
            let key = key.display();
            let _ = writeln!(text, "tls {{\n  cert_file: \"{certificate}\"\n  key_file: \"{key}\"");
            if let Some(authority) = clients {
                let _ = writeln!(text, "  ca_file: \"{}\"\n  verify: true", authority.display());
            }
            text.push_str(if *first { "  handshake_first: true\n}\n" } else { "}\n" });
        }
        if !others.is_empty() {
            // Name a port without a server. Servers tell each other the addresses of third servers,
            // and would otherwise bypass a relay that a test has cut.
            let routes: Vec<_> =
                others.iter().map(|other| format!("    \"nats-route://{other}\"\n")).collect();
            let _ = writeln!(
                text,
                "cluster {{\n  name: \"tenure\"\n  listen: \"{route}\"\n  \
                 advertise: \"127.0.0.1:1\"\n  no_advertise: true\n  routes: [\n{}  ]\n}}",
                routes.concat()
            );
        }
        text + &self.settings
    }
}
