//! A log that loses acknowledged records by an unclean election.

use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::Offset;
use rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tenure::clock;
use tenure_kafka::native;
use tenure_services::kafka::Cluster;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::records::{next, reader};
use crate::stage;
use crate::stage::{Fact, SOON, Stage, admin, append, client};

pub(crate) const FACTS: &[Fact] = &[fact!(
    truncated,
    "offsets go back, the epoch and the fence grow, reader and producer are told",
    "After an unclean election offsets are given again, in a higher leader epoch; a reader with \
     auto.offset.reset=error that had read further is told, and an idempotent producer that had \
     written further is of no use any more."
)];

/// The longest wait for one answer: a broker that starts may take a question and not answer it.
const ANSWER: Duration = Duration::from_secs(2);

/// Waits until these are the leader and the replicas in sync of the only partition.
async fn until(cluster: &Cluster, leader: i32, isr: &[i32]) -> Result<(), Failure> {
    let asks: BaseConsumer = client(&cluster.addresses()).create()?;
    let wanted = (leader, isr.to_vec());
    let state = || {
        let metadata = asks.fetch_metadata(Some("t"), ANSWER).map_err(|error| error.to_string())?;
        let topic = metadata.topics().first().ok_or("no topic")?;
        let partition = topic.partitions().first().ok_or("no partition")?;
        let mut found = partition.isr().to_vec();
        found.sort_unstable();
        Ok((partition.leader(), found))
    };
    let before = clock::now();
    loop {
        let seen: Result<_, String> = state();
        match seen {
            Ok(seen) if seen == wanted => return Ok(()),
            seen if clock::now().since(before) > SOON => {
                return Err(format!("leader and replicas {wanted:?} did not come: {seen:?}").into());
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// The fence of a record (ruling 10 of `tenure_core::nele`).
fn fence(epoch: i32, offset: i64) -> i64 {
    (i64::from(epoch) << 40) + offset
}

async fn truncated(stage: Stage) -> Seen {
    let cluster = Cluster::start(stage.version(), 3)?;
    let brokers = cluster.addresses();
    let replicas: &[&[i32]] = &[&[0, 1]];
    let topic = NewTopic::new("t", 1, TopicReplication::Variable(replicas))
        .set("unclean.leader.election.enable", "true")
        .set("min.insync.replicas", "1");
    let options = AdminOptions::new().operation_timeout(Some(SOON));
    let made = admin(&brokers)?.create_topics([&topic], &options).await?;
    made.into_iter().next().ok_or("nothing")?.map_err(|(_, code)| code)?;
    until(&cluster, 0, &[0, 1]).await?;
    let producer = stage::producer(&brokers)?;
    append(&producer, "t", 0)?;
    // The follower misses the next five records.
    cluster.broker(1).terminate()?;
    until(&cluster, 0, &[0]).await?;
    for _ in 0..5 {
        append(&producer, "t", 0)?;
    }
    let reads = reader(&brokers, "t", &[(0, Offset::Offset(0))])?;
    let mut before = (0, 0);
    for _ in 0..6 {
        let message = next(&reads)?;
        before = (native::leader_epoch(&message), message.offset());
    }
    cluster.broker(0).kill()?;
    cluster.broker(1).restart()?;
    until(&cluster, 1, &[1]).await?;
    let old = [append(&producer, "t", 0).is_ok(), append(&producer, "t", 0).is_ok()];
    append(&stage::producer(&brokers)?, "t", 0)?;
    let again = reader(&brokers, "t", &[(0, Offset::Offset(1))])?;
    let message = next(&again)?;
    let after = (native::leader_epoch(&message), message.offset());
    let told = next(&reads).map(|message| message.offset());
    let grows = fence(after.0, after.1) > fence(before.0, before.1);
    Ok(match told {
        Err(_) if after.1 < before.1 && grows && old == [false, false] => {
            "offsets go back, the epoch and the fence grow, reader and producer are told".to_owned()
        }
        told => format!("{before:?}, then {after:?}; producer {old:?}, reader: {told:?}"),
    })
}
