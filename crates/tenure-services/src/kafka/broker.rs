//! A broker: a process that can be killed, stopped and started again.

use std::net::SocketAddr;
use std::ops::Deref;

use super::wire;
use crate::daemon::Daemon;
use crate::error::Error;

/// Java's options for a broker: little memory, and no optimization that pays off only after
/// minutes.
pub(super) const JAVA: [&str; 6] = [
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
];

/// A broker of a cluster.
#[derive(Debug)]
pub struct Broker {
    pub(super) daemon: Daemon,
    pub(super) id: i32,
    pub(super) client: SocketAddr,
    pub(super) internal: SocketAddr,
}

impl Deref for Broker {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Broker {
    pub fn address(&self) -> SocketAddr {
        self.client
    }

    pub fn id(&self) -> i32 {
        self.id
    }

    /// Waits until the broker accepts clients.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.wait_brokers(|ids| ids.contains(&self.id))
    }

    /// Waits until this broker knows which brokers take clients, and `are_right` accepts their ids.
    pub(super) fn wait_brokers(&self, are_right: impl Fn(&[i32]) -> bool) -> Result<(), Error> {
        self.wait(|| match wire::brokers(self.internal) {
            Ok(ids) if are_right(&ids) => Ok(()),
            Ok(ids) => Err(format!("knows these brokers: {ids:?}")),
            Err(error) => Err(format!("takes no clients: {error}")),
        })
    }
}
