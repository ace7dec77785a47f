//! Records, written and read back.

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::BorrowedMessage;
use rdkafka::{Message as _, Offset, TopicPartitionList};
use tenure_kafka::native;
use tenure_services::kafka::quick;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{Fact, SOON, Stage, append, client, create, producer};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        read_back,
        "offset 2, epoch 0, nonce 17, neither key nor value",
        "A record is read back at the next offset of its partition, with the leader epoch of its \
         batch, and its headers."
    ),
    fact!(
        epoch_after_a_restart,
        "grows",
        "When a partition's leader is started again the leader epoch of what it appends is higher."
    ),
    fact!(
        read_from_the_end,
        "only what came later",
        "A reader that begins at the end that it asked for reads all that is appended later."
    ),
];

/// A reader outside all groups.
pub(crate) fn reader(
    brokers: &str,
    topic: &str,
    begin: &[(i32, Offset)],
) -> Result<BaseConsumer, Failure> {
    let reader: BaseConsumer = client(brokers)
        .set("group.id", "reader")
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "error")
        .create()?;
    let mut list = TopicPartitionList::new();
    for (partition, offset) in begin {
        list.add_partition_offset(topic, *partition, *offset)?;
    }
    reader.assign(&list)?;
    Ok(reader)
}

pub(crate) fn next(reader: &BaseConsumer) -> Result<BorrowedMessage<'_>, Failure> {
    let began = tenure::clock::now();
    while tenure::clock::now().since(began) < SOON {
        match reader.poll(std::time::Duration::from_millis(100)) {
            None => {}
            Some(Err(error)) if passes(&error) => {}
            Some(read) => return Ok(read?),
        }
    }
    Err("nothing is read".into())
}

/// Whether the library recovers from this error by itself.
fn passes(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(Code::BrokerTransportFailure | Code::AllBrokersDown | Code::OperationTimedOut)
    )
}

async fn read_back(stage: Stage) -> Seen {
    let brokers = stage.topic(4).await?;
    let producer = producer(&brokers)?;
    for _ in 0..3 {
        append(&producer, stage.name(), 3)?;
    }
    let reader = reader(&brokers, stage.name(), &[(3, Offset::Offset(2))])?;
    let message = next(&reader)?;
    let nonce = native::header(&message, c"nonce").unwrap_or_default();
    let nonce = String::from_utf8_lossy(nonce);
    let bare = message.key().is_none() && message.payload().is_none();
    Ok(format!(
        "offset {}, epoch {}, nonce {nonce}, {}",
        message.offset(),
        native::leader_epoch(&message),
        if bare { "neither key nor value" } else { "more than headers" }
    ))
}

async fn epoch_after_a_restart(stage: Stage) -> Seen {
    let cluster = quick(stage.version()).start()?;
    let brokers = cluster.addresses();
    create(&brokers, "t", 1).await?;
    let producer = producer(&brokers)?;
    append(&producer, "t", 0)?;
    cluster.broker(0).kill()?;
    cluster.broker(0).restart()?;
    cluster.broker(0).wait_ready()?;
    append(&producer, "t", 0)?;
    let reader = reader(&brokers, "t", &[(0, Offset::Offset(0))])?;
    let epochs = [native::leader_epoch(&next(&reader)?), native::leader_epoch(&next(&reader)?)];
    Ok(if epochs[0] >= 0 && epochs[0] < epochs[1] {
        "grows".to_owned()
    } else {
        format!("{epochs:?}")
    })
}

/// The end of a partition, as the cluster knows it.
fn end(reader: &BaseConsumer, topic: &str, partition: i32) -> Result<Offset, Failure> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, partition, Offset::End)?;
    let found = reader.offsets_for_times(list, SOON)?;
    let found = found.find_partition(topic, partition).ok_or("no such partition")?;
    found.error()?;
    Ok(found.offset())
}

async fn read_from_the_end(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let producer = producer(&brokers)?;
    append(&producer, stage.name(), 0)?;
    let begin = {
        let asks: BaseConsumer = client(&brokers).create()?;
        end(&asks, stage.name(), 0)?
    };
    append(&producer, stage.name(), 0)?;
    let reader = reader(&brokers, stage.name(), &[(0, begin)])?;
    append(&producer, stage.name(), 0)?;
    let offsets = [next(&reader)?.offset(), next(&reader)?.offset()];
    Ok(if offsets == [1, 2] { "only what came later".to_owned() } else { format!("{offsets:?}") })
}
