//! Looks again and again whether the topic is the one that it was.

use std::ffi::CString;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::{Report, TopicId};

use super::queue::Queue;
use crate::native;
use crate::told::{LOG, Told};
use crate::topic::{id, shape};

/// Between two looks are so many publish intervals: a look costs less than one of them.
const INTERVALS: u32 = 30;

/// The longest between two looks.
const MOST: Duration = Duration::from_secs(15);

/// The shortest between two, whoever asks for one.
const LEAST: Duration = Duration::from_millis(500);

/// Looks at the topic, on a thread of its own. Dropping all clones ends it.
#[derive(Clone)]
pub(super) struct Watch {
    soon: SyncSender<()>,
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
        let (soon, asked) = sync_channel::<()>(1);
        let run = move || {
            while asked.recv_timeout(every) != Err(RecvTimeoutError::Disconnected) {
                // What it says meanwhile is logged.
                while client.poll(Duration::ZERO).is_some() {}
                match look(&client, &topic) {
                    Ok((id, partitions)) => queue.put(Report::Topic { id, partitions }),
                    Err(error) => tracing::debug!(target: LOG, "{topic}: {error}"),
                }
                thread::sleep(LEAST.min(every));
            }
        };
        thread::Builder::new()
            .name("tenure-topic".into())
            .spawn(run)
            .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        Ok(Self { soon })
    }

    /// Has it look soon: what is there after a connection was lost may be another topic.
    pub(super) fn look_soon(&self) {
        // An error means that it was asked already.
        let _ = self.soon.try_send(());
    }
}

/// Which topic it is, and how many partitions it has.
fn look(client: &BaseConsumer<Told>, topic: &str) -> KafkaResult<(TopicId, u32)> {
    let found = id(client.client(), topic)?;
    // A broker that has not heard of a topic yet says the same of it as one whose topic is gone.
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    let (partitions, _) = shape(client, topic)?.ok_or(unknown)?;
    Ok((found, partitions))
}

/// The same for those who wait for it, by any client, until then at the latest.
pub(super) fn look_until<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    until: Time,
) -> KafkaResult<(TopicId, u32)> {
    // No time is an answer that may still be there.
    let left = || until.since(now()).max(Duration::from_millis(1));
    // This first: it says anew which broker is asked the next question.
    let metadata = client.fetch_metadata(Some(topic), left())?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    let found = found.ok_or_else(|| unknown.clone())?;
    if let Some(code) = found.error() {
        return Err(KafkaError::MetadataFetch(code.into()));
    }
    let partitions = u32::try_from(found.partitions().len()).map_err(|_| unknown)?;
    let topic = native::topic_id(client.client(), &CString::new(topic)?, left())?;
    let cluster = client.client().fetch_cluster_id(left());
    let cluster = cluster.ok_or(KafkaError::MetadataFetch(RDKafkaErrorCode::OperationTimedOut))?;
    Ok((TopicId { cluster: cluster.into(), topic }, partitions))
}
