//! A broker for many tests, each with its own names.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Cluster, ClusterConfig, Security, Version, wire};
use crate::error::Error;
use crate::process::since_boot;

/// The variable that names a [`Shared`] broker by its two addresses, with a comma between them.
/// Tests that disturb no broker take the broker from [`shared`], and start none.
pub const SHARED_VARIABLE: &str = "TESTS_KAFKA";

pub const SHARED_VERSION: Version = Version::Oldest;

/// A broker that allows short and long sessions. Sessions of the newer protocol last 45 s, Kafka's
/// default, unless the group has [another setting](Shared::set_of_group).
pub fn quick(version: Version) -> ClusterConfig {
    ClusterConfig::new(version, 1)
        .setting("group.min.session.timeout.ms=1000")
        .setting("group.consumer.min.session.timeout.ms=1000")
        .setting("group.consumer.max.session.timeout.ms=600000")
        .setting("group.consumer.min.heartbeat.interval.ms=200")
        .setting("group.consumer.heartbeat.interval.ms=300")
}

/// A broker that tests share: no test stops the broker, and all names on it are [`unique`]. The
/// broker has the settings of [`quick`], and two addresses. At one address each client has all
/// rights; at the other the user `ann`, whose password is `secret`, has the rights that a test
/// [gives](Shared::allow).
#[derive(Clone, Debug)]
pub struct Shared {
    pub(super) open: SocketAddr,
    guarded: SocketAddr,
    /// The broker of this process, kept until the last test of this process drops it.
    own: Option<Arc<Cluster>>,
}

/// The broker that [`SHARED_VARIABLE`] names. Without that variable, a broker for all tests of this
/// process that run at the same time. The broker ends with the last of these tests.
pub fn shared() -> Result<Shared, Error> {
    static CLUSTER: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    if let Ok(named) = std::env::var(SHARED_VARIABLE) {
        return Shared::at(&named);
    }
    let mut shared = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cluster) = shared.upgrade() {
        return Ok(Shared::of(cluster));
    }
    let started = Shared::start(SHARED_VERSION)?;
    *shared = started.own.as_ref().map(Arc::downgrade).unwrap_or_default();
    Ok(started)
}

/// A server that the tests of one run share. A drop ends the server.
#[derive(Debug)]
pub struct Sharing {
    /// The variable that names the server to the tests.
    pub variable: &'static str,
    pub address: String,
    _broker: Shared,
}

/// Starts a broker for the tests of one run.
pub fn share() -> Result<Sharing, Error> {
    let broker = Shared::start(SHARED_VERSION)?;
    let address = format!("{},{}", broker.open, broker.guarded);
    Ok(Sharing { variable: SHARED_VARIABLE, address, _broker: broker })
}

/// A name for a topic, a group or a transactional id, at most 17 bytes longer than `name`. No other
/// test uses this name, and no other run of this test.
pub fn unique(name: &str) -> String {
    format!("{name}-{:x}-{:x}", std::process::id(), since_boot().as_millis())
}

impl Shared {
    /// Starts a broker that others can share.
    pub fn start(version: Version) -> Result<Self, Error> {
        let login = Security::Login { name: "ann", password: "secret" };
        let authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
        let cluster = quick(version)
            .security(login)
            .setting(&format!("authorizer.class.name={authorizer}"))
            .setting("super.users=User:ANONYMOUS")
            .start()?;
        Ok(Self::of(Arc::new(cluster)))
    }

    /// The broker's own listener needs no login, and gives all rights.
    fn of(cluster: Arc<Cluster>) -> Self {
        let broker = cluster.broker(0);
        Self { open: broker.internal, guarded: broker.client, own: Some(cluster) }
    }

    fn at(named: &str) -> Result<Self, Error> {
        let unusable = |why: String| Error::Missing {
            what: format!("{SHARED_VARIABLE} is {named}, and that is no broker: {why}"),
            remedy: "Start one there, or unset it: then tests start their own.".into(),
        };
        let addresses =
            named.split_once(',').map(|(open, guarded)| (open.parse(), guarded.parse()));
        let Some((Ok(open), Ok(guarded))) = addresses else {
            return Err(unusable("not two addresses".into()));
        };
        wire::brokers(open).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { open, guarded, own: None })
    }

    /// The address at which clients have all rights, in the form of clients.
    pub fn addresses(&self) -> String {
        self.open.to_string()
    }

    /// The address at which `ann` logs in.
    pub fn guarded(&self) -> String {
        self.guarded.to_string()
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
}
