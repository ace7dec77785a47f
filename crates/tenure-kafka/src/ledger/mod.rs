//! The ledger of the protocol, on Kafka: requests go in, reports come out, in the order of events.
//! Only threads of the ledger wait for brokers.
//!
//! | thread | does | waits for |
//! |---|---|---|
//! | `tenure-member` | polls the member of the group, answers rebalances | the next event |
//! | `tenure-ends` | looks up the ends of partitions, and the topic | answers, at most `seek` |
//! | `tenure-observer` | polls a reader outside the group | the next event |
//! | `tenure-topic` | queries whether the topic is still the same | an answer |
//! | `tenure-end` | ends a client | its look-ups of names |
//! | the producer's | takes the outcomes of records | the next event |
//!
//! The member accepts an assignment without reading. When the protocol asks for a partition, the
//! ledger queries the partition's end, and the library reads from exactly that offset. The member
//! answers a revocation when the protocol says so, and always before `max.poll.interval.ms` is
//! over. The member polls all the time, and so stays a member.

mod callbacks;
mod eager;
mod ends;
mod member;
mod observer;
mod pace;
mod queue;
mod reading;
mod rights;
mod topic_watch;
mod wake_up;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use tenure_core::nele::{Checked, Partition, Reading, RebalanceId, Report, Request};
use tokio::sync::broadcast::Sender;
use tokio::sync::watch;

use self::member::{Ask, Member, MemberSetup};
use self::observer::Observer;
use self::queue::Queue;
use self::rights::{Right, Rights};
use self::topic_watch::Watch;
use self::writer::Writer;
use crate::login::LoginError;
use crate::notice::Notice;
use crate::options::{Assignor, CheckedOptions, GroupProtocol};
use crate::{client_end, client_settings, explain};

pub struct Ledger {
    protocol: Checked,
    topic: String,
    group_protocol: GroupProtocol,
    assignor: Assignor,
    member_config: ClientConfig,
    reader_config: ClientConfig,
    queue: Queue,
    rebalances: Arc<AtomicU64>,
    member: Option<Member>,
    observer: Option<Observer>,
    writer: Option<Writer>,
    rights: Rights,
    watch: Watch,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("topic", &self.topic).finish_non_exhaustive()
    }
}

/// The reason why there is no ledger.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LedgerError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error("the client cannot be set up: {why}")]
    Client {
        /// The library's words, without values of properties, which may be secrets.
        why: String,
    },
}

impl From<KafkaError> for LedgerError {
    fn from(error: KafkaError) -> Self {
        Self::Client { why: explain::error(&error, None).to_string() }
    }
}

impl Ledger {
    /// Notes that brokers have given this user the right to read the topic. A later refusal then
    /// counts as a loss of that right.
    pub fn may_read(&self) {
        self.rights.has(Right::Topic);
    }

    /// A ledger on a topic that exists: see [`ensure`](crate::topic::ensure).
    ///
    /// # Errors
    ///
    /// When the client library refuses the settings. A silent broker is no error here.
    pub fn new(options: &CheckedOptions, protocol: Checked) -> Result<Self, LedgerError> {
        Self::with_notices(options, protocol, None)
    }

    /// Does the same as [`new`](Self::new), with `notices` about the topic for an operator.
    pub(crate) fn with_notices(
        options: &CheckedOptions,
        protocol: Checked,
        notices: Option<Sender<Notice>>,
    ) -> Result<Self, LedgerError> {
        let queue = Queue::default();
        let name = options.topic.clone();
        let writer = Writer::new(
            client_settings::producer(options, &protocol)?,
            name.clone(),
            &protocol,
            queue.clone(),
        )?;
        let reader_config = client_settings::reader(options, &protocol)?;
        let interval = protocol.publish_interval;
        let watch = Watch::start(&reader_config, name.clone(), interval, queue.clone(), notices)?;
        Ok(Self {
            member_config: client_settings::member(options, &protocol)?,
            reader_config,
            rights: Rights::new(protocol.takeover.max(protocol.max_poll_interval)),
            protocol,
            topic: name,
            group_protocol: options.group_protocol,
            assignor: options.assignor,
            queue,
            rebalances: Arc::default(),
            member: None,
            observer: None,
            writer: Some(writer),
            watch,
        })
    }

    /// Carries out a request. Waits for no broker; a new client takes some milliseconds.
    pub fn request(&mut self, request: &Request) {
        match request {
            Request::Join(membership) => self.join(*membership),
            Request::Leave(membership) => match self.member.take() {
                Some(member) => member.ask(Ask::Leave),
                None => self.queue.put(Report::Left(*membership)),
            },
            Request::GiveBack(rebalance) => self.ask(Ask::GiveBack(*rebalance)),
            Request::Read { partition, reading } if reading.rebalance == RebalanceId::NONE => {
                self.observe(*partition, *reading);
            }
            Request::Read { partition, reading } => self.ask(Ask::Read(*partition, *reading)),
            Request::Stop(reading) => {
                let is_it = |observer: &mut Observer| observer.reading == *reading;
                drop(self.observer.take_if(is_it));
            }
            Request::Publish { to, entry } => {
                if let Some(writer) = &mut self.writer {
                    writer.publish(*to, entry);
                }
            }
        }
    }

    /// Waits for the next report. Cancel safe.
    pub async fn next(&self) -> Report {
        self.queue.next().await
    }

    /// Takes a report that has come already.
    #[must_use]
    pub fn take(&self) -> Option<Report> {
        self.queue.take()
    }

    /// The reason why the member has had no assignment for a long time.
    pub(crate) fn joining(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.watch.phases()
    }

    fn ask(&self, ask: Ask) {
        if let Some(member) = &self.member {
            member.ask(ask);
        }
    }

    fn join(&mut self, membership: tenure_core::nele::Membership) {
        let begin = MemberSetup {
            config: self.member_config.clone(),
            topic: self.topic.clone(),
            protocol: self.protocol.clone(),
            group_protocol: self.group_protocol,
            assignor: self.assignor,
            silence: (self.group_protocol == GroupProtocol::Consumer)
                .then_some(self.protocol.session_timeout),
            rebalances: Arc::clone(&self.rebalances),
            queue: self.queue.clone(),
            rights: self.rights.clone(),
            watch: self.watch.clone(),
        };
        match Member::join(membership, begin) {
            // An earlier member that got no order to leave gets it now.
            Ok(member) => {
                if let Some(earlier) = self.member.replace(member) {
                    earlier.ask(Ask::Leave);
                }
            }
            Err(error) => {
                self.queue.put(Report::Fatal { why: explain::error(&error, None) });
            }
        }
    }

    fn observe(&mut self, partition: Partition, reading: Reading) {
        if self.observer.as_mut().is_some_and(|observer| observer.read(partition, reading)) {
            return;
        }
        let config = &self.reader_config;
        let topic = &self.topic;
        let protocol = &self.protocol;
        let queue = self.queue.clone();
        let started = Observer::start(config, topic, partition, reading, protocol, queue);
        self.observer = None;
        match started {
            Ok(observer) => self.observer = Some(observer),
            Err(error) => {
                let end = Err(explain::error(&error, None).into());
                self.queue.put(Report::Position { partition, reading, end });
            }
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.ask(Ask::Leave);
        let writer = self.writer.take();
        client_end::end_soon(|| drop(writer));
    }
}
