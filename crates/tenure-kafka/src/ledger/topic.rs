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
use tokio::sync::broadcast::Sender;

use super::queue::Queue;
use crate::notice::Notice;
use crate::told::{LOG, Told};
use crate::topic::{ANSWER, id, shape};

/// Between two looks are so many publish intervals: a look costs less than one of them.
const INTERVALS: u32 = 30;

/// The longest between two looks.
const MOST: Duration = Duration::from_secs(15);

/// So many looks in a row say that it is gone: one broker may not have heard of it yet.
const GONE: u32 = 2;

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
        notices: Option<Sender<Notice>>,
    ) -> KafkaResult<Self> {
        let every = publish_interval.saturating_mul(INTERVALS).min(MOST);
        let client: BaseConsumer<Told> = config.create_with_context(Told::default())?;
        let (soon, asked) = sync_channel::<()>(1);
        let run = move || {
            let mut gone = Gone { topic, looks: 0, notices };
            while wait(&client, &asked, every) {
                let seen = look(&client, &gone.topic, now().after(ANSWER));
                gone.look(&seen);
                if let Ok((id, partitions)) = seen {
                    queue.put(Report::Topic { id, partitions });
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

/// What is told of a topic that is gone.
struct Gone {
    topic: String,
    /// So many looks in a row.
    looks: u32,
    notices: Option<Sender<Notice>>,
}

impl Gone {
    /// Tells when it is gone, and when it is back.
    fn look(&mut self, seen: &KafkaResult<(TopicId, u32)>) {
        match seen {
            Ok(_) => {
                if self.looks >= GONE {
                    self.tell(Notice::TopicBack { topic: self.topic.clone() });
                }
                self.looks = 0;
            }
            Err(error) if is_unknown(error) => {
                self.looks = self.looks.saturating_add(1);
                if self.looks == GONE {
                    self.tell(Notice::TopicGone { topic: self.topic.clone() });
                }
            }
            Err(error) => tracing::debug!(target: LOG, "{}: {error}", self.topic),
        }
    }

    fn tell(&self, notice: Notice) {
        notice.log();
        if let Some(notices) = &self.notices {
            // Nobody listening is fine.
            let _ = notices.send(notice);
        }
    }
}

fn is_unknown(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{UnknownTopic, UnknownTopicId, UnknownTopicOrPartition};
    matches!(
        error.rdkafka_error_code(),
        Some(UnknownTopic | UnknownTopicId | UnknownTopicOrPartition)
    )
}

/// Waits for the time to look, or until somebody asks for that. Says whether to look. What the
/// client says meanwhile is logged, so that it does not pile up.
fn wait(client: &BaseConsumer<Told>, asked: &Receiver<()>, every: Duration) -> bool {
    let (begin, mut wanted) = (now(), false);
    loop {
        let waited = now().since(begin);
        if waited >= every {
            return true;
        }
        drop(client.poll(LEAST.min(every - waited)));
        match asked.try_recv() {
            Err(TryRecvError::Disconnected) => return false,
            Ok(()) => wanted = true,
            Err(TryRecvError::Empty) => {}
        }
        if wanted && now().since(begin) >= LEAST {
            return true;
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
