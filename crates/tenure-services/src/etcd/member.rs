//! One member of a cluster: a process that can be killed, stopped and started again.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::cluster::Cluster;
use super::config::{ClusterConfig, Tls};
use crate::daemon::Daemon;
use crate::error::Error;

/// A member's place, whether anybody is in it or not.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) daemon: Daemon,
    pub(super) peer: String,
    pub(super) data: PathBuf,
    wrapper: Vec<String>,
}

impl Seat {
    pub(super) fn new(index: usize, config: &ClusterConfig, ports: &[u16], folder: &Path) -> Self {
        let host = &config.hosts[index];
        let name = format!("m{index}");
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let (data, log) = (folder.join(&name), folder.join(format!("{name}.log")));
        let url = format!("{scheme}://{}:{}", host.address, ports[0]);
        Self {
            daemon: Daemon::new(name, url, log),
            peer: format!("http://{}:{}", host.address, ports[1]),
            data,
            wrapper: host.wrapper.clone(),
        }
    }
}

/// One member of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) seat: &'a Seat,
}

impl Deref for Member<'_> {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.seat.daemon
    }
}

/// What a member says of itself and of the cluster, without asking the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its own id.
    pub member: u64,
    /// Whom it takes for the leader; 0 is nobody.
    pub leader: u64,
    /// The raft term it is in.
    pub term: u64,
    /// The revision of its store.
    pub revision: u64,
}

impl Status {
    /// Whether it takes itself for the leader.
    #[must_use]
    pub fn leads(self) -> bool {
        self.member == self.leader
    }
}

impl<'a> Member<'a> {
    /// Its URL for clients.
    #[must_use]
    pub fn endpoint(self) -> &'a str {
        &self.seat.daemon.url
    }

    /// Its URL for the other members.
    #[must_use]
    pub fn peer(self) -> &'a str {
        &self.seat.peer
    }

    /// Starts it again, with the same ports and data; kills it first if it runs. Does not wait
    /// until it answers.
    ///
    /// # Errors
    ///
    /// When it cannot be started at all.
    pub fn restart(self) -> Result<(), Error> {
        let mut words = self.seat.wrapper.clone();
        words.push(self.cluster.binaries.etcd.display().to_string());
        words.extend(self.arguments());
        let (program, rest) = words.split_first().map_or(("", &[][..]), |(p, r)| (p.as_str(), r));
        self.start(OsStr::new(program), rest)
    }

    /// Waits until it answers a linearizable read; that takes a quorum.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not answer in time.
    pub fn wait_ready(self) -> Result<(), Error> {
        self.wait(|| {
            let answer = self.etcdctl(&["--command-timeout=2s", "get", "tenure-services-ready"]);
            answer.map(drop).map_err(|error| format!("does not answer: {error}"))
        })
    }

    /// What it says of itself; without a quorum, too.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn status(self) -> Result<Status, Error> {
        let ask = ["--command-timeout=5s", "endpoint", "status", "--write-out=fields"];
        let said = self.etcdctl(&ask)?;
        let field = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("\"{name}\" :")));
            line.and_then(|value| value.trim().parse().ok())
        };
        let status = || {
            let (member, leader) = (field("MemberID")?, field("Leader")?);
            Some(Status { member, leader, term: field("RaftTerm")?, revision: field("Revision")? })
        };
        status().ok_or_else(|| Error::Missing {
            what: format!("`etcdctl endpoint status` has no ids in its answer:\n{said}"),
            remedy: "This etcdctl says it in another way: teach `Member::status`.".into(),
        })
    }

    /// Runs `etcdctl` with the endpoint of this member only, and returns its standard output.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] when it does not succeed, with what it said.
    pub fn etcdctl(self, arguments: &[&str]) -> Result<String, Error> {
        self.cluster.control(&self.seat.wrapper, &self.seat.daemon.url, arguments)
    }

    fn arguments(self) -> Vec<String> {
        let (seat, config) = (self.seat, &self.cluster.config);
        let mut arguments = vec![
            format!("--data-dir={}", seat.data.display()),
            format!("--listen-client-urls={}", seat.daemon.url),
            format!("--advertise-client-urls={}", seat.daemon.url),
            format!("--listen-peer-urls={}", seat.peer),
        ];
        arguments.extend(self.founding());
        arguments.push(format!("--initial-cluster-token={}", self.cluster.token()));
        arguments.extend(config.tls.iter().flat_map(tls_arguments));
        arguments.extend(config.arguments.iter().cloned());
        arguments
    }

    /// Who is in the cluster: the same for a new one and for one restored from a snapshot.
    pub(super) fn founding(self) -> [String; 3] {
        let of = |seat: &Seat| format!("{}={}", seat.daemon.name, seat.peer);
        let all: Vec<_> = self.cluster.seats.iter().map(of).collect();
        [
            format!("--name={}", self.seat.daemon.name),
            format!("--initial-advertise-peer-urls={}", self.seat.peer),
            format!("--initial-cluster={}", all.join(",")),
        ]
    }
}

fn tls_arguments(tls: &Tls) -> Vec<String> {
    let mut arguments = vec![
        format!("--cert-file={}", tls.certificate.display()),
        format!("--key-file={}", tls.key.display()),
    ];
    if tls.client.is_some() {
        let authority = format!("--trusted-ca-file={}", tls.authority.display());
        arguments.extend(["--client-cert-auth".to_owned(), authority]);
    }
    arguments
}
