//! Members of groups: `rdkafka` as it comes, which says what happens to it; on a thread of this
//! process, or in a process of its own, which can be stopped.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use tenure_services::Process;
use tenure_testkit::facts::Failure;
use tokio::sync::mpsc;

use crate::stage::SOON;

/// Set for a member in a process of its own, to its settings: see [`run`].
pub(crate) const ROLE: &str = "TENURE_FACTS_MEMBER";

/// What happens to a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
    Lost(Vec<i32>),
    /// Partition and offset.
    Read(i32, i64),
    Failed(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assigned(partitions) => write!(f, "assigned {partitions:?}"),
            Self::Revoked(partitions) => write!(f, "revoked {partitions:?}"),
            Self::Lost(partitions) => write!(f, "lost {partitions:?}"),
            Self::Read(partition, offset) => write!(f, "read {partition} {offset}"),
            Self::Failed(why) => write!(f, "failed {why}"),
        }
    }
}

/// Whom a member tells.
struct Context<T> {
    tell: T,
    /// Whether partitions are given back at once.
    gives_back: Arc<AtomicBool>,
}

impl<T: Fn(Event) + Send + Sync> ClientContext for Context<T> {
    fn error(&self, error: KafkaError, reason: &str) {
        (self.tell)(Event::Failed(format!("{error}: {reason}")));
    }
}

impl<T: Fn(Event) + Send + Sync> ConsumerContext for Context<T> {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        error: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let partitions = list.elements().iter().map(|element| element.partition()).collect();
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        if error == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            list.set_all_offsets(Offset::End).unwrap();
            match cooperative {
                true => consumer.incremental_assign(list).unwrap(),
                false => consumer.assign(list).unwrap(),
            }
            return (self.tell)(Event::Assigned(partitions));
        }
        (self.tell)(match consumer.assignment_lost() {
            true => Event::Lost(partitions),
            false => Event::Revoked(partitions),
        });
        if !self.gives_back.load(Ordering::SeqCst) {
            return;
        }
        match cooperative {
            true => consumer.incremental_unassign(list).unwrap(),
            false => consumer.unassign().unwrap(),
        }
    }
}

/// Settings of a member as the protocol has them.
pub(crate) fn settings(brokers: &str, group: &str) -> ClientConfig {
    let mut config = crate::stage::client(brokers);
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error");
    config
}

/// The classic protocol, with these times.
pub(crate) fn classic(config: &mut ClientConfig, session: &str, poll: &str) {
    config
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", session)
        .set("heartbeat.interval.ms", "300")
        .set("max.poll.interval.ms", poll);
}

/// The newer protocol, whose times are the group's.
pub(crate) fn newer(config: &mut ClientConfig, poll: &str) {
    config.set("group.protocol", "consumer").set("max.poll.interval.ms", poll);
}

/// A member on a thread of its own. Dropping it has it leave.
pub(crate) struct Member {
    events: mpsc::UnboundedReceiver<Event>,
    leaves: Arc<AtomicBool>,
    polls: Arc<AtomicBool>,
    gives_back: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Member {
    pub(crate) fn join(config: &ClientConfig, topic: &str) -> Result<Self, Failure> {
        let (tell, events) = mpsc::unbounded_channel();
        let flag = |value| Arc::new(AtomicBool::new(value));
        let (leaves, polls, gives_back) = (flag(false), flag(true), flag(true));
        let tell = move |event| drop(tell.send(event));
        let context = Context { tell: tell.clone(), gives_back: Arc::clone(&gives_back) };
        let consumer: BaseConsumer<_> = config.create_with_context(context)?;
        consumer.subscribe(&[topic])?;
        let thread = thread::spawn({
            let (leaves, polls) = (Arc::clone(&leaves), Arc::clone(&polls));
            move || {
                while !leaves.load(Ordering::SeqCst) {
                    match polls.load(Ordering::SeqCst) {
                        true => poll(&consumer, &tell),
                        false => thread::sleep(Duration::from_millis(10)),
                    }
                }
            }
        });
        Ok(Self { events, leaves, polls, gives_back, thread: Some(thread) })
    }

    /// Whether it asks the library for what there is.
    pub(crate) fn polls(&self, polls: bool) {
        self.polls.store(polls, Ordering::SeqCst);
    }

    /// Whether it gives back what is revoked.
    pub(crate) fn gives_back(&self, gives_back: bool) {
        self.gives_back.store(gives_back, Ordering::SeqCst);
    }

    /// The first event of which that is so, of those that come `within` a time.
    pub(crate) async fn wait(
        &mut self,
        within: Duration,
        is_it: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        let seen = async {
            loop {
                match self.events.recv().await {
                    Some(event) if is_it(&event) => return Some(event),
                    Some(_) => {}
                    None => return None,
                }
            }
        };
        tokio::time::timeout(within, seen).await.ok()?
    }

    /// Waits until so many partitions are assigned to it at once.
    pub(crate) async fn owns(&mut self, partitions: usize) -> Result<(), Failure> {
        let event = self
            .wait(SOON, |event| matches!(event, Event::Assigned(all) if all.len() == partitions));
        event.await.map(drop).ok_or_else(|| format!("no {partitions} partitions").into())
    }

    /// What came in so far.
    pub(crate) fn so_far(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// Has it leave, and waits for that.
    pub(crate) fn leave(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.leaves.store(true, Ordering::SeqCst);
        self.gives_back(true);
        // A panic was printed by the thread itself.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end();
    }
}

fn poll<T: Fn(Event) + Send + Sync>(consumer: &BaseConsumer<Context<T>>, tell: &impl Fn(Event)) {
    match consumer.poll(Duration::from_millis(50)) {
        None => {}
        Some(Ok(message)) => tell(Event::Read(message.partition(), message.offset())),
        Some(Err(error)) => tell(Event::Failed(error.to_string())),
    }
}

/// A member in a process of its own, and the file that it writes to.
pub(crate) struct Apart {
    pub(crate) process: Process,
    log: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Apart {
    pub(crate) fn join(config: &ClientConfig, topic: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("events");
        let settings =
            config.config_map().into_iter().map(|(key, value)| format!("{key}={value}\n"));
        let order = format!("{topic}\n{}", settings.collect::<String>());
        let arguments = [format!("{ROLE}={order}"), std::env::current_exe()?.display().to_string()];
        let process = Process::start("env".as_ref(), &arguments, &log)?;
        Ok(Self { process, log, _folder: folder })
    }

    /// What it has said so far, a line for each event.
    pub(crate) fn said(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until it has said something of which that is so.
    pub(crate) async fn wait(&self, is_it: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let heard = async {
            while !self.said().iter().any(|line| is_it(line)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let late = |_| format!("said no more than {:?}", self.said());
        Ok(tokio::time::timeout(SOON, heard).await.map_err(late)?)
    }
}

/// A member in a process of its own: what it joins stands on the first line, its settings on the
/// others.
#[expect(clippy::print_stdout, reason = "it is read by the process that started it")]
pub(crate) fn run(order: &str) -> ExitCode {
    let mut lines = order.lines();
    let topic = lines.next().unwrap_or_default();
    let mut config = ClientConfig::new();
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        config.set(key, value);
    }
    let tell = |event| {
        println!("{event}");
        std::io::stdout().flush().unwrap();
    };
    let gives_back = Arc::new(AtomicBool::new(true));
    let consumer: BaseConsumer<_> =
        config.create_with_context(Context { tell, gives_back }).unwrap();
    consumer.subscribe(&[topic]).unwrap();
    loop {
        poll(&consumer, &tell);
    }
}
