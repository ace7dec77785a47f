//! What a cluster is like.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Cluster, Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;

/// What a cluster is like; [`start`](Self::start) starts it.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    version: Version,
    pub(super) brokers: usize,
    pub(super) ways: usize,
    settings: String,
    security: Security,
    /// More arguments for `java`.
    pub(super) java: Vec<String>,
}

/// What clients and brokers speak; the brokers among themselves do without.
#[derive(Clone, Debug, Default)]
pub enum Security {
    /// Neither TLS nor logins.
    #[default]
    Plain,
    /// TLS. PEM files.
    Tls {
        /// The brokers' key and certificate, good for their addresses, in one file.
        identity: PathBuf,
        /// Whoever signed the clients' certificates: with it, brokers refuse clients that show
        /// none.
        clients: Option<PathBuf>,
    },
    /// Names and passwords, by SASL's mechanism PLAIN.
    Logins(Vec<(String, String)>),
}

impl ClusterConfig {
    /// So many brokers of `version` on loopback, without TLS and without logins. Everything is as
    /// Kafka has it by default but for what only takes time or memory: internal topics are small
    /// and a group's first members are not waited for.
    pub fn new(version: Version, brokers: usize) -> Self {
        let (settings, security) = (String::new(), Security::Plain);
        Self { version, brokers, ways: 0, settings, security, java: Vec::new() }
    }

    /// One more line for the configuration of every broker: `group.min.session.timeout.ms=1000`.
    /// It comes after our own, so it wins.
    #[must_use]
    pub fn setting(mut self, line: &str) -> Self {
        self.settings.push_str(line);
        self.settings.push('\n');
        self
    }

    /// What clients and brokers speak.
    #[must_use]
    pub fn security(self, security: Security) -> Self {
        Self { security, ..self }
    }

    /// So many more ways to the brokers, each of which can be cut: [`Cluster::way`].
    #[must_use]
    pub fn ways(self, ways: usize) -> Self {
        Self { ways, ..self }
    }

    /// Installs the version if need be, starts the brokers on free ports, and waits until each
    /// knows all others. Takes a few seconds.
    pub fn start(self) -> Result<Cluster, Error> {
        let installed = install(self.version)?;
        on_free_ports(|| Cluster::launch(&self, &installed), Cluster::wait_ready)
    }

    /// The configuration file of one broker.
    pub(super) fn file(&self, place: &Place<'_>) -> String {
        let copies = self.brokers.min(3);
        let most = copies.div_ceil(2);
        let mut text = place.file();
        let _ = writeln!(
            text,
            "offsets.topic.replication.factor={copies}\n\
             offsets.topic.num.partitions=4\n\
             transaction.state.log.replication.factor={copies}\n\
             transaction.state.log.min.isr={most}\n\
             transaction.state.log.num.partitions=4\n\
             group.initial.rebalance.delay.ms=0\n\
             num.network.threads=2\n\
             num.io.threads=4"
        );
        text.push_str(&self.security.lines(place.listeners.iter().map(|one| one.name.as_str())));
        text + &self.settings
    }
}

impl Security {
    /// What each of the clients' listeners speaks.
    fn protocol(&self) -> &'static str {
        match self {
            Self::Plain => "PLAINTEXT",
            Self::Tls { .. } => "SSL",
            Self::Logins(_) => "SASL_PLAINTEXT",
        }
    }

    fn lines<'a>(&self, listeners: impl Iterator<Item = &'a str> + Clone) -> String {
        let each =
            |protocol: &'a str| listeners.clone().map(move |name| format!(",{name}:{protocol}"));
        let map: String = each(self.protocol()).collect();
        let mut text = format!(
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT{map}\n"
        );
        match self {
            Self::Plain => {}
            Self::Tls { identity, clients } => {
                let identity = identity.display();
                let _ = writeln!(text, "ssl.keystore.type=PEM\nssl.keystore.location={identity}");
                if let Some(clients) = clients {
                    let clients = clients.display();
                    let _ = writeln!(
                        text,
                        "ssl.client.auth=required\n\
                         ssl.truststore.type=PEM\nssl.truststore.location={clients}"
                    );
                }
            }
            Self::Logins(logins) => {
                let login =
                    |(name, password): &(String, String)| format!(" user_{name}=\"{password}\"");
                let logins: String = logins.iter().map(login).collect();
                let module = "org.apache.kafka.common.security.plain.PlainLoginModule";
                text.push_str("sasl.enabled.mechanisms=PLAIN\n");
                for name in listeners.map(str::to_lowercase) {
                    let _ = writeln!(
                        text,
                        "listener.name.{name}.plain.sasl.jaas.config={module} required{logins};"
                    );
                }
            }
        }
        text
    }
}

/// Where clients reach a broker.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) name: String,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// What it tells clients.
    pub(super) advertised: SocketAddr,
}

/// Where one broker is.
pub(super) struct Place<'a> {
    pub(super) node: usize,
    /// Of all brokers as controllers, in their order.
    pub(super) controllers: &'a [SocketAddr],
    /// For the other brokers.
    pub(super) internal: SocketAddr,
    /// For clients.
    pub(super) listeners: &'a [Listener],
    pub(super) storage: &'a Path,
}

impl Place<'_> {
    /// A configuration for formatting a template, of one broker that never runs.
    pub(super) fn template(storage: &Path) -> String {
        let nowhere = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let (controllers, internal) = (&[nowhere(1)], nowhere(2));
        Place { node: 0, controllers, internal, listeners: &[], storage }.file()
            + &Security::Plain.lines(std::iter::empty())
    }

    fn file(&self) -> String {
        let Self { node, controllers, internal, listeners, storage } = self;
        let controller = controllers.get(*node).unwrap_or(internal);
        let voters: Vec<_> = controllers
            .iter()
            .enumerate()
            .map(|(node, address)| format!("{node}@{address}"))
            .collect();
        let each = |address: fn(&Listener) -> SocketAddr| {
            let one = |one: &Listener| format!(",{}://{}", one.name, address(one));
            listeners.iter().map(one).collect::<String>()
        };
        format!(
            "process.roles=broker,controller\n\
             node.id={node}\n\
             controller.quorum.voters={}\n\
             listeners=CONTROLLER://{controller},INTERNAL://{internal}{}\n\
             advertised.listeners=INTERNAL://{internal}{}\n\
             controller.listener.names=CONTROLLER\n\
             inter.broker.listener.name=INTERNAL\n\
             log.dirs={}\n",
            voters.join(","),
            each(|one| one.address),
            each(|one| one.advertised),
            storage.display(),
        )
    }
}
