//! The stage of facts: servers, clients, and their words in short.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Subscriber};
use tenure_services::nats::{Cluster, SERVICE, Version};
use tenure_testkit::facts::{self, Failure};
use tokio_stream::StreamExt as _;

/// A wait that is long enough for any message that comes.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// A wait that is long enough in most cases.
pub(crate) const A_WHILE: Duration = Duration::from_millis(100);

/// A server that facts of one version share, started by the first fact that needs it.
pub(crate) struct Scenes {
    version: Version,
    single: OnceLock<Result<Cluster, String>>,
}

impl Scenes {
    pub(crate) fn new(version: Version) -> Self {
        Self { version, single: OnceLock::new() }
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
        usize::from(self.scenes.version == Version::Newest)
    }
}

impl Stage {
    pub(crate) fn new(fact: &Fact, scenes: &Arc<Scenes>) -> Self {
        Self { scenes: Arc::clone(scenes), name: fact.name }
    }

    pub(crate) fn version(&self) -> Version {
        self.scenes.version
    }

    /// A subject that no other fact on the same server uses.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The server that all facts share: do not disturb it.
    pub(crate) fn single(&self) -> Result<&Cluster, String> {
        let start = || Cluster::start(self.version(), 1).map_err(|error| error.to_string());
        self.scenes.single.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    /// Starts servers for one fact, which kills them.
    pub(crate) fn own(&self, servers: usize) -> Result<Cluster, tenure_services::Error> {
        Cluster::start(self.version(), servers)
    }

    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        connect(self.single()?.server(0).url()).await
    }
}

pub(crate) async fn connect(url: &str) -> Result<Client, Failure> {
    Ok(ConnectOptions::new().connection_timeout(SOON).connect(url).await?)
}

/// Subscribes, and waits until the server knows the subscription.
pub(crate) async fn subscribe(client: &Client, subject: &str) -> Result<Subscriber, Failure> {
    let subscriber = client.subscribe(subject.to_owned()).await?;
    let inbox = client.new_inbox();
    let mut own = client.subscribe(inbox.clone()).await?;
    client.publish(inbox, "".into()).await?;
    tokio::time::timeout(SOON, own.next()).await?.ok_or("the client has ended")?;
    Ok(subscriber)
}

/// Waits for the next message as text; `None` if no message comes in time.
pub(crate) async fn heard(subscriber: &mut Subscriber, within: Duration) -> Option<String> {
    let message = tokio::time::timeout(within, subscriber.next()).await.ok()??;
    Some(String::from_utf8_lossy(&message.payload).into_owned())
}
