//! The stage of facts: brokers, topics, and plain clients.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use tenure_services::kafka::{SERVICE, SHARED_VERSION, Shared, Version, shared, unique};
use tenure_testkit::facts::{self, Failure};

/// A wait that is long enough for any event that comes.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Brokers that facts of one version share, started by the first fact that needs them.
pub(crate) struct Scenes {
    version: Version,
    single: OnceLock<Result<Shared, String>>,
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
    name: String,
}

impl facts::Stage for Stage {
    const COMMON: usize = 0;

    fn versions() -> [String; 2] {
        SERVICE.numbers()
    }

    fn version(&self) -> usize {
        usize::from(self.scenes.version == Version::Newest)
    }
}

impl Stage {
    pub(crate) fn new(fact: &Fact, scenes: &Arc<Scenes>) -> Self {
        Self { scenes: Arc::clone(scenes), name: unique(fact.name) }
    }

    pub(crate) fn version(&self) -> Version {
        self.scenes.version
    }

    /// A name for topics and groups that no other fact on the same brokers uses.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The broker that all facts share: do not disturb it.
    pub(crate) fn single(&self) -> Result<&Shared, String> {
        let start = || match self.version() {
            SHARED_VERSION => shared(),
            version => Shared::start(version),
        };
        let start = || start().map_err(|error| error.to_string());
        self.scenes.single.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    /// Sets the session timeout of this fact's group, if it has the newer protocol.
    pub(crate) fn set_session(&self, millis: &str) -> Result<(), Failure> {
        let setting = "consumer.session.timeout.ms";
        Ok(self.single()?.set_of_group(&self.name, setting, millis)?)
    }

    /// Makes the topic of this fact on the shared broker, and returns its address.
    pub(crate) async fn topic(&self, partitions: i32) -> Result<String, Failure> {
        let brokers = self.single()?.addresses();
        create(&brokers, &self.name, partitions).await?;
        Ok(brokers)
    }
}

pub(crate) fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config
}

pub(crate) fn admin(brokers: &str) -> Result<AdminClient<DefaultClientContext>, Failure> {
    Ok(client(brokers).create()?)
}

/// Makes a topic with one copy of each partition.
pub(crate) async fn create(brokers: &str, name: &str, count: i32) -> Result<(), Failure> {
    let topic = NewTopic::new(name, count, TopicReplication::Fixed(1));
    let options = AdminOptions::new().operation_timeout(Some(SOON));
    for result in admin(brokers)?.create_topics(&[topic], &options).await? {
        result.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    // Other brokers learn of the topic a moment later.
    let asks: BaseConsumer = client(brokers).create()?;
    let is_there = || {
        let metadata = asks.fetch_metadata(Some(name), SOON).ok()?;
        let partitions = metadata.topics().first()?.partitions();
        let led = partitions.iter().all(|partition| partition.leader() >= 0);
        Some(led && i32::try_from(partitions.len()) == Ok(count))
    };
    let waited = async {
        while is_there() != Some(true) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    Ok(tokio::time::timeout(SOON, waited).await?)
}

/// Takes the outcome of the last record.
#[derive(Default)]
pub(crate) struct Outcome {
    failed: Mutex<Option<KafkaError>>,
}

impl ClientContext for Outcome {}

impl ProducerContext for Outcome {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        *self.failed.lock().unwrap() = result.as_ref().err().map(|(error, _)| error.clone());
    }
}

/// A producer with the settings of the protocol.
pub(crate) fn producer(brokers: &str) -> Result<BaseProducer<Outcome>, Failure> {
    let mut config = client(brokers);
    config.set("enable.idempotence", "true").set("linger.ms", "0");
    Ok(config.set("delivery.timeout.ms", "60000").create_with_context(Outcome::default())?)
}

/// Appends a record with neither key nor value, and waits for its acknowledgement.
pub(crate) fn append(
    producer: &BaseProducer<Outcome>,
    topic: &str,
    partition: i32,
) -> Result<(), Failure> {
    let headers = OwnedHeaders::new().insert(Header { key: "nonce", value: Some("17") });
    let record = BaseRecord::<(), ()>::to(topic).partition(partition).headers(headers);
    producer.send(record).map_err(|(error, _)| error)?;
    producer.flush(SOON)?;
    producer.context().failed.lock().unwrap().take().map_or(Ok(()), |error| Err(error.into()))
}
