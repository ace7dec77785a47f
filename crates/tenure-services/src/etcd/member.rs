//! One member of a cluster: a process that can be killed, stopped and started again.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::cluster::{Cluster, PATIENCE, log_end};
use super::config::{ClusterConfig, Tls};
use crate::error::Error;
use crate::process::{Process, since_boot};

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// How long a member gets to end by itself.
const FAREWELL: Duration = Duration::from_secs(20);

/// A member's place, whether anybody is in it or not.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) endpoint: String,
    pub(super) peer: String,
    pub(super) data: PathBuf,
    wrapper: Vec<String>,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Seat {
    pub(super) fn new(index: usize, config: &ClusterConfig, ports: &[u16], folder: &Path) -> Self {
        let host = &config.hosts[index];
        let name = format!("m{index}");
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        Self {
            endpoint: format!("{scheme}://{}:{}", host.address, ports[0]),
            peer: format!("http://{}:{}", host.address, ports[1]),
            data: folder.join(&name),
            wrapper: host.wrapper.clone(),
            log: folder.join(format!("{name}.log")),
            process: Mutex::new(None),
            name,
        }
    }
}

/// One member of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) seat: &'a Seat,
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
        &self.seat.endpoint
    }

    /// Its URL for the other members.
    #[must_use]
    pub fn peer(self) -> &'a str {
        &self.seat.peer
    }

    /// Its process id, unless it was killed or terminated.
    #[must_use]
    pub fn pid(self) -> Option<u32> {
        self.process().as_ref().map(Process::pid)
    }

    /// Its log so far.
    #[must_use]
    pub fn log(self) -> String {
        let bytes = std::fs::read(&self.seat.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// SIGKILL, also when it is stopped; it is gone on return. No harm if it is gone already.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn kill(self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.kill())
    }

    /// SIGTERM; it is gone on return.
    ///
    /// # Errors
    ///
    /// When it runs no more, or the system refuses.
    pub fn terminate(self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.terminate(FAREWELL))
    }

    /// SIGSTOP; it stands still on return.
    ///
    /// # Errors
    ///
    /// When it runs no more, or the system refuses.
    pub fn stop(self) -> Result<(), Error> {
        self.running(Process::stop)
    }

    /// SIGCONT.
    ///
    /// # Errors
    ///
    /// When it runs no more, or the system refuses.
    pub fn cont(self) -> Result<(), Error> {
        self.running(Process::cont)
    }

    /// Starts it again, with the same ports and data; kills it first if it runs. Does not wait
    /// until it answers.
    ///
    /// # Errors
    ///
    /// When it cannot be started at all.
    pub fn restart(self) -> Result<(), Error> {
        let mut process = self.process();
        drop(process.take());
        let mut words = self.seat.wrapper.clone();
        words.push(self.cluster.binaries.etcd.display().to_string());
        words.extend(self.arguments());
        let (program, rest) = words.split_first().map_or(("", &[][..]), |(p, r)| (p.as_str(), r));
        *process = Some(Process::start(OsStr::new(program), rest, &self.seat.log)?);
        Ok(())
    }

    /// Waits until it answers a linearizable read; that takes a quorum.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not answer within a minute.
    pub fn wait_ready(self) -> Result<(), Error> {
        let began = since_boot();
        loop {
            let answer = self.etcdctl(&["--command-timeout=2s", "get", "tenure-services-ready"]);
            // Asked last: whoever answered may be somebody else, at the port that ours wanted.
            if let Some(status) = self.ended()? {
                return Err(self.not_ready(began, format!("has ended ({status})")));
            }
            let Err(error) = answer else { return Ok(()) };
            if since_boot() > began + PATIENCE {
                return Err(self.not_ready(began, format!("does not answer: {error}")));
            }
            thread::sleep(BETWEEN_QUESTIONS);
        }
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
        self.cluster.control(&self.seat.wrapper, &self.seat.endpoint, arguments)
    }

    fn process(self) -> MutexGuard<'a, Option<Process>> {
        self.seat.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(self, act: impl FnOnce(&Process) -> Result<(), Error>) -> Result<(), Error> {
        let gone = || Error::Missing {
            what: format!("{} is not running", self.seat.name),
            remedy: "`restart` it first.".into(),
        };
        act(self.process().as_ref().ok_or_else(gone)?)
    }

    fn ended(self) -> Result<Option<String>, Error> {
        match self.process().as_ref() {
            None => Ok(Some("killed".to_owned())),
            Some(process) => Ok(process.ended()?.map(|status| status.to_string())),
        }
    }

    fn not_ready(self, began: Duration, how: String) -> Error {
        Error::NotReady {
            member: format!("{} at {}", self.seat.name, self.seat.endpoint),
            how,
            waited: since_boot().saturating_sub(began),
            log: log_end(&self.seat.log),
        }
    }

    fn arguments(self) -> Vec<String> {
        let (seat, config) = (self.seat, &self.cluster.config);
        let mut arguments = vec![
            format!("--data-dir={}", seat.data.display()),
            format!("--listen-client-urls={}", seat.endpoint),
            format!("--advertise-client-urls={}", seat.endpoint),
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
        let of = |seat: &Seat| format!("{}={}", seat.name, seat.peer);
        let all: Vec<_> = self.cluster.seats.iter().map(of).collect();
        [
            format!("--name={}", self.seat.name),
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
