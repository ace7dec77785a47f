//! One server: a process that can be killed, stopped and started again.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::cluster::Cluster;
use super::config::ClusterConfig;
use crate::error::Error;
use crate::process::{Process, since_boot};
use crate::tool;

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// How long a server may take to come up, or for a route: a busy machine may need long.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one answer is waited for.
const ANSWER: Duration = Duration::from_secs(5);

/// How long a server gets to end by itself.
const FAREWELL: Duration = Duration::from_secs(20);

/// A server's place, whether anybody is in it or not.
#[derive(Debug)]
pub(super) struct Seat {
    name: String,
    client: SocketAddr,
    monitor: SocketAddr,
    pub(super) url: String,
    file: PathBuf,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Seat {
    pub(super) fn new(
        name: String,
        (client, monitor): (SocketAddr, SocketAddr),
        file: PathBuf,
        config: &ClusterConfig,
    ) -> Self {
        let scheme = if config.tls.is_some() { "tls" } else { "nats" };
        let url = format!("{scheme}://{client}");
        let log = file.with_extension("log");
        Self { name, client, monitor, url, file, log, process: Mutex::new(None) }
    }
}

/// One server of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) seat: &'a Seat,
}

impl<'a> Server<'a> {
    /// Its URL for clients.
    #[must_use]
    pub fn url(self) -> &'a str {
        &self.seat.url
    }

    /// Its address for clients.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        self.seat.client
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

    /// Has it tell its clients that it is about to end, and end half a minute later: what an
    /// operator does before an upgrade (`nats-server --signal ldm`).
    ///
    /// # Errors
    ///
    /// When it runs no more, or the system refuses.
    pub fn lame_duck(self) -> Result<(), Error> {
        self.running(|process| process.signal(rustix::process::Signal::USR2))
    }

    /// Starts it again, on the same ports; kills it first if it runs. Does not wait until it takes
    /// clients.
    ///
    /// # Errors
    ///
    /// When it cannot be started at all.
    pub fn restart(self) -> Result<(), Error> {
        let mut process = self.process();
        drop(process.take());
        let (program, file) = (self.cluster.program.as_os_str(), self.seat.file.as_os_str());
        *process = Some(Process::start(program, &["-c".as_ref(), file], &self.seat.log)?);
        Ok(())
    }

    /// Waits until it takes clients.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not within a minute.
    pub fn wait_ready(self) -> Result<(), Error> {
        self.wait("takes no clients", || self.greeting().map(|_| true))
    }

    /// Waits until it has routes to exactly so many others.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not within a minute.
    pub fn wait_routes(self, others: usize) -> Result<(), Error> {
        self.wait("has other routes", || Ok(self.routes()? == others))
    }

    /// To how many other servers it has routes now.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn routes(self) -> io::Result<usize> {
        let said = self.monitor("/routez")?;
        let ids = said.split("\"remote_id\":").skip(1);
        let ids: BTreeSet<_> = ids.filter_map(|rest| rest.split('"').nth(1)).collect();
        Ok(ids.len())
    }

    /// What its monitoring says, such as of `/connz`: JSON, after a header of HTTP.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn monitor(self, path: &str) -> io::Result<String> {
        let mut stream = connect(self.seat.monitor)?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        Ok(said)
    }

    /// What a client is told first; nothing where TLS comes before.
    fn greeting(self) -> io::Result<String> {
        let mut stream = connect(self.seat.client)?;
        let mut said = [0; 5];
        if self.cluster.config.greets() {
            stream.read_exact(&mut said)?;
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn wait(self, lacking: &str, is_there: impl Fn() -> io::Result<bool>) -> Result<(), Error> {
        let began = since_boot();
        loop {
            let answer = is_there();
            // Asked last: whoever answered may be somebody else, at the port that ours wanted.
            if let Some(status) = self.ended()? {
                return Err(self.not_ready(began, format!("has ended ({status})")));
            }
            if matches!(answer, Ok(true)) {
                return Ok(());
            }
            if since_boot() > began + PATIENCE {
                let why = answer.map_or_else(|error| format!(": {error}"), |_| String::new());
                return Err(self.not_ready(began, format!("{lacking}{why}")));
            }
            thread::sleep(BETWEEN_QUESTIONS);
        }
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
            member: format!("{} at {}", self.seat.name, self.seat.url),
            how,
            waited: since_boot().saturating_sub(began),
            log: tool::last_lines(&self.log()),
        }
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(stream)
}
