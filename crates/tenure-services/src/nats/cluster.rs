//! Servers that run together.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use super::Version;
use super::config::ClusterConfig;
use super::server::Server;
use crate::daemon::Daemon;
use crate::error::Error;
use crate::place::{self, file_error};
use crate::port;
use crate::relay::Relay;

/// Servers of one version. A drop kills the servers by pid, and removes their files.
///
/// Two relays stand between any two servers, one for each direction in which a route may begin. So
/// a test can [`cut`](Self::cut) the routes of a pair.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
    /// Relays by the server that begins the route, then by the server at its end; `None` from a
    /// server to itself.
    relays: Vec<Vec<Option<Relay>>>,
    /// The last field, so that the folder is removed after the servers are gone.
    folder: TempDir,
}

impl Cluster {
    /// Starts servers on loopback with NATS's defaults; [`ClusterConfig`] has the rest.
    pub fn start(version: Version, servers: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, servers).start()
    }

    pub(super) fn launch(config: &ClusterConfig, program: &Path) -> Result<Self, Error> {
        let folder = place::temporary("tenure-nats-")?;
        let ports = port::on_loopback(config.servers * 3);
        let places: Vec<_> = ports.chunks_exact(3).collect();
        let scheme = if config.tls.is_some() { "tls" } else { "nats" };
        let mut servers = Vec::new();
        let mut relays = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let relay = |(to, place): (usize, &&[SocketAddr])| {
                (to != index).then(|| Relay::start(place[2])).transpose()
            };
            let ways: Result<Vec<_>, _> = places.iter().enumerate().map(relay).collect();
            let ways = ways.map_err(file_error(Path::new("a relay")))?;
            let others: Vec<_> = ways.iter().flatten().map(Relay::address).collect();
            relays.push(ways);
            let name = format!("s{index}");
            let file = folder.path().join(format!("{name}.conf"));
            fs::write(&file, config.file(&name, place, &others)).map_err(file_error(&file))?;
            let words = [program.display().to_string(), "-c".into(), file.display().to_string()];
            let url = format!("{scheme}://{}", place[0]);
            let daemon = Daemon::new(name, url, file.with_extension("log"), words.into());
            let client = place[0];
            let monitor = place[1];
            servers.push(Server { daemon, client, monitor, file, greets: config.greets() });
        }
        let cluster = Self { servers, relays, folder };
        cluster.servers().try_for_each(|server| server.restart())?;
        Ok(cluster)
    }

    /// The URLs of the servers, in order.
    pub fn urls(&self) -> Vec<String> {
        self.servers().map(|server| server.url().to_owned()).collect()
    }

    /// The servers, in order.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter()
    }

    /// A server, counted from 0.
    pub fn server(&self, index: usize) -> &Server {
        &self.servers[index]
    }

    /// Waits until every server accepts clients and has routes to all others.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.servers().try_for_each(Server::wait_ready)?;
        self.servers().try_for_each(|server| server.wait_routes(self.servers.len() - 1))
    }

    /// A folder for files of this cluster. The folder is removed with the cluster.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the routes between two servers. Both notice at once.
    pub fn cut(&self, one: usize, other: usize) {
        [&self.relays[one][other], &self.relays[other][one]]
            .into_iter()
            .flatten()
            .for_each(Relay::cut);
    }

    /// Lets servers make all routes again. Servers try once per second;
    /// [`wait_ready`](Self::wait_ready) waits for the routes.
    pub fn heal(&self) {
        self.relays.iter().flatten().flatten().for_each(Relay::open);
    }
}
