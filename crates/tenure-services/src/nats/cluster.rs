//! Servers that run together.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::config::{ClusterConfig, Place};
use super::server::{Seat, Server};
use super::{Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;
use crate::place::file_error;
use crate::port;
use crate::relay::Relay;

/// Some servers of one version. Dropping it kills them by pid and removes their files.
///
/// Between any two of them are relays, one for each that may begin a route, so that a test can
/// [`cut`](Self::cut) the routes of a pair.
#[derive(Debug)]
pub struct Cluster {
    pub(super) config: ClusterConfig,
    pub(super) program: PathBuf,
    pub(super) seats: Vec<Seat>,
    /// By who begins the route and to whom it leads; none to itself.
    relays: Vec<Vec<Option<Relay>>>,
    /// The last field: removed when the servers are gone.
    folder: TempDir,
}

impl Cluster {
    /// So many servers on loopback with NATS's defaults; [`ClusterConfig`] has the rest.
    ///
    /// # Errors
    ///
    /// Those of [`ClusterConfig::start`].
    pub fn start(version: Version, servers: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, servers).start()
    }

    pub(super) fn with(config: ClusterConfig) -> Result<Self, Error> {
        let program = install(config.version)?;
        on_free_ports(|| Self::launch(config.clone(), program.clone()), Self::wait_ready)
    }

    fn launch(config: ClusterConfig, program: PathBuf) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("tenure-nats-").tempdir();
        let folder = folder.map_err(file_error(&temporary))?;
        let ports: Vec<_> = port::free(config.servers * 3)
            .into_iter()
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .collect();
        let places: Vec<_> = ports.chunks_exact(3).collect();
        let relay = |from: usize, (to, place): (usize, &&[SocketAddr])| {
            (from != to).then(|| Relay::start(place[2])).transpose()
        };
        let relays: Result<Vec<Vec<_>>, _> = (0..config.servers)
            .map(|from| places.iter().enumerate().map(|to| relay(from, to)).collect())
            .collect();
        let relays = relays.map_err(file_error(Path::new("a relay")))?;
        let mut seats = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let name = format!("s{index}");
            let others = relays[index].iter().flatten().map(Relay::address).collect();
            let file = folder.path().join(format!("{name}.conf"));
            let (client, monitor) = (place[0], place[1]);
            let text =
                config.file(&Place { name: &name, client, monitor, route: place[2], others });
            fs::write(&file, text).map_err(file_error(&file))?;
            seats.push(Seat::new(name, (client, monitor), file, &config));
        }
        let cluster = Self { config, program, seats, relays, folder };
        cluster.servers().try_for_each(Server::restart)?;
        Ok(cluster)
    }

    /// Which version this is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.config.version
    }

    /// The URL of each server, in their order.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.daemon.url.clone()).collect()
    }

    /// The servers, in their order.
    pub fn servers(&self) -> impl Iterator<Item = Server<'_>> {
        self.seats.iter().map(|seat| Server { cluster: self, seat })
    }

    /// One server, counted from 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    #[must_use]
    pub fn server(&self, index: usize) -> Server<'_> {
        Server { cluster: self, seat: &self.seats[index] }
    }

    /// Waits until every server takes clients and has routes to all others.
    ///
    /// # Errors
    ///
    /// When one ends, or does not in time.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.servers().try_for_each(Server::wait_ready)?;
        self.servers().try_for_each(|server| server.wait_routes(self.seats.len() - 1))
    }

    /// A folder for whatever belongs to this cluster; removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the routes between two servers. Both know at once that the other is gone.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn cut(&self, one: usize, other: usize) {
        self.pair(one, other).for_each(Relay::cut);
    }

    /// Cuts all routes of one server.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn isolate(&self, server: usize) {
        (0..self.seats.len()).for_each(|other| self.cut(server, other));
    }

    /// Lets all routes be made again; servers try once a second. [`wait_ready`](Self::wait_ready)
    /// waits for that.
    pub fn heal(&self) {
        self.relays.iter().flatten().flatten().for_each(Relay::open);
    }

    fn pair(&self, one: usize, other: usize) -> impl Iterator<Item = &Relay> {
        [&self.relays[one][other], &self.relays[other][one]].into_iter().flatten()
    }
}
