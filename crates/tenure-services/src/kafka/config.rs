//! Settings of a cluster.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Cluster, Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;

/// Settings of a cluster; [`start`](Self::start) starts it.
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

/// Security between clients and brokers, but not among brokers.
#[derive(Clone, Debug, Default)]
pub enum Security {
    #[default]
    Plain,
    /// TLS. PEM files.
    Tls {
        /// The brokers' key and certificate, valid for their addresses, in one file.
        identity: PathBuf,
        /// The authority of the clients' certificates: brokers refuse clients without such a
        /// certificate.
        clients: PathBuf,
    },
    /// A name and its password, by SASL's mechanism PLAIN.
    Login { name: &'static str, password: &'static str },
}

impl ClusterConfig {
    /// Brokers of `version` on loopback, without TLS and without logins. Settings differ from the
    /// defaults only where the defaults cost time or memory. Internal topics are small, and so is
    /// the cleaner's buffer, by default 128 MiB. The first members of a group do not wait.
    pub fn new(version: Version, brokers: usize) -> Self {
        let settings = String::new();
        let security = Security::Plain;
        Self { version, brokers, ways: 0, settings, security, java: Vec::new() }
    }

    /// Adds a line to the configuration of every broker: `group.min.session.timeout.ms=1000`. The
    /// line follows the default lines, so it overrides them.
    #[must_use]
    pub fn setting(mut self, line: &str) -> Self {
        self.settings.push_str(line);
        self.settings.push('\n');
        self
    }

    #[must_use]
    pub fn security(self, security: Security) -> Self {
        Self { security, ..self }
    }

    /// Adds `ways` ways to the brokers. Each way leads to all brokers, and a test can cut it:
    /// [`Cluster::way`].
    #[must_use]
    pub fn ways(self, ways: usize) -> Self {
        Self { ways, ..self }
    }

    /// Installs the version if necessary, starts the brokers on free ports, and waits until each
    /// broker knows all others. Takes a few seconds.
    pub fn start(self) -> Result<Cluster, Error> {
        let installed = install(self.version)?;
        on_free_ports(|| Cluster::launch(&self, &installed), Cluster::wait_ready)
    }

    /// The configuration file of one broker.
    pub(super) fn file(&self, place: &Place<'_>) -> String {
        let Place { node, controllers, internal, listeners, storage } = place;
        let controller = controllers[*node];
        let storage = storage.display();
        let voters = controllers.iter().enumerate().map(|(node, at)| format!("{node}@{at}"));
        let voters = voters.collect::<Vec<_>>().join(",");
        let each = |one: fn(&Listener) -> String| listeners.iter().map(one).collect::<String>();
        let listen = each(|one| format!(",{}://{}", one.name, one.address));
        let advertised = each(|one| format!(",{}://{}", one.name, one.advertised));
        let spoken = listeners.iter().map(|one| format!(",{}:{}", one.name, self.protocol()));
        let spoken: String = spoken.collect();
        let copies = self.brokers.min(3);
        let most = copies.div_ceil(2);
        let text = format!(
            "process.roles=broker,controller\n\
             node.id={node}\n\
             controller.quorum.voters={voters}\n\
             listeners=CONTROLLER://{controller},INTERNAL://{internal}{listen}\n\
             advertised.listeners=INTERNAL://{internal}{advertised}\n\
             controller.listener.names=CONTROLLER\n\
             inter.broker.listener.name=INTERNAL\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT{spoken}\n\
             log.dirs={storage}\n\
             offsets.topic.replication.factor={copies}\n\
             offsets.topic.num.partitions=4\n\
             transaction.state.log.replication.factor={copies}\n\
             transaction.state.log.min.isr={most}\n\
             transaction.state.log.num.partitions=4\n\
             group.initial.rebalance.delay.ms=0\n\
             log.cleaner.dedupe.buffer.size=4194304\n\
             num.network.threads=2\n\
             num.io.threads=4\n"
        );
        text + &self.security_of(listeners) + &self.settings
    }

    /// The protocol of the clients' listeners.
    fn protocol(&self) -> &'static str {
        match self.security {
            Security::Plain => "PLAINTEXT",
            Security::Tls { .. } => "SSL",
            Security::Login { .. } => "SASL_PLAINTEXT",
        }
    }

    fn security_of(&self, listeners: &[Listener]) -> String {
        match &self.security {
            Security::Plain => String::new(),
            Security::Tls { identity, clients } => format!(
                "ssl.keystore.type=PEM\nssl.keystore.location={}\n\
                 ssl.client.auth=required\n\
                 ssl.truststore.type=PEM\nssl.truststore.location={}\n",
                identity.display(),
                clients.display()
            ),
            Security::Login { name, password } => {
                let module = "org.apache.kafka.common.security.plain.PlainLoginModule";
                let jaas = format!("{module} required user_{name}=\"{password}\";");
                let mut text = "sasl.enabled.mechanisms=PLAIN\n".to_owned();
                for listener in listeners.iter().map(|one| one.name.to_lowercase()) {
                    let _ =
                        writeln!(text, "listener.name.{listener}.plain.sasl.jaas.config={jaas}");
                }
                text
            }
        }
    }
}

/// The address of a broker for clients.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) name: String,
    pub(super) address: SocketAddr,
    pub(super) advertised: SocketAddr,
}

/// The place of one broker.
pub(super) struct Place<'a> {
    pub(super) node: usize,
    /// Addresses of all brokers as controllers, in order.
    pub(super) controllers: &'a [SocketAddr],
    pub(super) internal: SocketAddr,
    pub(super) listeners: &'a [Listener],
    pub(super) storage: &'a Path,
}
