//! A member of etcd, and its clients.

use std::thread;
use std::time::Duration;

use etcd_client::Client;
use tenure_etcd::{Config, Node, Options};
use tenure_services::etcd::{Cluster, Version};
use tokio::runtime::{Builder, Handle};

use crate::Result;

pub(crate) const VERSION: Version = Version::Newest;

/// A lease so long that no measurement has a renewal.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

pub(crate) fn start() -> Result<Cluster> {
    Ok(Cluster::start(VERSION, 1)?)
}

/// A node of this process: with a thread, a connection and a lease of its own.
pub(crate) fn node(cluster: &Cluster, lease: Duration) -> Result<Node> {
    node_at(cluster.member(0).endpoint(), lease)
}

pub(crate) fn node_at(endpoint: &str, lease: Duration) -> Result<Node> {
    let config = Config { lease, ..Config::default() }.check()?;
    Ok(Node::builder(config, Options::new(vec![endpoint.parse()?]).check()?).start()?)
}

/// A client with a thread and a connection of its own, like a node. Clones share them.
#[derive(Clone)]
pub(crate) struct Party {
    thread: Handle,
    pub(crate) client: Client,
}

impl Party {
    pub(crate) async fn start(cluster: &Cluster) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = runtime.handle().clone();
        thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        let endpoints = cluster.endpoints();
        let client = thread.spawn(Client::connect(endpoints, None)).await??;
        Ok(Self { thread, client })
    }

    /// Starts a future on the party's thread.
    pub(crate) fn run<T: Send + 'static, F, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T>> + use<T, F, W>
    where
        W: FnOnce(Client) -> F,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let done = self.thread.spawn(work(self.client.clone()));
        async { done.await? }
    }
}
