//! Looks again and again whether the topic is the one that it was.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use tenure_core::nele::{Report, TopicId};

use super::queue::Queue;
use crate::told::{LOG, Told};
use crate::topic::{id, shape};

/// Between two looks are so many publish intervals: a look costs less than one of them.
const INTERVALS: u32 = 30;

/// The longest between two looks.
const MOST: Duration = Duration::from_secs(15);

/// Looks at the topic, on a thread of its own. Dropping it ends it.
pub(super) struct Watch {
    _running: Sender<()>,
}

impl Watch {
    /// Tells what it sees.
    pub(super) fn start(
        config: &ClientConfig,
        topic: String,
        publish_interval: Duration,
        queue: Queue,
    ) -> KafkaResult<Self> {
        let every = publish_interval.saturating_mul(INTERVALS).min(MOST);
        let client: BaseConsumer<Told> = config.create_with_context(Told::default())?;
        let (running, ended) = channel::<()>();
        let run = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // What it says meanwhile is logged.
                while client.poll(Duration::ZERO).is_some() {}
                match look(&client, &topic) {
                    Ok((id, partitions)) => queue.put(Report::Topic { id, partitions }),
                    Err(error) => tracing::debug!(target: LOG, "{topic}: {error}"),
                }
            }
        };
        thread::Builder::new()
            .name("tenure-topic".into())
            .spawn(run)
            .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        Ok(Self { _running: running })
    }
}

fn look(client: &BaseConsumer<Told>, topic: &str) -> KafkaResult<(TopicId, u32)> {
    let found = id(client.client(), topic)?;
    // A broker that has not heard of a topic yet says the same of it as one whose topic is gone.
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    let (partitions, _) = shape(client, topic)?.ok_or(unknown)?;
    Ok((found, partitions))
}
