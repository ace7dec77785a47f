//! Looks again and again whether the topic is the one that it was.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::{Report, TopicId};

use super::queue::Queue;
use crate::told::{LOG, Told};
use crate::topic::{ANSWER, id, shape};

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
            while wait(&client, &asked, every) {
                match look(&client, &topic, now().after(ANSWER)) {
                    Ok((id, partitions)) => queue.put(Report::Topic { id, partitions }),
                    Err(error) => tracing::debug!(target: LOG, "{topic}: {error}"),
                }
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

/// Waits for the time to look, or until somebody asks for that. Says whether to look. What the
/// client says meanwhile is logged, so that it does not pile up.
fn wait(client: &BaseConsumer<Told>, asked: &Receiver<()>, every: Duration) -> bool {
    let begin = now();
    loop {
        let waited = now().since(begin);
        if waited >= every {
            return true;
        }
        drop(client.poll(LEAST.min(every - waited)));
        match asked.try_recv() {
            Err(TryRecvError::Disconnected) => return false,
            Ok(()) if now().since(begin) >= LEAST => return true,
            Ok(()) | Err(TryRecvError::Empty) => {}
        }
    }
}

/// Which topic it is, and how many partitions it has, answered until then at the latest.
pub(super) fn look<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    until: Time,
) -> KafkaResult<(TopicId, u32)> {
    // No time is an answer that may still be there.
    let left = || until.since(now()).max(Duration::from_millis(1));
    // A broker that has not heard of a topic yet says the same of it as one whose topic is gone.
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    // This first: it says anew which broker is asked the next question.
    let (partitions, _) = shape(client, topic, left())?.ok_or(unknown)?;
    Ok((id(client.client(), topic, left)?, partitions))
}
