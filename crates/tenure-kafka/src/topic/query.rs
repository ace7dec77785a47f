//! Queries the topic at the brokers, and makes it.

use std::convert::Infallible;
use std::ffi::CString;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigEntry, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::{Client, ClientContext};
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use tenure::clock::now;
use tenure_core::nele::{Cause, Config, Mode, TopicId};
use tokio::sync::oneshot;

use super::checks::{Found, Needs, REPLICATION_MIN, WrongTopic, flags};
use crate::client_log::{ClientLog, Reason};
use crate::load::Load;
use crate::login::LoginError;
use crate::native::Rights;
use crate::options::{CheckedOptions, Options};
use crate::session_timeout::{self, Session, SessionError};
use crate::{client_settings, explain, native};

/// The longest wait for the answer to a question.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);

/// The pause between two searches for the reason of a silence at the start.
const SILENT: Duration = Duration::from_millis(500);

/// The maximum number of log events of a client in which the reason is searched.
const EVENTS_MAX: u32 = 256;

/// The longest time until one broker knows a topic that another broker knows.
const HEARSAY: Duration = Duration::from_secs(3);

/// The pause between two queries of a new topic.
const BETWEEN_QUERIES: Duration = Duration::from_millis(100);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    pub id: TopicId,
    pub anew: bool,
    pub session: Session,
    /// The largest amount that this process writes.
    pub load: Load,
    /// Whether brokers have said that this user may read the topic.
    pub may_read: bool,
    /// The bytes of the largest record that the topic takes, if known.
    pub record_max: Option<u32>,
}

/// Makes the topic if it is missing and `options` allow this, and checks that the protocol can use
/// it. Takes up to half a minute if no broker answers.
///
/// # Errors
///
/// When the topic is missing, cannot be used, or cannot be read.
pub async fn ensure(options: &CheckedOptions, protocol: &Config) -> Result<Made, TopicError> {
    ensure_aloud(options, protocol, &|_| ()).await
}

/// Receives the reason of a silence at the start.
pub(crate) type Tell = dyn Fn(&TopicError) + Send + Sync;

/// Does the same as [`ensure`], and calls `tell` with the reason of a silence at the start whenever
/// the reason changes.
pub(crate) async fn ensure_aloud(
    options: &CheckedOptions,
    protocol: &Config,
    tell: &Tell,
) -> Result<Made, TopicError> {
    let asks = TopicQuery::new(options, protocol)?;
    let anew = match asks.first(tell).await? {
        Some(_) => false,
        None => asks.make().await?,
    };
    let (partitions, replication) = asks.shape().await?.ok_or_else(|| asks.missing())?;
    let settings = soon(|| asks.settings()).await?;
    let found = Found { partitions, replication, settings };
    asks.needs.check(&found, &options.addresses())?;
    let session = asks.session(protocol).await?;
    let (id, rights) = soon(|| asks.id()).await?;
    asks.allows(rights)?;
    let may_read = rights.is_some_and(|rights| rights.read);
    let record_max = found.record_max();
    Ok(Made { id, anew, session, load: asks.load, may_read, record_max })
}

/// Repeats a question for a while. The topic may be new, and each question may go to another broker
/// that does not know the topic yet.
async fn soon<T, F>(ask: impl Fn() -> F) -> Result<T, TopicError>
where
    F: Future<Output = Result<T, TopicError>>,
{
    let until = now().after(HEARSAY);
    loop {
        match ask().await {
            Err(_) if now() < until => tokio::time::sleep(BETWEEN_QUERIES).await,
            answer => return answer,
        }
    }
}

/// The reason why a topic cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TopicError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error("the client cannot be set up: {why}")]
    Client { why: String },
    #[error("{0}")]
    Unreachable(Cause),
    #[error("there is no topic {topic}: give --create-topic, or make the topic:\n    {command}")]
    Missing { topic: String, command: String },
    #[error("topic {topic} cannot be made: {why}\nA user with the right can run:\n    {command}")]
    NotMade { topic: String, why: String, command: String },
    #[error(
        "topic {topic} cannot be made with {copies} copies: there are fewer brokers\n\
         Start more brokers; or give --allow-unreplicated to accept a topic that is lost with its \
         broker"
    )]
    TooFewBrokers { topic: String, copies: u16 },
    #[error(
        "the settings of topic {topic} cannot be read: {why}\nThis command gives the right:\n    \
         kafka-acls.sh --bootstrap-server {brokers} --add --allow-principal User:NAME --operation \
         DescribeConfigs --topic {topic}"
    )]
    NotDescribed { topic: String, brokers: String, why: String },
    #[error(
        "this user may not {may_not} topic {topic}; a candidate must read and write the topic\n\
         This command gives the right:\n    \
         kafka-acls.sh --bootstrap-server {brokers} --add --allow-principal User:NAME{operations} \
         --topic {topic}"
    )]
    NoRight {
        topic: String,
        brokers: String,
        may_not: &'static str,
        /// Operations as `kafka-acls` names them.
        operations: &'static str,
    },
    #[error(transparent)]
    Wrong(#[from] WrongTopic),
    #[error("{0}: {fix}", fix = .0.fix())]
    Session(SessionError),
}

impl TopicError {
    /// Whether the error may pass by itself: brokers do not answer, but none refuses.
    #[must_use]
    pub fn passes(&self) -> bool {
        let Self::Unreachable(why) = self else { return false };
        why.fix.is_none_or(|fix| fix == explain::CHECK_BROKERS)
    }
}

impl From<SessionError> for TopicError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

struct TopicQuery<'a> {
    options: &'a Options,
    needs: Needs,
    load: Load,
    admin: Arc<AdminClient<ClientLog>>,
    client: Arc<BaseConsumer<ClientLog>>,
    /// Keeps the thread of [`keep`] running. The field stands after the clients, so that this
    /// thread drops them last.
    _keeper: Sender<Infallible>,
}

impl<'a> TopicQuery<'a> {
    fn new(options: &'a CheckedOptions, protocol: &Config) -> Result<Self, TopicError> {
        let config = client_settings::client(options, protocol.id.as_str())?;
        let refused = |error: KafkaError| TopicError::Client {
            why: explain::error(&error, None).to_string(),
        };
        let most = u32::try_from(protocol.limits.roles).unwrap_or(u32::MAX);
        let roles = options.roles.map_or(most, |roles| roles.min(most));
        let load = Load::of(protocol, usize::try_from(roles).unwrap_or(usize::MAX));
        let unasked = if options.allow_unreplicated { 1 } else { REPLICATION_MIN };
        let needs = Needs {
            topic: options.topic.clone(),
            partitions: protocol.partitions,
            retention: protocol.retention(),
            replicated: protocol.mode == Mode::AtMostOne && !options.allow_unreplicated,
            strict: protocol.mode == Mode::AtMostOne,
            copies: options.create.map_or(unasked, u32::from),
            only_asks: options.only_asks,
            // A process that only queries leaders does not set the size of records.
            largest: if options.only_asks { 0 } else { load.largest },
        };
        let admin = config.create_with_context(ClientLog::default()).map_err(refused)?;
        let client = config.create_with_context(ClientLog::default()).map_err(refused)?;
        let admin = Arc::new(admin);
        let client = Arc::new(client);
        let keeper = keep((Arc::clone(&admin), Arc::clone(&client))).map_err(refused)?;
        Ok(Self { options, needs, load, admin, client, _keeper: keeper })
    }

    /// The number of partitions, and the copies of the partition with the fewest; `None` without
    /// such a topic.
    async fn shape(&self) -> Result<Option<(u32, u32)>, TopicError> {
        self.query_shape().await.map_err(|error| self.unreachable(&error))
    }

    async fn query_shape(&self) -> KafkaResult<Option<(u32, u32)>> {
        let client = Arc::clone(&self.client);
        let topic = self.options.topic.clone();
        aside(move || shape(&client, &topic, ANSWER)).await
    }

    /// Queries the topic as the first question of a start; calls `tell` with the reason while no
    /// broker answers.
    async fn first(&self, tell: &Tell) -> Result<Option<(u32, u32)>, TopicError> {
        let mut shape = pin!(self.query_shape());
        let mut reason = None;
        let mut reported = String::new();
        loop {
            let answer = tokio::time::timeout(SILENT, &mut shape).await;
            // Keep the last reason: the library logs each reason only once in half a minute.
            reason = Reason::last(self.reason(), reason);
            let silence = KafkaError::MetadataFetch(RDKafkaErrorCode::BrokerTransportFailure);
            let why = match answer {
                Ok(Ok(shape)) => return Ok(shape),
                Ok(Err(error)) => return Err(self.because(&error, reason.as_ref())),
                Err(_) => self.because(&silence, reason.as_ref()),
            };
            let text = why.to_string();
            if text != reported {
                tell(&why);
                reported = text;
            }
        }
    }

    /// The id of the topic, and this user's rights on it.
    async fn id(&self) -> Result<(TopicId, Option<Rights>), TopicError> {
        let client = Arc::clone(&self.client);
        let topic = self.options.topic.clone();
        let look = aside(move || {
            let client = client.client();
            let (topic, rights) = native::topic_rights(client, &CString::new(topic)?, ANSWER)?;
            Ok((TopicId { cluster: cluster(client, ANSWER)?, topic }, rights))
        });
        look.await.map_err(|error| self.unreachable(&error))
    }

    /// Checks the rights now. Otherwise a missing right would show only at the first write, when
    /// the process is to lead.
    fn allows(&self, rights: Option<Rights>) -> Result<(), TopicError> {
        let Some(Rights { read, write }) = rights.filter(|_| !self.options.only_asks) else {
            return Ok(());
        };
        let (may_not, operations) = match (read, write) {
            (true, true) => return Ok(()),
            (true, false) => ("write to", " --operation Write"),
            (false, true) => ("read", " --operation Read"),
            (false, false) => ("read or write to", " --operation Read --operation Write"),
        };
        let topic = self.options.topic.clone();
        let brokers = self.options.addresses();
        Err(TopicError::NoRight { topic, brokers, may_not, operations })
    }

    async fn settings(&self) -> Result<Vec<(String, Option<String>)>, TopicError> {
        let topic = ResourceSpecifier::Topic(&self.options.topic);
        let answer = self.admin.describe_configs([&topic], &bounded()).await;
        let refused = |why: String| TopicError::NotDescribed {
            topic: self.options.topic.clone(),
            brokers: self.options.addresses(),
            why,
        };
        let found = answer.map_err(|error| self.failed(&error, refused))?;
        match found.into_iter().next() {
            // A user without the right gets an empty answer, as `rdkafka` drops the error.
            Some(Ok(found)) if found.entries.is_empty() => Err(refused(
                "the answer has no settings, as for a user without the right".to_owned(),
            )),
            Some(Ok(found)) => {
                Ok(found.entries.into_iter().map(|entry| (entry.name, entry.value)).collect())
            }
            Some(Err(code)) => Err(refused(code.to_string())),
            None => Err(refused("the answer is empty".to_owned())),
        }
    }

    /// The session timeout in use. A timeout that this user may not read is no error.
    async fn session(&self, protocol: &Config) -> Result<Session, SessionError> {
        let client = Arc::clone(&self.client);
        let topic = self.options.topic.clone();
        let broker = aside(move || {
            client.fetch_metadata(Some(&topic), ANSWER).map(|metadata| metadata.orig_broker_id())
        });
        let broker = broker.await.unwrap_or(0);
        let group = protocol.group_id();
        let [of_broker, of_group] = session_timeout::resources(broker, &group);
        let broker = self.times(of_broker).await;
        let group = self.times(of_group).await;
        let find = |times: &[(String, Duration)], name: &str| {
            times.iter().find(|(of, _)| of == name).map(|(_, time)| *time)
        };
        let broker = session_timeout::NAMES.map(|name| find(&broker, name));
        let group = session_timeout::OF_GROUP.map(|name| find(&group, name));
        session_timeout::check(self.options.group_protocol, protocol, broker, group)
    }

    /// Reads the settings of a resource whose values are numbers of milliseconds. Leaves out any
    /// setting that cannot be read.
    async fn times(&self, of: ResourceSpecifier<'_>) -> Vec<(String, Duration)> {
        let found = self.admin.describe_configs([&of], &bounded()).await.unwrap_or_default();
        let entries = found.into_iter().filter_map(Result::ok).flat_map(|found| found.entries);
        let time = |entry: ConfigEntry| {
            let millis = entry.value?.parse().ok()?;
            Some((entry.name, Duration::from_millis(millis)))
        };
        entries.filter_map(time).collect()
    }

    /// Makes the topic. Returns `false` if another process was faster.
    async fn make(&self) -> Result<bool, TopicError> {
        let Some(copies) = self.options.create else { return Err(self.missing()) };
        let settings = self.needs.made_with();
        let partitions = i32::try_from(self.needs.partitions).unwrap_or(i32::MAX);
        let copies = TopicReplication::Fixed(copies.into());
        let mut topic = NewTopic::new(&self.options.topic, partitions, copies);
        for (name, value) in &settings {
            topic = topic.set(name, value);
        }
        let refused = |why: String| TopicError::NotMade {
            topic: self.options.topic.clone(),
            why,
            command: self.command(),
        };
        let answer = self.admin.create_topics([&topic], &bounded()).await;
        let made = answer.map_err(|error| self.failed(&error, refused))?;
        let anew = match made.into_iter().next() {
            Some(Ok(_)) => true,
            Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => false,
            Some(Err((topic, RDKafkaErrorCode::InvalidReplicationFactor))) => {
                let copies = self.options.create.unwrap_or_default();
                return Err(TopicError::TooFewBrokers { topic, copies });
            }
            Some(Err((_, code))) => return Err(refused(not_made(code))),
            None => return Err(refused("the answer is empty".to_owned())),
        };
        // Brokers learn of a new topic one after the other.
        let there = async {
            while !matches!(self.shape().await, Ok(Some(_))) {
                tokio::time::sleep(BETWEEN_QUERIES).await;
            }
        };
        let waited = tokio::time::timeout(ANSWER, there).await;
        waited.map_err(|_| refused(format!("the new topic does not appear within {ANSWER:?}")))?;
        Ok(anew)
    }

    fn missing(&self) -> TopicError {
        TopicError::Missing { topic: self.options.topic.clone(), command: self.command() }
    }

    fn command(&self) -> String {
        let Needs { topic, partitions, copies, .. } = &self.needs;
        let settings = flags(&self.needs.made_with());
        format!(
            "kafka-topics.sh --bootstrap-server {} --create --topic {topic} --partitions \
             {partitions} --replication-factor {copies}{settings}",
            self.options.addresses()
        )
    }

    /// The error of a failed request: without an answer, or refused.
    fn failed(&self, error: &KafkaError, refused: impl Fn(String) -> TopicError) -> TopicError {
        if explain::is_silence(error) {
            self.unreachable(error)
        } else {
            refused(explain::error(error, None).to_string())
        }
    }

    fn unreachable(&self, error: &KafkaError) -> TopicError {
        self.because(error, self.reason().as_ref())
    }

    /// The reason of the last failure since the last call.
    fn reason(&self) -> Option<Reason> {
        // Each poll notes errors of the client's connections, which wait in the client's queue.
        for _ in 0..EVENTS_MAX {
            drop(self.client.poll(Duration::ZERO));
        }
        self.client.context().reason()
    }

    fn because(&self, error: &KafkaError, reason: Option<&Reason>) -> TopicError {
        let Cause { what, fix } = explain::error(error, reason);
        let brokers = self.options.addresses();
        let topic = &self.options.topic;
        let what = format!("topic {topic} cannot be queried at {brokers}: {what}").into();
        TopicError::Unreachable(Cause { what, fix })
    }
}

/// Runs `ask` on a thread of its own, so that a process or a runtime can end while no broker
/// answers.
async fn aside<T: Send + 'static>(
    ask: impl FnOnce() -> KafkaResult<T> + Send + 'static,
) -> KafkaResult<T> {
    let (reply, answer) = oneshot::channel();
    thread::Builder::new()
        .name("tenure-look".into())
        // The send fails if no caller waits any more; ignore it.
        .spawn(move || drop(reply.send(ask())))
        .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
    answer.await.unwrap_or(Err(KafkaError::Canceled))
}

/// Owns `clients` on a thread of its own until all other owners are gone. The library ends a client
/// only after the client's look-ups of names, so no other thread waits for the end. The thread ends
/// when the sender is dropped.
fn keep<T: Send + 'static>(clients: T) -> KafkaResult<Sender<Infallible>> {
    let (keeper, gone) = channel();
    let run = move || {
        // The receive fails when the sender is dropped: the thread ends.
        let _ = gone.recv();
        drop(clients);
    };
    let spawned = thread::Builder::new().name("tenure-end".into()).spawn(run);
    spawned.map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
    Ok(keeper)
}

fn bounded() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER)).operation_timeout(Some(ANSWER))
}

/// The number of partitions, and the copies of the partition with the fewest; `None` without such a
/// topic.
pub(crate) fn shape<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    wait: Duration,
) -> KafkaResult<Option<(u32, u32)>> {
    let metadata = client.fetch_metadata(Some(topic), wait)?;
    let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else {
        return Ok(None);
    };
    match found.error().map(RDKafkaErrorCode::from) {
        None => {}
        Some(
            RDKafkaErrorCode::UnknownTopicOrPartition
            | RDKafkaErrorCode::UnknownTopic
            | RDKafkaErrorCode::UnknownPartition,
        ) => return Ok(None),
        Some(code) => return Err(KafkaError::MetadataFetch(code)),
    }
    let partitions = found.partitions();
    let copies = partitions.iter().map(|partition| partition.replicas().len()).min();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(Some((count(partitions.len()), count(copies.unwrap_or(0)))))
}

/// Queries the identity of a topic. Asks twice, each time for at most the remaining time.
pub(crate) fn id<C: ClientContext>(
    client: &Client<C>,
    topic: &str,
    left: impl Fn() -> Duration,
) -> KafkaResult<TopicId> {
    let topic = native::topic_id(client, &CString::new(topic)?, left())?;
    Ok(TopicId { cluster: cluster(client, left())?, topic })
}

fn cluster<C: ClientContext>(client: &Client<C>, wait: Duration) -> KafkaResult<Arc<str>> {
    let cluster = client.fetch_cluster_id(wait);
    cluster.map(Arc::from).ok_or(KafkaError::MetadataFetch(RDKafkaErrorCode::OperationTimedOut))
}

fn not_made(code: RDKafkaErrorCode) -> String {
    use RDKafkaErrorCode::{ClusterAuthorizationFailed, TopicAuthorizationFailed};
    match code {
        ClusterAuthorizationFailed | TopicAuthorizationFailed => {
            format!("{code}: this user may not (kafka-acls.sh --operation Create --topic)")
        }
        code => code.to_string(),
    }
}
