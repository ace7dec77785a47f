//! Members that run together.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use super::config::{ClusterConfig, Host, Tls};
use super::member::{Member, Shared};
use super::{Binaries, Version};
use crate::daemon::Daemon;
use crate::error::Error;
use crate::process::Process;
use crate::{place, port};

/// Members of one version. A drop kills the members by pid, and removes their data.
#[derive(Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
    members: Vec<Member>,
    /// The last field, so that the folder is removed after the members are gone.
    folder: TempDir,
}

impl Cluster {
    /// Starts members on loopback with etcd's defaults; [`ClusterConfig`] has the rest.
    pub fn start(version: Version, members: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, members).start()
    }

    pub(super) fn launch(config: &ClusterConfig, binaries: &Binaries) -> Result<Self, Error> {
        let ClusterConfig { version, hosts, arguments, tls } = config;
        let folder = place::temporary("tenure-etcd-")?;
        let ports = port::free(hosts.len() * 2);
        let shared = Arc::new(Shared {
            version: *version,
            binaries: binaries.clone(),
            tls: tls.clone(),
            user: Mutex::new(None),
        });
        let peer =
            |index: usize, host: &Host| format!("http://{}:{}", host.address, ports[2 * index + 1]);
        let peers: Vec<_> = hosts
            .iter()
            .enumerate()
            .map(|(index, host)| format!("m{index}={}", peer(index, host)))
            .collect();
        let peers = peers.join(",");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let member = |(index, host): (usize, &Host)| {
            let name = format!("m{index}");
            let peer = peer(index, host);
            let url = format!("{scheme}://{}:{}", host.address, ports[2 * index]);
            let founding = [
                format!("--name={name}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster={peers}"),
            ];
            let data = folder.path().join(&name);
            let own = [
                binaries.etcd.display().to_string(),
                format!("--data-dir={}", data.display()),
                format!("--listen-client-urls={url}"),
                format!("--advertise-client-urls={url}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-cluster-token={}", token(folder.path())),
                // A login hashes its password. With the default cost the hash takes seconds on a
                // busy machine.
                "--bcrypt-cost=4".to_owned(),
            ];
            let tls = tls.as_ref().map(Tls::of_member).unwrap_or_default();
            let command = [&host.wrapper[..], &own, &founding, &tls, arguments].concat();
            let log = folder.path().join(format!("{name}.log"));
            let daemon = Daemon::new(name, url, log, command);
            let shared = Arc::clone(&shared);
            let wrapper = host.wrapper.clone();
            Member { daemon, shared, wrapper, founding, data }
        };
        let members = hosts.iter().enumerate().map(member).collect();
        let cluster = Self { shared, members, folder };
        cluster.members().try_for_each(|member| member.restart())?;
        Ok(cluster)
    }

    pub fn version(&self) -> Version {
        self.shared.version
    }

    pub fn binaries(&self) -> &Binaries {
        &self.shared.binaries
    }

    /// The URLs of the members, in order.
    pub fn endpoints(&self) -> Vec<String> {
        self.members().map(|member| member.endpoint().to_owned()).collect()
    }

    /// The members, in order.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter()
    }

    /// A member, counted from 0.
    pub fn member(&self, index: usize) -> &Member {
        &self.members[index]
    }

    /// The member that claims to be the leader; `None` for a moment, or without a quorum.
    pub fn leader(&self) -> Result<Option<&Member>, Error> {
        let mut answered = Ok(None);
        for member in self.members() {
            match member.status() {
                Ok(status) if status.leads() => return Ok(Some(member)),
                Err(error) if matches!(answered, Ok(None)) => answered = Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        answered
    }

    /// Waits until every member answers a linearizable read.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.members().try_for_each(Member::wait_ready)
    }

    /// A folder for files of this cluster. The folder is removed with the cluster.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The token of the cluster, which keeps clusters apart if members of one cluster find the
    /// ports of another.
    pub(super) fn token(&self) -> String {
        token(self.folder())
    }

    /// Runs `etcdctl` with the endpoints of all members, and returns its standard output.
    pub fn etcdctl(&self, arguments: &[&str]) -> Result<String, Error> {
        self.members[0].control(&self.endpoints().join(","), arguments)
    }

    /// Starts `etcdctl` (as `elect NAME VALUE`), which runs alongside this process and appends its
    /// output to `log`.
    pub fn etcdctl_beside(&self, arguments: &[&str], log: &Path) -> Result<Process, Error> {
        let words = self.members[0].control_words(&self.endpoints().join(","), arguments);
        Process::start("env".as_ref(), &words, log)
    }

    /// Makes a user `root` with this password and switches authentication on. Later calls of
    /// [`Self::etcdctl`] log in as `root`.
    pub fn enable_auth(&self, password: &str) -> Result<(), Error> {
        let user = format!("root:{password}");
        self.etcdctl(&["user", "add", &user])?;
        self.etcdctl(&["user", "grant-role", "root", "root"])?;
        self.etcdctl(&["auth", "enable"])?;
        *self.shared.user.lock().unwrap_or_else(PoisonError::into_inner) = Some(user);
        Ok(())
    }

    /// Writes a snapshot to `file`, from the first member that answers.
    pub fn save(&self, file: &Path) -> Result<(), Error> {
        let file = file.display().to_string();
        // Ask the endpoints one at a time: the tool may refuse several.
        let mut last = Ok(String::new());
        for member in self.members() {
            last = member.etcdctl(&["snapshot", "save", &file]);
            if last.is_ok() {
                break;
            }
        }
        last.map(drop)
    }
}

fn token(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
