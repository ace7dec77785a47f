//! Brokers that run together.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::broker::{Broker, Seat};
use super::config::{ClusterConfig, Listener, Place};
use super::storage::{self, Id};
use super::{Installed, Version, installed, wire};
use crate::daemon::{Daemon, on_free_ports};
use crate::error::Error;
use crate::place::file_error;
use crate::port;
use crate::process::since_boot;
use crate::relay::Relay;

/// Some brokers of one version. Dropping it kills them by pid and removes their data.
#[derive(Debug)]
pub struct Cluster {
    pub(super) config: ClusterConfig,
    pub(super) installed: Installed,
    pub(super) seats: Vec<Seat>,
    id: Id,
    /// By way and broker.
    relays: Vec<Vec<Relay>>,
    took: Duration,
    /// The last field: removed when the brokers are gone.
    folder: TempDir,
}

/// A way to all brokers of a cluster that can be cut, for clients that are to be cut off while
/// others are not. On it brokers name each other by addresses on the same way.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    relays: &'a [Relay],
}

impl Way<'_> {
    /// The brokers' addresses on this way, as clients take them.
    #[must_use]
    pub fn addresses(self) -> String {
        list(self.relays.iter().map(Relay::address))
    }

    /// Closes its connections, and those that come, until it is opened.
    pub fn cut(self) {
        self.relays.iter().for_each(Relay::cut);
    }

    /// Passes nothing on, and keeps it, until it is opened or cut.
    pub fn hold(self) {
        self.relays.iter().for_each(Relay::hold);
    }

    /// Passes everything on again.
    pub fn open(self) {
        self.relays.iter().for_each(Relay::open);
    }
}

impl Cluster {
    /// So many brokers on loopback; [`ClusterConfig`] has the rest.
    ///
    /// # Errors
    ///
    /// Those of [`ClusterConfig::start`].
    pub fn start(version: Version, brokers: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, brokers).start()
    }

    pub(super) fn with(config: ClusterConfig) -> Result<Self, Error> {
        let installed = installed(config.version)?;
        let began = since_boot();
        let launch = || Self::launch(config.clone(), installed.clone());
        let mut cluster = on_free_ports(launch, Self::wait_ready)?;
        cluster.took = since_boot().saturating_sub(began);
        Ok(cluster)
    }

    /// Has a broker write the classes that it has loaded to `file` when it ends.
    pub(super) fn archive(
        version: Version,
        installed: &Installed,
        file: &Path,
    ) -> Result<(), Error> {
        let mut config = ClusterConfig::new(version, 1);
        config.java = vec![format!("-XX:ArchiveClassesAtExit={}", file.display())];
        let launch = || Self::launch(config.clone(), installed.clone());
        on_free_ports(launch, Self::wait_ready)?.broker(0).terminate()
    }

    fn launch(config: ClusterConfig, installed: Installed) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("tenure-kafka-").tempdir();
        let folder = folder.map_err(file_error(&temporary))?;
        let (each, id) = (3 + config.ways, Id::random()?);
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ports: Vec<_> = port::free(config.brokers * each).into_iter().map(local).collect();
        let controllers: Vec<_> = ports.iter().copied().step_by(each).collect();
        let mut relays: Vec<Vec<Relay>> = (0..config.ways).map(|_| Vec::new()).collect();
        let mut seats = Vec::new();
        for (node, ports) in ports.chunks_exact(each).enumerate() {
            let (internal, client) = (ports[1], ports[2]);
            let mut listeners =
                vec![Listener { name: "CLIENT".into(), address: client, advertised: client }];
            for (way, &address) in ports[3..].iter().enumerate() {
                let relay = Relay::start(address).map_err(file_error(Path::new("a relay")))?;
                let advertised = relay.address();
                listeners.push(Listener { name: format!("WAY{way}"), address, advertised });
                relays[way].push(relay);
            }
            let name = format!("b{node}");
            let (file, storage) =
                (folder.path().join(&name), folder.path().join(name.clone() + "-data"));
            let file = file.with_extension("properties");
            let place = Place {
                node,
                controllers: &controllers,
                internal,
                listeners: &listeners,
                storage: &storage,
            };
            fs::write(&file, config.file(&place)).map_err(file_error(&file))?;
            storage::copy(&installed, &storage, &id, node)?;
            let daemon = Daemon::new(name, client.to_string(), file.with_extension("log"));
            let node = i32::try_from(node).unwrap_or(i32::MAX);
            seats.push(Seat { daemon, node, client, internal, file });
        }
        let took = Duration::ZERO;
        let cluster = Self { config, installed, seats, id, relays, took, folder };
        cluster.brokers().try_for_each(Broker::restart)?;
        Ok(cluster)
    }

    /// Which version this is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.config.version
    }

    /// Its id, which its brokers tell their clients.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id.0
    }

    /// The address of each broker, as clients take them.
    #[must_use]
    pub fn addresses(&self) -> String {
        list(self.seats.iter().map(|seat| seat.client))
    }

    /// One of the [ways](ClusterConfig::ways) that can be cut, counted from 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    #[must_use]
    pub fn way(&self, index: usize) -> Way<'_> {
        Way { relays: &self.relays[index] }
    }

    /// The brokers, in their order.
    pub fn brokers(&self) -> impl Iterator<Item = Broker<'_>> {
        self.seats.iter().map(|seat| Broker { cluster: self, seat })
    }

    /// One broker, by its id, counted from 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    #[must_use]
    pub fn broker(&self, index: usize) -> Broker<'_> {
        Broker { cluster: self, seat: &self.seats[index] }
    }

    /// Waits until every broker knows all others as taking clients.
    ///
    /// # Errors
    ///
    /// When one ends, or does not in time.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.brokers().try_for_each(Broker::wait_all)
    }

    /// Deletes a topic.
    ///
    /// # Errors
    ///
    /// When no broker answers, or it refuses.
    pub fn delete_topic(&self, name: &str) -> io::Result<()> {
        wire::delete_topic(self.seats[0].internal, name)
    }

    /// How long it took to start.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }

    /// A folder for whatever belongs to this cluster; removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn list(addresses: impl Iterator<Item = SocketAddr>) -> String {
    addresses.map(|address| address.to_string()).collect::<Vec<_>>().join(",")
}
