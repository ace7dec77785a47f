//! Three grantors on loopback, each a process with a state directory on disk.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use tempfile::TempDir;
use tenure_nerio::keys::Keys;
use tenure_nerio::{Builder, Checked, Config, Member, Node};

use super::Result;
use super::process::Process;

pub(crate) const GRANTORS: [&str; 3] = ["a", "b", "c"];

/// Settings that must be the same in every process of a cluster.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) lease: Duration,
    pub(crate) refresh: Duration,
    pub(crate) addresses: Vec<SocketAddr>,
    /// Whether datagrams are sealed.
    pub(crate) sealed: bool,
}

/// A key that no other cluster has.
const KEY: &str = "tenure-cluster-key-1 bench \
                   0707070707070707070707070707070707070707070707070707070707070707";

impl Settings {
    /// The defaults, on ports that are free now.
    pub(crate) fn new() -> Result<Self> {
        let sockets = GRANTORS.map(|_| UdpSocket::bind("127.0.0.1:0"));
        let addresses = sockets.into_iter().map(|socket| socket?.local_addr());
        let addresses = addresses.collect::<std::io::Result<_>>()?;
        let lease = Duration::from_secs(5);
        let refresh = Duration::from_millis(250);
        Ok(Self { lease, refresh, addresses, sealed: false })
    }

    /// A node in this cluster. With sealed datagrams, a grantor has the key of the cluster, and
    /// another node has the key of an application.
    pub(crate) fn node(&self, name: &str, grants: bool) -> Result<Builder> {
        let builder = Node::builder(self.config()?, name.parse()?);
        if !self.sealed {
            return Ok(builder);
        }
        let cluster = Keys::parse(KEY)?;
        let application = cluster.issue("bench".parse()?, "*".parse()?);
        let application = application.ok_or("a key of a cluster")?;
        Ok(builder.keys(if grants { cluster } else { application.into() }))
    }

    pub(crate) fn config(&self) -> Result<Checked> {
        let members = GRANTORS
            .into_iter()
            .zip(&self.addresses)
            .map(|(name, address)| Ok(Member::at(name.parse()?, *address)));
        let members = members.collect::<Result<_>>()?;
        let mut config = Config::new("bench".parse()?, members).with_lease(self.lease);
        config.refresh = self.refresh;
        // The default grace may be too long for a short lease.
        config.grace = config.grace.min(self.lease / 5);
        Ok(config.check()?)
    }

    /// The settings as arguments of a child.
    fn words(&self) -> Vec<String> {
        let millis = [self.lease, self.refresh].map(|span| span.as_millis().to_string());
        let addresses = self.addresses.iter().map(ToString::to_string);
        millis.into_iter().chain([self.sealed.to_string()]).chain(addresses).collect()
    }

    pub(crate) fn from_words(words: &[String]) -> Result<Self> {
        let [lease, refresh, sealed, addresses @ ..] = words else {
            return Err("no settings".into());
        };
        let millis = |word: &String| word.parse().map(Duration::from_millis);
        let addresses = addresses.iter().map(|word| word.parse());
        let addresses = addresses.collect::<std::result::Result<_, _>>()?;
        let lease = millis(lease)?;
        let refresh = millis(refresh)?;
        Ok(Self { lease, refresh, addresses, sealed: sealed.parse()? })
    }
}

/// Three running grantors. Dropping the cluster ends their processes.
pub(crate) struct Cluster {
    pub(crate) settings: Settings,
    pub(crate) grantors: Vec<Process>,
    directory: TempDir,
}

impl Cluster {
    pub(crate) fn start(settings: Settings) -> Result<Self> {
        // The directory is beside the build, so on a disk: a temporary folder may be a RAM disk.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut cluster = Self { settings, grantors: Vec::new(), directory };
        for name in GRANTORS {
            let grantor = cluster.grantor(name, "new")?;
            cluster.grantors.push(grantor);
        }
        Ok(cluster)
    }

    /// Starts a process of a grantor: on a `new` state directory or on the `existing` one.
    pub(crate) fn grantor(&self, name: &str, opening: &str) -> Result<Process> {
        let path = self.directory.path().join(name).display().to_string();
        self.process(&["grantor", name, opening, &path])
    }

    /// Starts a process of a node that only campaigns.
    pub(crate) fn candidate(&self, name: &str) -> Result<Process> {
        self.process(&["candidate", name])
    }

    /// Starts a process in this role, with the settings behind its arguments.
    pub(crate) fn process(&self, role: &[&str]) -> Result<Process> {
        let role = role.iter().map(ToString::to_string);
        let arguments: Vec<_> = role.chain(self.settings.words()).collect();
        Ok(Process::start(&arguments)?.0)
    }
}
