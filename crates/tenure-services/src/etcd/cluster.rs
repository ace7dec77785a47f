//! Members that run together.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::config::ClusterConfig;
use super::member::{Member, Seat};
use super::{Binaries, Version, install};
use crate::daemon::on_free_ports;
use crate::error::Error;
use crate::place::file_error;
use crate::process::{Process, clean_environment};
use crate::{port, tool};

/// How long `etcdctl` tries, and how long logging in may take.
const COMMAND_TIMEOUT: &str = "--command-timeout=20s";
const LOGIN_TIMEOUT: &str = "--dial-timeout=20s";

/// Some members of one version. Dropping it kills them by pid and removes their data.
#[derive(Debug)]
pub struct Cluster {
    pub(super) config: ClusterConfig,
    pub(super) binaries: Binaries,
    pub(super) seats: Vec<Seat>,
    /// `name:password`, as soon as authentication is on.
    user: Mutex<Option<String>>,
    /// The last field: removed when the members are gone.
    folder: TempDir,
}

impl Cluster {
    /// So many members on loopback with etcd's defaults; [`ClusterConfig`] has the rest.
    ///
    /// # Errors
    ///
    /// Those of [`ClusterConfig::start`].
    pub fn start(version: Version, members: usize) -> Result<Self, Error> {
        ClusterConfig::new(version, members).start()
    }

    pub(super) fn with(config: ClusterConfig) -> Result<Self, Error> {
        let binaries = install(config.version)?;
        on_free_ports(|| Self::launch(config.clone(), binaries.clone()), Self::wait_ready)
    }

    fn launch(config: ClusterConfig, binaries: Binaries) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("tenure-etcd-").tempdir();
        let folder = folder.map_err(file_error(&temporary))?;
        let ports = port::free(config.hosts.len() * 2);
        let seat =
            |(index, ports): (usize, &[u16])| Seat::new(index, &config, ports, folder.path());
        let seats: Vec<_> = ports.chunks_exact(2).enumerate().map(seat).collect();
        let cluster = Self { config, binaries, seats, user: Mutex::new(None), folder };
        cluster.members().try_for_each(Member::restart)?;
        Ok(cluster)
    }

    /// Which version this is.
    #[must_use]
    pub fn version(&self) -> Version {
        self.config.version
    }

    /// Its programs.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The URL of each member, in their order.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.daemon.url.clone()).collect()
    }

    /// The members, in their order.
    pub fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.seats.iter().map(|seat| Member { cluster: self, seat })
    }

    /// One member, counted from 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    #[must_use]
    pub fn member(&self, index: usize) -> Member<'_> {
        Member { cluster: self, seat: &self.seats[index] }
    }

    /// The member that takes itself for the leader; nobody for a moment, or without a quorum.
    ///
    /// # Errors
    ///
    /// When no member answers.
    pub fn leader(&self) -> Result<Option<Member<'_>>, Error> {
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
    ///
    /// # Errors
    ///
    /// When one ends, or does not answer in time.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.members().try_for_each(Member::wait_ready)
    }

    /// A folder for whatever belongs to this cluster; removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `etcdctl` with the endpoints of all members, and returns its standard output.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] when it does not succeed, with what it said.
    pub fn etcdctl(&self, arguments: &[&str]) -> Result<String, Error> {
        self.control(&self.config.hosts[0].wrapper, &self.endpoints().join(","), arguments)
    }

    /// Starts `etcdctl` (as `elect NAME VALUE`) to run beside us, its output appended to `log`.
    ///
    /// # Errors
    ///
    /// Those of [`Process::start`].
    pub fn etcdctl_beside(&self, arguments: &[&str], log: &Path) -> Result<Process, Error> {
        let endpoints = self.endpoints().join(",");
        let words = self.control_words(&self.config.hosts[0].wrapper, &endpoints, arguments);
        Process::start("env".as_ref(), &words, log)
    }

    /// Makes a user `root` with this password and switches authentication on. [`Self::etcdctl`]
    /// is `root` from then on.
    ///
    /// # Errors
    ///
    /// Those of [`Self::etcdctl`].
    pub fn enable_auth(&self, password: &str) -> Result<(), Error> {
        let user = format!("root:{password}");
        self.etcdctl(&["user", "add", &user])?;
        self.etcdctl(&["user", "grant-role", "root", "root"])?;
        self.etcdctl(&["auth", "enable"])?;
        *self.user.lock().unwrap_or_else(PoisonError::into_inner) = Some(user);
        Ok(())
    }

    /// Writes a snapshot of the first member that answers to `file`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::etcdctl`], of the last member.
    pub fn save(&self, file: &Path) -> Result<(), Error> {
        let file = file.display().to_string();
        // It may be no more than the tool's refusal of several endpoints, so one at a time.
        let mut last = Ok(String::new());
        for member in self.members() {
            last = member.etcdctl(&["snapshot", "save", &file]);
            if last.is_ok() {
                break;
            }
        }
        last.map(drop)
    }

    pub(super) fn control(
        &self,
        wrapper: &[String],
        endpoints: &str,
        arguments: &[&str],
    ) -> Result<String, Error> {
        // Its own time-outs of 5 s, and of 2 s for a login, are soon over where the disk or the
        // machine is slow, and it has none for some commands. The last one counts, if there are
        // more.
        let mut bounded = vec![COMMAND_TIMEOUT, LOGIN_TIMEOUT];
        bounded.extend(arguments);
        let mut command = Command::new("env");
        command.args(self.control_words(wrapper, endpoints, &bounded));
        clean_environment(&mut command);
        let output = tool::run(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What comes after `env`.
    fn control_words(
        &self,
        wrapper: &[String],
        endpoints: &str,
        arguments: &[&str],
    ) -> Vec<String> {
        let shown = |path: &Path| path.display().to_string();
        let mut words = Vec::new();
        // Newer ones speak nothing else, and complain about the variable.
        if self.config.version == Version::Debian34 {
            words.push("ETCDCTL_API=3".to_owned());
        }
        words.extend(wrapper.iter().cloned());
        words.extend([shown(&self.binaries.etcdctl), format!("--endpoints={endpoints}")]);
        if let Some(tls) = &self.config.tls {
            words.push(format!("--cacert={}", shown(&tls.authority)));
            if let Some(client) = &tls.client {
                words.push(format!("--cert={}", shown(&client.certificate)));
                words.push(format!("--key={}", shown(&client.key)));
            }
        }
        let user = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(user.iter().map(|user| format!("--user={user}")));
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        words
    }
}
