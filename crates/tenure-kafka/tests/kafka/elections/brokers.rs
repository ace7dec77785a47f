//! Brokers that fail, and a log that is truncated.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tenure::{AtMostOne, Leadership, clock};
use tenure_core::nele::{Config, Mode};
use tenure_kafka::{Node, Options};
use tenure_services::kafka::Cluster;
use tenure_testkit::handles::{PATIENCE, soon};

use crate::common::{tests, three};

tests!(fences_grow_across_a_truncated_log, lost_broker_leaves_a_leader,);

/// More records than a process writes in any test.
const MANY: u64 = 20_000;

fn config(name: &str) -> Config {
    let election = name.parse().unwrap();
    let group = name.parse().unwrap();
    let mut config = Config::new(election, group, "one".parse().unwrap(), 1, Mode::AtMostOne);
    // With so short a `takeover` a leadership may be lost too early, and won again with a higher
    // fence.
    config.takeover = Duration::from_secs(4);
    config.publish_interval = Duration::from_millis(250);
    config.grace = Duration::from_millis(400);
    config
}

async fn start(cluster: &Cluster, name: &str, options: Options) -> Node<AtMostOne> {
    let brokers = cluster.addresses();
    let brokers = brokers.split(',').map(|broker| broker.parse().unwrap()).collect();
    let options = Options { brokers, ..options };
    let builder = Node::builder(config(name).check().unwrap(), options.check().unwrap());
    builder.start().await.unwrap()
}

async fn lead(node: &Node<AtMostOne>) -> Leadership<AtMostOne> {
    soon(node.role(0).campaign("here")).await.unwrap()
}

/// The leader of the only partition, and its replicas in sync.
fn partition(cluster: &Cluster, topic: &str) -> Option<(i32, Vec<i32>)> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.addresses());
    let asks: BaseConsumer = config.create().unwrap();
    let metadata = asks.fetch_metadata(Some(topic), PATIENCE).ok()?;
    let partition = metadata.topics().first()?.partitions().first()?;
    let mut in_sync = partition.isr().to_vec();
    in_sync.sort_unstable();
    Some((partition.leader(), in_sync))
}

async fn until(cluster: &Cluster, topic: &str, leader: i32, in_sync: &[i32]) {
    let waited = async {
        while partition(cluster, topic) != Some((leader, in_sync.to_vec())) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(waited).await;
}

/// Writes many records without meaning.
fn fill(cluster: &Cluster, topic: &str) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.addresses());
    let producer: BaseProducer = config.create().unwrap();
    for _ in 0..MANY {
        producer.send(BaseRecord::<(), str>::to(topic).partition(0).payload("x")).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
}

/// A truncated log gives offsets a second time, and fences grow all the same (ruling 10).
async fn fences_grow_across_a_truncated_log() {
    let cluster = three();
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.addresses());
    let admin: AdminClient<DefaultClientContext> = config.create().unwrap();
    let replicas: &[&[i32]] = &[&[0, 1]];
    let topic = NewTopic::new("cut", 1, TopicReplication::Variable(replicas))
        .set("unclean.leader.election.enable", "true")
        .set("min.insync.replicas", "1")
        .set("message.timestamp.type", "LogAppendTime");
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    admin.create_topics([&topic], &options).await.unwrap()[0].as_ref().unwrap();
    until(&cluster, "cut", 0, &[0, 1]).await;
    // The second replica misses all later records.
    cluster.broker(1).terminate().unwrap();
    until(&cluster, "cut", 0, &[0]).await;

    // Claims before the truncation have higher offsets than any claim after it.
    fill(&cluster, "cut");
    let options = Options { allow_unreplicated: true, ..Options::new(vec![], "cut") };
    let node = start(&cluster, "cut", options).await;
    let first = lead(&node).await;
    let before = first.fence().number();
    cluster.broker(0).kill().unwrap();
    cluster.broker(1).restart().unwrap();
    soon(first.leader().lost()).await;
    drop(first);
    until(&cluster, "cut", 1, &[1]).await;
    let after = lead(&node).await.fence().number();
    let offset = |fence: u64| fence & ((1 << 40) - 1);
    assert!(offset(before) >= MANY, "{before:#x}");
    assert!(offset(after) < offset(before), "offsets go back: {before:#x}, {after:#x}");
    assert!(after > before, "the fence grows: {before:#x}, {after:#x}");
    node.close().await;
}

/// An acknowledged record is in two copies, so one broker may fail.
async fn lost_broker_leaves_a_leader() {
    let cluster = three();
    let node = start(&cluster, "kept", Options { create: Some(3), ..Options::new(vec![], "kept") });
    let node = node.await;
    let first = lead(&node).await;
    let before = first.fence();
    let (killed, _) = partition(&cluster, "kept").unwrap();
    until(&cluster, "kept", killed, &[0, 1, 2]).await;
    cluster.broker(killed.try_into().unwrap()).kill().unwrap();
    let is_led_anew = async {
        while partition(&cluster, "kept").is_none_or(|(leader, _)| [killed, -1].contains(&leader)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon(is_led_anew).await;
    // The leader leads on as it reads new records, or comes back with a higher fence.
    let led_by_news = clock::now().after(config("kept").takeover);
    let goes_on = async {
        let mut until = first.until();
        while until < Some(led_by_news) {
            until = first.leader().renewed(until).await?;
        }
        Ok::<_, tenure::Loss>(())
    };
    if soon(goes_on).await.is_err() {
        drop(first);
        assert!(lead(&node).await.fence() > before);
    }
    node.close().await;
}
