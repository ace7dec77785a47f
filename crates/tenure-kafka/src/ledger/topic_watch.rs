//! Queries again and again whether the topic has changed.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::{Report, TopicId};
use tokio::sync::broadcast::Sender;
use tokio::sync::watch;

use super::queue::Queue;
use crate::client_log::{ClientLog, LOG, Reason};
use crate::explain;
use crate::notice::Notice;
use crate::topic::{ANSWER, id, shape};

/// The number of publish intervals between two queries: a query costs less than the records of one
/// interval.
const INTERVALS: u32 = 30;

/// The longest pause between two queries.
const MOST: Duration = Duration::from_secs(15);

/// The topic counts as gone after this number of queries in a row without it: a single broker may
/// not know the topic yet.
const GONE: u32 = 2;

/// The shortest pause between two queries, also on request.
const LEAST: Duration = Duration::from_millis(500);

/// After this wait for an assignment, the watch reports why the member still waits.
const JOINING: Duration = Duration::from_secs(5);

/// Queries the topic, on a thread of its own. The thread ends when all clones are dropped.
#[derive(Clone)]
pub(super) struct Watch {
    soon: SyncSender<()>,
    joining: Arc<Mutex<Option<Time>>>,
    phases: watch::Receiver<Option<Arc<str>>>,
}

impl Watch {
    pub(super) fn start(
        config: &ClientConfig,
        topic: String,
        publish_interval: Duration,
        queue: Queue,
        notices: Option<Sender<Notice>>,
    ) -> KafkaResult<Self> {
        let every = publish_interval.saturating_mul(INTERVALS).min(MOST);
        let client: BaseConsumer<ClientLog> = config.create_with_context(ClientLog::default())?;
        let (soon, asked) = sync_channel::<()>(1);
        let joining = Arc::<Mutex<Option<Time>>>::default();
        let since = Arc::clone(&joining);
        let (tell, phases) = watch::channel(None);
        let run = move || {
            let mut gone = MissingTopic { topic, misses: 0, phase: tell, notices };
            let mut reason = None;
            while wait(&client, &asked, every) {
                let answer = query(&client, &gone.topic, now().after(ANSWER));
                gone.on_answer(&answer);
                // Keep the last reason: the library logs each reason only once in half a minute.
                reason =
                    Reason::last(client.context().reason(), reason.filter(|_| answer.is_err()));
                let failed = answer.map(|(id, partitions)| {
                    queue.put(Report::Topic { id, partitions });
                });
                let since = *since.lock().unwrap_or_else(PoisonError::into_inner);
                let is_long = since.is_some_and(|since| now().since(since) >= JOINING);
                gone.on_wait(is_long.then(|| phase(&client, failed.err(), reason.clone())));
            }
        };
        thread::Builder::new()
            .name("tenure-topic".into())
            .spawn(run)
            .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        Ok(Self { soon, joining, phases })
    }

    /// The reason why the member has had no assignment for a long time.
    pub(super) fn phases(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.phases.clone()
    }

    /// Records since when the member has no assignment; `None` if it has one.
    pub(super) fn joins(&self, since: Option<Time>) {
        *self.joining.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Triggers a topic query if the member has waited longer than `JOINING` for an assignment;
    /// returns whether it has waited that long.
    pub(super) fn joins_too_long(&self) -> bool {
        let since = *self.joining.lock().unwrap_or_else(PoisonError::into_inner);
        let is_long = since.is_some_and(|since| now().since(since) >= JOINING);
        if is_long {
            self.query_soon();
        }
        is_long
    }

    /// Triggers a topic query: after a lost connection there may be another topic.
    pub(super) fn query_soon(&self) {
        // The send fails if a query was requested already; ignore it.
        let _ = self.soon.try_send(());
    }
}

/// Reports whether the topic is gone, and why a member waits.
struct MissingTopic {
    topic: String,
    /// Queries in a row that did not find the topic.
    misses: u32,
    /// The reason why the member has had no assignment for a long time.
    phase: watch::Sender<Option<Arc<str>>>,
    notices: Option<Sender<Notice>>,
}

impl MissingTopic {
    /// Reports that the topic is gone, and that it is back.
    fn on_answer(&mut self, answer: &KafkaResult<(TopicId, u32)>) {
        match answer {
            Ok(_) => {
                if self.misses >= GONE {
                    self.tell(Notice::TopicBack { topic: self.topic.clone() });
                }
                self.misses = 0;
            }
            Err(error) if is_unknown(error) => {
                self.misses = self.misses.saturating_add(1);
                if self.misses == GONE {
                    self.tell(Notice::TopicGone { topic: self.topic.clone() });
                }
            }
            Err(error) => tracing::debug!(target: LOG, "{}: {error}", self.topic),
        }
    }

    /// Reports why a member waits for its assignment, and the end of a wait.
    fn on_wait(&self, phase: Option<String>) {
        let phase: Option<Arc<str>> = phase.map(Into::into);
        let before = self.phase.send_replace(phase.clone());
        match phase {
            Some(why) => self.tell(Notice::Joining { why }),
            None if before.is_some() => self.tell(Notice::Joined),
            None => {}
        }
    }

    fn tell(&self, notice: Notice) {
        notice.log();
        if let Some(notices) = &self.notices {
            // The send fails without listeners; ignore it.
            let _ = notices.send(notice);
        }
    }
}

/// The topic whose partitions show which brokers coordinate groups.
const OFFSETS: &str = "__consumer_offsets";

/// The phase that keeps a member from its assignment. If the query of the topic met silent brokers
/// (`failed`), this function does not ask these brokers a second time. A second question would
/// halve the rate of queries of the topic.
fn phase(
    client: &BaseConsumer<ClientLog>,
    failed: Option<KafkaError>,
    reason: Option<Reason>,
) -> String {
    let silence = failed.filter(explain::is_silence);
    let answer = silence.map_or_else(|| client.fetch_metadata(Some(OFFSETS), ANSWER), Err);
    let metadata = match answer {
        Ok(metadata) => metadata,
        Err(error) => {
            let reason = Reason::last(client.context().reason(), reason);
            let why = explain::error(&error, reason.as_ref());
            return format!("brokers give no metadata: {why}");
        }
    };
    let brokers = metadata.brokers().len();
    let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == OFFSETS) else {
        return no_offsets(brokers);
    };
    let leaderless = topic.partitions().iter().filter(|partition| partition.leader() < 0).count();
    match topic.error().map(RDKafkaErrorCode::from) {
        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => format!(
            "the group's coordinator or other members do not answer; give this user the right to \
             describe {OFFSETS}, which shows the coordinators"
        ),
        _ if topic.partitions().is_empty() => no_offsets(brokers),
        _ if leaderless > 0 => format!(
            "{leaderless} of {} partitions of {OFFSETS} have no leader, and the group may have no \
             coordinator: start the brokers that hold them",
            topic.partitions().len()
        ),
        _ => "the group is assigning partitions, and its coordinator or another member does not \
              answer: a member that hangs delays the assignment until its session timeout or its \
              max.poll.interval.ms"
            .to_owned(),
    }
}

fn no_offsets(brokers: usize) -> String {
    format!(
        "the group has no coordinator, because there is no topic {OFFSETS}: brokers cannot make \
         this topic while offsets.topic.replication.factor (3 by default) is above the number of \
         brokers, which is {brokers}; lower the factor at the brokers, or start more brokers"
    )
}

fn is_unknown(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{UnknownTopic, UnknownTopicId, UnknownTopicOrPartition};
    matches!(
        error.rdkafka_error_code(),
        Some(UnknownTopic | UnknownTopicId | UnknownTopicOrPartition)
    )
}

/// Waits for the next regular query, or for a requested one. Returns `false` when the thread is to
/// end. Logs the client's events in the meantime; otherwise the events would pile up.
fn wait(client: &BaseConsumer<ClientLog>, asked: &Receiver<()>, every: Duration) -> bool {
    let begin = now();
    let mut wanted = false;
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

/// Queries the identity and the number of partitions of a topic, with an answer by `until`.
pub(super) fn query<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    until: Time,
) -> KafkaResult<(TopicId, u32)> {
    // With a timeout of zero the library would give up an answer that may still come.
    let left = || until.since(now()).max(Duration::from_millis(1));
    // A broker gives this answer for a topic that it does not know yet, and for a topic that is
    // gone.
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    // Ask for the shape first: the answer chooses the broker for the next question.
    let (partitions, _) = shape(client, topic, left())?.ok_or(unknown)?;
    Ok((id(client.client(), topic, left)?, partitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_brokers_are_asked_once() {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", "127.0.0.1:1");
        let client: BaseConsumer<ClientLog> =
            config.create_with_context(ClientLog::default()).unwrap();
        let silence = KafkaError::MetadataFetch(RDKafkaErrorCode::OperationTimedOut);
        let said = explain::error(&silence, None);
        // A question to this port would fail with another error.
        let phase = phase(&client, Some(silence), None);
        assert_eq!(phase, format!("brokers give no metadata: {said}"));
    }
}
