//! One broker: a process that can be killed, stopped and started again.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;

use super::cluster::Cluster;
use super::wire;
use crate::daemon::Daemon;
use crate::error::Error;

/// What a broker is started with: little memory, no optimization that pays after minutes only.
const JAVA: [&str; 6] = [
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
];

/// A broker's place, whether anybody is in it or not.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) daemon: Daemon,
    pub(super) node: i32,
    pub(super) client: SocketAddr,
    pub(super) internal: SocketAddr,
    pub(super) file: PathBuf,
}

/// One broker of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Broker<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) seat: &'a Seat,
}

impl Deref for Broker<'_> {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.seat.daemon
    }
}

impl Broker<'_> {
    /// Its address for clients.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        self.seat.client
    }

    /// Its id.
    #[must_use]
    pub fn id(self) -> i32 {
        self.seat.node
    }

    /// The bytes of memory that it takes now; nothing if it does not run.
    #[must_use]
    pub fn memory(self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Starts it again, with the same ports and data; kills it first if it runs. Does not wait
    /// until it takes clients.
    ///
    /// # Errors
    ///
    /// When it cannot be started at all.
    pub fn restart(self) -> Result<(), Error> {
        let mut arguments: Vec<OsString> = JAVA.map(OsString::from).into();
        arguments.extend(self.cluster.config.java.iter().map(OsString::from));
        arguments.extend(self.cluster.installed.classes()?.into_iter().map(OsString::from));
        arguments.push("kafka.Kafka".into());
        arguments.push(self.seat.file.clone().into());
        self.start("java".as_ref(), &arguments)
    }

    /// Waits until it takes clients.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not in time.
    pub fn wait_ready(self) -> Result<(), Error> {
        self.wait_brokers(|ids| ids.contains(&self.seat.node))
    }

    /// Waits until it knows all brokers of its cluster as taking clients.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or does not in time.
    pub fn wait_all(self) -> Result<(), Error> {
        self.wait_brokers(|ids| ids.len() == self.cluster.seats.len())
    }

    fn wait_brokers(self, are_right: impl Fn(&[i32]) -> bool) -> Result<(), Error> {
        self.wait(|| match wire::brokers(self.seat.internal) {
            Ok(ids) if are_right(&ids) => Ok(()),
            Ok(ids) => Err(format!("knows these brokers: {ids:?}")),
            Err(error) => Err(format!("takes no clients: {error}")),
        })
    }
}
