//! Brokers that fail, and a log that is truncated.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tenure::{AtMostOne, Leadership};
use tenure_core::nele::{Config, Mode};
use tenure_kafka::{Node, Options};
use tenure_services::kafka::{Cluster, Version};

use crate::common::{tests, three};

tests!(fences_grow_across_a_truncated_log, a_broker_of_three_is_killed_and_somebody_leads_again,);

/// Long enough for anything that comes at all.
const SOON: Duration = Duration::from_secs(60);

/// Settings with times that outlive a change of a partition's leader.
fn config(name: &str) -> Config {
    let (election, group) = (name.parse().unwrap(), name.parse().unwrap());
    let mut config = Config::new(election, group, "one".parse().unwrap(), 1, Mode::AtMostOne);
    config.takeover = Duration::from_secs(3);
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
    tokio::time::timeout(SOON, node.role(0).campaign("here")).await.unwrap().unwrap()
}

/// The leader of the only partition, and its replicas in sync.
fn partition(cluster: &Cluster, topic: &str) -> Option<(i32, Vec<i32>)> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.addresses());
    let asks: BaseConsumer = config.create().unwrap();
    let metadata = asks.fetch_metadata(Some(topic), Duration::from_secs(5)).ok()?;
    let partition = metadata.topics().first()?.partitions().first()?;
    let mut in_sync = partition.isr().to_vec();
    in_sync.sort_unstable();
    Some((partition.leader(), in_sync))
}

async fn until(cluster: &Cluster, topic: &str, leader: i32, in_sync: &[i32]) {
    let waited = async {
        while partition(cluster, topic) != Some((leader, in_sync.to_vec())) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(SOON, waited).await.unwrap();
}

/// Ruling 10: offsets are given again, and fences grow all the same.
async fn fences_grow_across_a_truncated_log() {
    let cluster = three(Version::V41);
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.addresses());
    let admin: AdminClient<DefaultClientContext> = config.create().unwrap();
    let replicas: &[&[i32]] = &[&[0, 1]];
    let topic = NewTopic::new("cut", 1, TopicReplication::Variable(replicas))
        .set("unclean.leader.election.enable", "true")
        .set("min.insync.replicas", "1")
        .set("message.timestamp.type", "LogAppendTime");
    let options = AdminOptions::new().operation_timeout(Some(SOON));
    admin.create_topics([&topic], &options).await.unwrap()[0].as_ref().unwrap();
    until(&cluster, "cut", 0, &[0, 1]).await;
    // Of all that follows the second replica hears nothing.
    cluster.broker(1).kill().unwrap();
    until(&cluster, "cut", 0, &[0]).await;

    let options = Options { allow_unreplicated: true, ..Options::new(vec![], "cut") };
    let node = start(&cluster, "cut", options).await;
    // The second one is at a higher offset than any claim after the truncation.
    let early = lead(&node).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    drop(early);
    let first = lead(&node).await;
    let before = first.fence().number();
    cluster.broker(0).kill().unwrap();
    cluster.broker(1).restart().unwrap();
    tokio::time::timeout(SOON, first.leader().lost()).await.unwrap();
    drop(first);
    until(&cluster, "cut", 1, &[1]).await;
    let after = lead(&node).await.fence().number();
    let offset = |fence: u64| fence & ((1 << 40) - 1);
    assert!(offset(after) < offset(before), "offsets go back: {before:#x}, {after:#x}");
    assert!(after > before, "the fence grows: {before:#x}, {after:#x}");
    node.close().await;
}

/// What is acknowledged is in two copies, so one broker may fail.
async fn a_broker_of_three_is_killed_and_somebody_leads_again() {
    let cluster = three(Version::V41);
    let node = start(&cluster, "kept", Options { create: Some(3), ..Options::new(vec![], "kept") });
    let node = node.await;
    let first = lead(&node).await;
    let before = first.fence();
    let (leader, in_sync) = partition(&cluster, "kept").unwrap();
    assert_eq!(in_sync, [0, 1, 2]);
    cluster.broker(leader.try_into().unwrap()).kill().unwrap();
    // Either it goes on, or it comes back with a higher fence.
    let lost = tokio::time::timeout(Duration::from_secs(20), first.leader().lost()).await.is_ok();
    if lost {
        drop(first);
        assert!(lead(&node).await.fence() > before);
    } else {
        assert!(first.leader().is_current());
    }
    node.close().await;
}
