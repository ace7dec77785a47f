//! Brokers that run together.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use super::broker::{Broker, JAVA};
use super::config::{ClusterConfig, Listener, Place};
use super::storage;
use super::{Installation, Version, wire};
use crate::daemon::{Daemon, on_free_ports};
use crate::error::Error;
use crate::place::{self, file_error};
use crate::port;
use crate::relay::Relay;

/// Brokers of one version. A drop kills the brokers by pid, and removes their data.
#[derive(Debug)]
pub struct Cluster {
    brokers: Vec<Broker>,
    relays: Vec<Vec<Relay>>,
    /// The last field, so that the folder is removed after the brokers are gone.
    folder: TempDir,
}

/// The relays through which some clients reach all brokers of a cluster. A test can cut these
/// relays, and so cut off these clients and no others. Brokers tell these clients the addresses of
/// the same relays.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    relays: &'a [Relay],
}

impl Way<'_> {
    /// The brokers' addresses on this way, in the form of clients.
    pub fn addresses(self) -> String {
        list(self.relays.iter().map(Relay::address))
    }

    /// Closes the way's connections, and new connections, until the way is opened.
    pub fn cut(self) {
        self.relays.iter().for_each(Relay::cut);
    }

    /// Keeps all bytes back until the way is opened or cut.
    pub fn hold(self) {
        self.relays.iter().for_each(Relay::hold);
    }

    /// Passes all bytes on again.
    pub fn open(self) {
        self.relays.iter().for_each(Relay::open);
    }
}

impl Cluster {
    /// Starts brokers on loopback; [`ClusterConfig`] has the rest.
    pub fn start(version: Version, brokers: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, brokers).start()
    }

    /// Makes a broker write its loaded classes to `file` when it ends.
    pub(super) fn archive(
        version: Version,
        installed: &Installation,
        file: &Path,
    ) -> Result<(), Error> {
        let mut config = ClusterConfig::new(version, 1);
        config.java = vec![format!("-XX:ArchiveClassesAtExit={}", file.display())];
        let launch = || Self::launch(&config, installed);
        on_free_ports(launch, Self::wait_ready)?.broker(0).terminate()
    }

    pub(super) fn launch(config: &ClusterConfig, installed: &Installation) -> Result<Self, Error> {
        let folder = place::temporary("tenure-kafka-")?;
        let each = 3 + config.ways;
        let id = storage::random_id()?;
        let ports = port::on_loopback(config.brokers * each);
        let controllers: Vec<_> = ports.iter().copied().step_by(each).collect();
        let mut java = vec!["java".to_owned()];
        java.extend(JAVA.map(str::to_owned));
        java.extend(config.java.iter().cloned());
        java.extend(installed.classes()?);
        java.push("kafka.Kafka".to_owned());
        let mut relays: Vec<Vec<Relay>> = (0..config.ways).map(|_| Vec::new()).collect();
        let mut brokers = Vec::new();
        for (node, ports) in ports.chunks_exact(each).enumerate() {
            let internal = ports[1];
            let client = ports[2];
            let mut listeners =
                vec![Listener { name: "CLIENT".into(), address: client, advertised: client }];
            for (way, &address) in ports[3..].iter().enumerate() {
                let relay = Relay::start(address).map_err(file_error(Path::new("a relay")))?;
                let advertised = relay.address();
                listeners.push(Listener { name: format!("WAY{way}"), address, advertised });
                relays[way].push(relay);
            }
            let name = format!("b{node}");
            let file = folder.path().join(format!("{name}.properties"));
            let storage = folder.path().join(format!("{name}-data"));
            let place = Place {
                node,
                controllers: &controllers,
                internal,
                listeners: &listeners,
                storage: &storage,
            };
            fs::write(&file, config.file(&place)).map_err(file_error(&file))?;
            storage::copy(installed, &storage, &id, node)?;
            let command = [&java[..], &[file.display().to_string()]].concat();
            let log = file.with_extension("log");
            let daemon = Daemon::new(name, client.to_string(), log, command);
            let id = i32::try_from(node).unwrap_or(i32::MAX);
            brokers.push(Broker { daemon, id, client, internal });
        }
        let cluster = Self { brokers, relays, folder };
        cluster.brokers().try_for_each(|broker| broker.restart())?;
        Ok(cluster)
    }

    /// The addresses of the brokers, in the form of clients.
    pub fn addresses(&self) -> String {
        list(self.brokers().map(Broker::address))
    }

    /// A [way](ClusterConfig::ways) that can be cut, counted from 0.
    pub fn way(&self, index: usize) -> Way<'_> {
        Way { relays: &self.relays[index] }
    }

    /// The brokers, in order.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.iter()
    }

    /// A broker, by its id, counted from 0.
    pub fn broker(&self, index: usize) -> &Broker {
        &self.brokers[index]
    }

    /// Waits until every broker knows that all others take clients.
    pub fn wait_ready(&self) -> Result<(), Error> {
        let all = self.brokers.len();
        self.brokers().try_for_each(|broker| broker.wait_brokers(|ids| ids.len() == all))
    }

    pub fn delete_topic(&self, name: &str) -> io::Result<()> {
        wire::delete_topic(self.brokers[0].internal, name)
    }

    /// A folder for files of this cluster, removed with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn list(addresses: impl Iterator<Item = SocketAddr>) -> String {
    addresses.map(|address| address.to_string()).collect::<Vec<_>>().join(",")
}
