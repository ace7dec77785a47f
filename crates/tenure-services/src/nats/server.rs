//! One server: a process that can be killed, stopped and started again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use super::cluster::Cluster;
use super::config::ClusterConfig;
use crate::daemon::{Daemon, PATIENCE};
use crate::error::Error;
use crate::place::file_error;

/// How long one answer is waited for: only who never gets any waits that long.
const ANSWER: Duration = PATIENCE;

/// A server's place, whether anybody is in it or not.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) daemon: Daemon,
    client: SocketAddr,
    monitor: SocketAddr,
    file: PathBuf,
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
        let daemon = Daemon::new(name, url, file.with_extension("log"));
        Self { daemon, client, monitor, file }
    }
}

/// One server of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) seat: &'a Seat,
}

impl Deref for Server<'_> {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.seat.daemon
    }
}

impl<'a> Server<'a> {
    /// Its URL for clients.
    #[must_use]
    pub fn url(self) -> &'a str {
        &self.seat.daemon.url
    }

    /// Its address for clients.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        self.seat.client
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

    /// Has it read its configuration anew, with `new` where `old` stood in it: what an operator
    /// does to change a password (`nats-server --signal reload`). Those whose login is refused by
    /// then are disconnected.
    ///
    /// # Errors
    ///
    /// When it runs no more, or the system refuses.
    pub fn reload(self, old: &str, new: &str) -> Result<(), Error> {
        let file = &self.seat.file;
        let text = fs::read_to_string(file).map_err(file_error(file))?;
        fs::write(file, text.replace(old, new)).map_err(file_error(file))?;
        self.running(|process| process.signal(rustix::process::Signal::HUP))
    }

    /// Starts it again, on the same ports; kills it first if it runs. Does not wait until it takes
    /// clients.
    ///
    /// # Errors
    ///
    /// When it cannot be started at all.
    pub fn restart(self) -> Result<(), Error> {
        let (program, file) = (self.cluster.program.as_os_str(), self.seat.file.as_os_str());
        self.start(program, &["-c".as_ref(), file])
    }

    /// Waits until it takes clients.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not in time.
    pub fn wait_ready(self) -> Result<(), Error> {
        let lacks = |error| format!("takes no clients: {error}");
        self.wait(|| self.greeting().map(drop).map_err(lacks))
    }

    /// Waits until it has routes to exactly so many others.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not in time.
    pub fn wait_routes(self, others: usize) -> Result<(), Error> {
        self.wait(|| match self.routes() {
            Ok(routes) if routes == others => Ok(()),
            Ok(_) => Err("has other routes".to_owned()),
            Err(error) => Err(format!("has other routes: {error}")),
        })
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
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(stream)
}
