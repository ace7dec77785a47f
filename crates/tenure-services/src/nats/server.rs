//! A server: a process that can be killed, stopped and started again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::daemon::{Daemon, PATIENCE};
use crate::error::Error;
use crate::place::file_error;

/// A server of a cluster.
#[derive(Debug)]
pub struct Server {
    pub(super) daemon: Daemon,
    pub(super) client: SocketAddr,
    pub(super) monitor: SocketAddr,
    pub(super) file: PathBuf,
    /// Whether the server greets before TLS.
    pub(super) greets: bool,
}

impl Deref for Server {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.client
    }

    /// Makes the server announce its end to its clients, and end half a minute later, as before an
    /// upgrade (`nats-server --signal ldm`).
    pub fn lame_duck(&self) -> Result<(), Error> {
        self.running(|process| process.signal(Signal::USR2))
    }

    /// Makes the server read its configuration again, with `new` instead of `old`, as after a
    /// change of a password (`nats-server --signal reload`). The server disconnects clients whose
    /// login the new configuration refuses.
    pub fn reload(&self, old: &str, new: &str) -> Result<(), Error> {
        let file = &self.file;
        let text = fs::read_to_string(file).map_err(file_error(file))?;
        fs::write(file, text.replace(old, new)).map_err(file_error(file))?;
        self.running(|process| process.signal(Signal::HUP))
    }

    /// Waits until the server accepts clients.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.wait(|| self.greeting().map_err(|error| format!("takes no clients: {error}")))
    }

    /// Waits until the server has routes to exactly this number of others.
    pub fn wait_routes(&self, others: usize) -> Result<(), Error> {
        self.wait(|| match self.routes() {
            Ok(routes) if routes == others => Ok(()),
            other => Err(format!("has other routes: {other:?}")),
        })
    }

    /// The number of other servers to which this server has routes.
    pub fn routes(&self) -> io::Result<usize> {
        let said = self.monitor("/routez")?;
        let ids = said.split("\"remote_id\":").skip(1);
        let ids: BTreeSet<_> = ids.filter_map(|rest| rest.split('"').nth(1)).collect();
        Ok(ids.len())
    }

    /// Reads a page of the server's monitoring, such as `/connz`: JSON, after a header of HTTP.
    pub fn monitor(&self, path: &str) -> io::Result<String> {
        let mut stream = connect(self.monitor)?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        Ok(said)
    }

    /// Reads the greeting. Returns at once if TLS comes before the greeting.
    fn greeting(&self) -> io::Result<()> {
        let mut stream = connect(self.client)?;
        if self.greets {
            stream.read_exact(&mut [0; 5])?;
        }
        Ok(())
    }
}

/// Only a client without an answer waits for the whole timeout.
fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}
