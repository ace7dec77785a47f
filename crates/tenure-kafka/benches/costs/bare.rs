//! A plain consumer group: two members and one partition, without records or leaders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance};
use tenure::{Time, clock};
use tenure_kafka::Config;
use tenure_services::kafka::Cluster;
use tokio::sync::mpsc;

use crate::Result;
use crate::take_over::{Departure, moment};

/// Notes the time of an assignment.
struct Context {
    given: mpsc::UnboundedSender<Time>,
}

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if matches!(rebalance, Rebalance::Assign(list) if list.count() > 0) {
            // The send fails at the end of a round; ignore it.
            let _ = self.given.send(clock::now());
        }
    }
}

/// A member that a thread of its own polls. A drop makes the member leave, on that thread.
struct Member {
    given: mpsc::UnboundedReceiver<Time>,
    leaves: Arc<AtomicBool>,
}

impl Member {
    /// Joins with the times of the protocol.
    fn join(addresses: &str, group: &str, topic: &str, times: &Config) -> Result<Self> {
        let millis = |span: Duration| span.as_millis().to_string();
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", addresses)
            .set("group.id", group)
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", millis(times.session_timeout))
            .set("heartbeat.interval.ms", millis(times.heartbeat_interval))
            .set("max.poll.interval.ms", millis(times.max_poll_interval))
            .set("enable.auto.commit", "false");
        let (given, receiver) = mpsc::unbounded_channel();
        let consumer: BaseConsumer<_> = config.create_with_context(Context { given })?;
        consumer.subscribe(&[topic])?;
        let leaves = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&leaves);
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                // The member ignores the records.
                drop(consumer.poll(Duration::from_millis(10)));
            }
        });
        Ok(Self { given: receiver, leaves })
    }

    async fn is_given(&mut self) -> Result<Time> {
        Ok(self.given.recv().await.ok_or("the member has ended")?)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leaves.store(true, Ordering::Relaxed);
    }
}

/// Runs a round, and returns the time in which the partition had no owner.
pub(crate) async fn round(
    cluster: &Cluster,
    way: usize,
    topic: &str,
    times: &Config,
    goes: Departure,
    number: u32,
) -> Result<Duration> {
    let group = format!("bare-{goes:?}-{number}");
    let mut first = Member::join(&cluster.way(way).addresses(), &group, topic, times)?;
    first.is_given().await?;
    let mut second = Member::join(&cluster.addresses(), &group, topic, times)?;
    moment(number).await;
    let began = clock::now();
    match goes {
        Departure::Lost => cluster.way(way).cut(),
        Departure::Closed | Departure::Left => drop(first),
    }
    let given = second.is_given().await?;
    cluster.way(way).open();
    Ok(given.since(began))
}
