//! One broker for many tests, each with names of its own.

use std::any::Any;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Cluster, ClusterConfig, Version, wire};
use crate::error::Error;
use crate::process::since_boot;

/// The variable that names a broker with the settings of [`quick`] by its address for clients:
/// tests that disturb no broker take it from [`shared`], and start none.
pub const SHARED_VARIABLE: &str = "TESTS_KAFKA";

/// The version of the broker that tests share.
pub const SHARED_VERSION: Version = Version::V41;

/// A broker that allows short sessions, and long ones. Sessions of the newer protocol last 45 s, as
/// Kafka has it, unless [another](Cluster::set_of_group) is set for a group.
#[must_use]
pub fn quick(version: Version) -> ClusterConfig {
    ClusterConfig::new(version, 1)
        .setting("group.min.session.timeout.ms=1000")
        .setting("group.consumer.min.session.timeout.ms=1000")
        .setting("group.consumer.max.session.timeout.ms=600000")
        .setting("group.consumer.min.heartbeat.interval.ms=200")
        .setting("group.consumer.heartbeat.interval.ms=300")
}

/// A broker that others use as well, as [`quick`] has it: nobody stops it, and all names on it are
/// [`unique`].
#[derive(Clone, Debug)]
pub struct Shared {
    address: SocketAddr,
    /// Kept until the last test of this process drops it.
    _own: Option<Arc<Cluster>>,
}

/// The broker that [`SHARED_VARIABLE`] names, or else one for all tests of this process that run at
/// the same time; that one ends with the last of them.
///
/// # Errors
///
/// When nobody answers at that address, or those of [`ClusterConfig::start`].
pub fn shared() -> Result<Shared, Error> {
    static CLUSTER: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    if let Ok(named) = std::env::var(SHARED_VARIABLE) {
        return Shared::at(&named);
    }
    let mut shared = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    let cluster = match shared.upgrade() {
        Some(cluster) => cluster,
        None => Arc::new(quick(SHARED_VERSION).start()?),
    };
    *shared = Arc::downgrade(&cluster);
    Ok(Shared { address: cluster.broker(0).address(), _own: Some(cluster) })
}

/// A server that the tests of one run share. Dropping it ends the server.
pub struct Sharing {
    /// The variable that names the server to tests.
    pub variable: &'static str,
    /// Its address.
    pub address: String,
    _running: Box<dyn Any>,
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Starts a broker for the tests of one run.
///
/// # Errors
///
/// Those of [`ClusterConfig::start`].
pub fn share() -> Result<Sharing, Error> {
    let broker = quick(SHARED_VERSION).start()?;
    let address = broker.addresses();
    Ok(Sharing { variable: SHARED_VARIABLE, address, _running: Box::new(broker) })
}

/// A name for a topic, a group or a transactional id that no other test has, nor this one in
/// another run. It is 17 bytes longer at most.
#[must_use]
pub fn unique(name: &str) -> String {
    format!("{name}-{:x}-{:x}", std::process::id(), since_boot().as_millis())
}

impl Shared {
    fn at(named: &str) -> Result<Self, Error> {
        let unusable = |why: String| Error::Missing {
            what: format!("{SHARED_VARIABLE} is {named}, and that is no broker: {why}"),
            remedy: "Start one there, or unset it: then tests start their own.".into(),
        };
        let address: SocketAddr = named.parse().map_err(|_| unusable("no address".into()))?;
        wire::brokers(address).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { address, _own: None })
    }

    /// Its address, as clients take it.
    #[must_use]
    pub fn addresses(&self) -> String {
        self.address.to_string()
    }

    /// Makes a topic, as [`Cluster::make_topic`] does.
    ///
    /// # Errors
    ///
    /// When the broker does not answer, or refuses, or does not know it in time.
    pub fn make_topic(
        &self,
        name: &str,
        partitions: i32,
        settings: &[(&str, &str)],
    ) -> io::Result<()> {
        wire::make_known_topic(self.address, name, partitions, settings)
    }

    /// Gives a topic so many partitions in all.
    ///
    /// # Errors
    ///
    /// When the broker does not answer, or refuses: fewer than there are.
    pub fn set_partitions(&self, name: &str, partitions: i32) -> io::Result<()> {
        wire::set_partitions(self.address, name, partitions)
    }

    /// Sets something for one group, as [`Cluster::set_of_group`] does.
    ///
    /// # Errors
    ///
    /// When the broker does not answer, or refuses.
    pub fn set_of_group(&self, group: &str, setting: &str, value: &str) -> io::Result<()> {
        wire::set_of_group(self.address, group, setting, value)
    }

    /// Deletes a topic.
    ///
    /// # Errors
    ///
    /// When the broker does not answer, or refuses.
    pub fn delete_topic(&self, name: &str) -> io::Result<()> {
        wire::delete_topic(self.address, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_address_is_told() {
        let said = Shared::at("nowhere").unwrap_err().to_string();
        assert!(said.starts_with("TESTS_KAFKA is nowhere, and that is no broker"), "{said}");
    }

    #[test]
    fn two_names_differ() {
        let [one, other] = ["one", "other"].map(unique);
        assert!(one.starts_with("one-") && one.len() <= "one".len() + 17, "{one}");
        assert_ne!(one, other);
    }
}
