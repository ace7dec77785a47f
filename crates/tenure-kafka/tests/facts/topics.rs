//! Topics: what they are made with, and whether they are still the same.

use rdkafka::admin::{
    AdminClient, AdminOptions, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tenure_kafka::native;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{Fact, SOON, Stage, admin, client, create};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        made_anew,
        Always("another topic id, the same cluster id"),
        "A topic that is deleted and made again has another id, in the same cluster."
    ),
    fact!(
        more_partitions,
        Always("2, then 3"),
        "Partitions that are added are in the next metadata."
    ),
    fact!(
        described,
        Always("cleanup.policy=compact, retention.ms=600000, min.insync.replicas=1"),
        "A topic's settings can be read, those that nobody has set too."
    ),
    fact!(
        no_right_to_create,
        Always("TopicAuthorizationFailed"),
        "Who has no right to create a topic is told so."
    ),
    fact!(
        no_right_to_look,
        Always("0 settings, and no error"),
        "Who has no right to read settings gets an answer without any: `rdkafka` drops the error."
    ),
    fact!(
        nobody_there,
        Always("MetadataFetch: BrokerTransportFailure"),
        "Where no broker listens the answer is that there is no transport."
    ),
];

async fn made_anew(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let admin = admin(&brokers)?;
    let name = std::ffi::CString::new(stage.name())?;
    let look = || {
        let topic = native::topic_id(admin.inner(), &name, SOON)?;
        Ok::<_, rdkafka::error::KafkaError>((topic, admin.inner().fetch_cluster_id(SOON)))
    };
    let first = look()?;
    let options = AdminOptions::new().operation_timeout(Some(SOON));
    admin.delete_topics(&[stage.name()], &options).await?;
    // Deleting goes on after the answer.
    let again = async {
        while create(&brokers, stage.name(), 1, &[]).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(SOON, again).await?;
    let second = look()?;
    let is_real = first.0 != 0 && first.1.is_some();
    Ok(if is_real && first.0 != second.0 && first.1 == second.1 {
        "another topic id, the same cluster id".to_owned()
    } else {
        format!("{first:?}, then {second:?}")
    })
}

async fn more_partitions(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    let client: BaseConsumer = client(&brokers).create()?;
    let count = || {
        let metadata = client.fetch_metadata(Some(stage.name()), SOON)?;
        Ok::<_, rdkafka::error::KafkaError>(metadata.topics()[0].partitions().len())
    };
    let before = count()?;
    let more = NewPartitions::new(stage.name(), 3);
    admin(&brokers)?.create_partitions([&more], &AdminOptions::new()).await?;
    let all = async {
        while count().is_ok_and(|count| count != 3) {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, all).await?;
    Ok(format!("{before}, then {}", count()?))
}

async fn described(stage: Stage) -> Seen {
    let brokers = stage.single()?.addresses();
    let settings = [("cleanup.policy", "compact"), ("retention.ms", "600000")];
    create(&brokers, stage.name(), 1, &settings).await?;
    let topic = ResourceSpecifier::Topic(stage.name());
    let found = admin(&brokers)?.describe_configs([&topic], &AdminOptions::new()).await?;
    let found = found.into_iter().next().ok_or("nothing")??;
    let value = |name: &str| {
        let value = found.get(name).and_then(|entry| entry.value.clone());
        format!("{name}={}", value.unwrap_or_default())
    };
    Ok(["cleanup.policy", "retention.ms", "min.insync.replicas"].map(value).join(", "))
}

/// By one who may do nothing.
fn ann(stage: &Stage) -> Result<AdminClient<DefaultClientContext>, Failure> {
    let mut config = client(&stage.single()?.guarded());
    config
        .set("security.protocol", "SASL_PLAINTEXT")
        .set("sasl.mechanism", "PLAIN")
        .set("sasl.username", "ann")
        .set("sasl.password", "secret");
    Ok(config.create()?)
}

async fn no_right_to_create(stage: Stage) -> Seen {
    let topic = NewTopic::new(stage.name(), 1, TopicReplication::Fixed(1));
    let results = ann(&stage)?.create_topics([&topic], &AdminOptions::new()).await?;
    let result = results.into_iter().next().ok_or("nothing")?;
    Ok(result.map_or_else(|(_, code)| format!("{code:?}"), |_| "created".to_owned()))
}

async fn no_right_to_look(stage: Stage) -> Seen {
    let broker = ResourceSpecifier::Broker(0);
    let found = ann(&stage)?.describe_configs([&broker], &AdminOptions::new()).await;
    Ok(match found {
        Ok(found) => match found.into_iter().next().ok_or("nothing")? {
            Ok(found) => format!("{} settings, and no error", found.entries.len()),
            Err(code) => format!("{code:?}"),
        },
        Err(error) => error.to_string(),
    })
}

async fn nobody_there(_: Stage) -> Seen {
    let nobody: BaseConsumer = client("127.0.0.1:1").create()?;
    // It tries for as long as it may.
    let failed = nobody.fetch_metadata(None, std::time::Duration::from_secs(5));
    Ok(match failed.map(|_| ()).unwrap_err() {
        rdkafka::error::KafkaError::MetadataFetch(code) => format!("MetadataFetch: {code:?}"),
        other => other.to_string(),
    })
}
