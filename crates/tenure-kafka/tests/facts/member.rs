//! Members of groups: plain `rdkafka` clients that print their events, each in its own process,
//! which a test can stop.

use std::fmt::Arguments;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use tenure_services::Process;
use tenure_testkit::facts::Failure;

use crate::stage::SOON;

/// The environment variable of a member's process: its topic and settings, see [`run`].
pub(crate) const ROLE: &str = "TENURE_FACTS_MEMBER";

pub(crate) fn settings(brokers: &str, group: &str) -> ClientConfig {
    let mut config = crate::stage::client(brokers);
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error");
    config
}

pub(crate) fn classic(config: &mut ClientConfig, session: &str, poll: &str) {
    config
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", session)
        .set("heartbeat.interval.ms", "300")
        .set("max.poll.interval.ms", poll);
}

/// Sets the newer protocol, in which the session timeout belongs to the group.
pub(crate) fn newer(config: &mut ClientConfig, poll: &str) {
    config.set("group.protocol", "consumer").set("max.poll.interval.ms", poll);
}

/// A member, and its output file. A drop kills the member.
pub(crate) struct Member {
    pub(crate) process: Process,
    log: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Member {
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

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether the member has printed a line that begins with `begins`.
    pub(crate) fn has_said(&self, begins: &str) -> bool {
        self.said().lines().any(|line| line.starts_with(begins))
    }

    /// Waits until the member prints a line that begins with `begins`.
    pub(crate) async fn wait(&self, begins: &str) -> Result<(), Failure> {
        let heard = async {
            while !self.has_said(begins) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let late = |_| format!("said no more than {}", self.said());
        Ok(tokio::time::timeout(SOON, heard).await.map_err(late)?)
    }
}

struct Context;

impl ClientContext for Context {
    fn error(&self, error: KafkaError, reason: &str) {
        tell(format_args!("failed {error}: {reason}"));
    }
}

impl ConsumerContext for Context {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        error: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let partitions: Vec<_> =
            list.elements().iter().map(|element| element.partition()).collect();
        if error == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            list.set_all_offsets(Offset::End).unwrap();
            consumer.incremental_assign(list).unwrap();
            return tell(format_args!("assigned {partitions:?}"));
        }
        let what = if consumer.assignment_lost() { "lost" } else { "revoked" };
        tell(format_args!("{what} {partitions:?}"));
        consumer.incremental_unassign(list).unwrap();
    }
}

#[expect(clippy::print_stdout, reason = "it is read by the process that started it")]
fn tell(line: Arguments<'_>) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Runs a member: the first line of `order` is its topic, the other lines are its settings.
pub(crate) fn run(order: &str) -> ExitCode {
    let mut lines = order.lines();
    let topic = lines.next().unwrap_or_default();
    let mut config = ClientConfig::new();
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        config.set(key, value);
    }
    let consumer: BaseConsumer<_> = config.create_with_context(Context).unwrap();
    consumer.subscribe(&[topic]).unwrap();
    loop {
        match consumer.poll(Duration::from_millis(50)) {
            None => {}
            Some(Ok(message)) => {
                tell(format_args!("read {} {}", message.partition(), message.offset()));
            }
            Some(Err(error)) => tell(format_args!("failed {error}")),
        }
    }
}
