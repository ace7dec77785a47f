//! The stage of facts: servers, clients, and their words in short.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use etcd_client::{Client, Error as EtcdError};
use rustix::time::{ClockId, clock_gettime};
use tenure_services::etcd::{Cluster, SERVICE, Version};
use tenure_testkit::facts::{self, Failure};

use crate::quorum;

type Shared = OnceLock<Result<Cluster, String>>;

/// Clusters that facts of one version share, each started by the first fact that needs it.
pub(crate) struct Scenes {
    pub(crate) version: Version,
    single: Shared,
    minority: Shared,
}

impl Scenes {
    pub(crate) fn new(version: Version) -> Self {
        Self { version, single: OnceLock::new(), minority: OnceLock::new() }
    }
}

pub(crate) type Fact = facts::Fact<Stage>;

#[derive(Clone)]
pub(crate) struct Stage {
    scenes: Arc<Scenes>,
    name: &'static str,
}

impl facts::Stage for Stage {
    fn versions() -> [String; 2] {
        SERVICE.numbers()
    }

    fn version(&self) -> usize {
        usize::from(self.version() == Version::Newest)
    }
}

impl Stage {
    pub(crate) fn new(fact: &Fact, scenes: &Arc<Scenes>) -> Self {
        Self { scenes: Arc::clone(scenes), name: fact.name }
    }

    pub(crate) fn version(&self) -> Version {
        self.scenes.version
    }

    /// A name for one key or several, which no other fact on the same server uses.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The member that all facts share: do not disturb it.
    pub(crate) fn single(&self) -> Result<&Cluster, String> {
        shared(&self.scenes.single, || Cluster::start(self.version(), 1))
    }

    /// Three members of which only the first runs: see [`quorum::minority`].
    pub(crate) fn minority(&self) -> Result<&Cluster, String> {
        shared(&self.scenes.minority, || quorum::minority(self.version()))
    }

    /// A cluster of one member for this fact alone, which restores it.
    pub(crate) fn own(&self) -> Result<Cluster, tenure_services::Error> {
        Cluster::start(self.version(), 1)
    }

    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        Ok(connect(self.single()?, 0).await?)
    }
}

fn shared(
    scene: &Shared,
    start: impl FnOnce() -> Result<Cluster, tenure_services::Error>,
) -> Result<&Cluster, String> {
    let cluster = scene.get_or_init(|| start().map_err(|error| error.to_string()));
    cluster.as_ref().map_err(Clone::clone)
}

pub(crate) async fn connect(cluster: &Cluster, member: usize) -> Result<Client, EtcdError> {
    Client::connect([cluster.member(member).endpoint()], None).await
}

/// A status as `Code: message`, and other errors as they are.
pub(crate) fn words(error: &EtcdError) -> String {
    match error {
        EtcdError::GRpcStatus(status) => format!("{:?}: {}", status.code(), status.message()),
        other => other.to_string(),
    }
}

/// Whether a call succeeded; its answer does not matter.
pub(crate) fn outcome<T>(result: &Result<T, EtcdError>) -> String {
    result.as_ref().map_or_else(words, |_| "accepted".to_owned())
}

/// The time since the machine started.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs().try_into().unwrap())
}
