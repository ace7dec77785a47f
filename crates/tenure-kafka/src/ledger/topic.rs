//! Looks again and again whether the topic has changed.

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

/// The number of publish intervals between two looks: a look costs less than an interval.
const INTERVALS: u32 = 30;

/// The longest pause between two looks.
const MOST: Duration = Duration::from_secs(15);

/// The topic counts as gone after this number of looks in a row: a broker may not have heard of it
/// yet.
const GONE: u32 = 2;

/// The shortest pause between two looks, on request, too.
const LEAST: Duration = Duration::from_millis(500);

/// A member without an assignment for this time is reported.
const JOINING: Duration = Duration::from_secs(5);

/// Looks at the topic, on a thread of its own. Dropping all clones ends the thread.
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
            let mut gone = MissingTopic { topic, looks: 0, phase: tell, notices };
            let mut reason = None;
            while wait(&client, &asked, every) {
                let seen = look(&client, &gone.topic, now().after(ANSWER));
                gone.look(&seen);
                // The library names each reason once in half a minute.
                reason = Reason::last(client.context().reason(), reason.filter(|_| seen.is_err()));
                let failed = seen.map(|(id, partitions)| {
                    queue.put(Report::Topic { id, partitions });
                });
                let since = *since.lock().unwrap_or_else(PoisonError::into_inner);
                let lasts = since.is_some_and(|since| now().since(since) >= JOINING);
                gone.joins(lasts.then(|| phase(&client, failed.err(), reason.clone())));
            }
        };
        thread::Builder::new()
            .name("tenure-topic".into())
            .spawn(run)
            .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        Ok(Self { soon, joining, phases })
    }

    /// The phase in which a member without an assignment has been for long.
    pub(super) fn phases(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.phases.clone()
    }

    /// The member has been without an assignment since then, or has one.
    pub(super) fn joins(&self, since: Option<Time>) {
        *self.joining.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Asks for a look if the member has been joining for too long. Returns whether it has.
    pub(super) fn joins_too_long(&self) -> bool {
        let since = *self.joining.lock().unwrap_or_else(PoisonError::into_inner);
        let lasts = since.is_some_and(|since| now().since(since) >= JOINING);
        if lasts {
            self.look_soon();
        }
        lasts
    }

    /// Asks for a look soon: another topic may be there after a lost connection.
    pub(super) fn look_soon(&self) {
        // An error means that a look was asked for already.
        let _ = self.soon.try_send(());
    }
}

/// Notices about a topic that is gone.
struct MissingTopic {
    topic: String,
    /// The number of looks in a row that did not find the topic.
    looks: u32,
    /// The phase in which a member has been without an assignment for long.
    phase: watch::Sender<Option<Arc<str>>>,
    notices: Option<Sender<Notice>>,
}

impl MissingTopic {
    /// Reports that the topic is gone, and that it is back.
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

    /// Reports the wait of a member that joins for long, and its end.
    fn joins(&self, phase: Option<String>) {
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

/// The topic whose partitions show brokers the coordinator of a group.
const OFFSETS: &str = "__consumer_offsets";

/// The phase that keeps a member from its assignment. When the look `failed`, silent brokers are
/// not asked a second time: looks at the topic would come half as often.
fn phase(
    client: &BaseConsumer<ClientLog>,
    failed: Option<KafkaError>,
    reason: Option<Reason>,
) -> String {
    let silence = failed.filter(explain::is_silence);
    let asked = silence.map_or_else(|| client.fetch_metadata(Some(OFFSETS), ANSWER), Err);
    let metadata = match asked {
        Ok(metadata) => metadata,
        Err(error) => {
            let reason = Reason::last(client.context().reason(), reason);
            let why = explain::error(&error, reason.as_ref());
            return format!("brokers tell no metadata: {why}");
        }
    };
    let brokers = metadata.brokers().len();
    let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == OFFSETS) else {
        return no_offsets(brokers);
    };
    let leaderless = topic.partitions().iter().filter(|partition| partition.leader() < 0).count();
    match topic.error().map(RDKafkaErrorCode::from) {
        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => format!(
            "its coordinator or its other members do not answer; this user may not describe \
             {OFFSETS}, which would tell"
        ),
        _ if topic.partitions().is_empty() => no_offsets(brokers),
        _ if leaderless > 0 => format!(
            "{leaderless} of {} partitions of {OFFSETS} have no leader, and the group may have no \
             coordinator: start the brokers that hold them",
            topic.partitions().len()
        ),
        _ => "partitions are being assigned, and another member of the group does not answer, or \
              its coordinator: a member that stands still holds that up until its session timeout \
              or its max.poll.interval.ms"
            .to_owned(),
    }
}

fn no_offsets(brokers: usize) -> String {
    format!(
        "it has no coordinator, as there is no topic {OFFSETS}: brokers cannot make it \
         where offsets.topic.replication.factor (3 by default) is above the number of brokers, \
         which is {brokers}: lower it at the brokers, or start more of them"
    )
}

fn is_unknown(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{UnknownTopic, UnknownTopicId, UnknownTopicOrPartition};
    matches!(
        error.rdkafka_error_code(),
        Some(UnknownTopic | UnknownTopicId | UnknownTopicOrPartition)
    )
}

/// Waits for the time to look, or for a request. Returns whether to look. Logs the client's events
/// in the meantime, so that they do not pile up.
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

/// The identity and the number of partitions of a topic, answered by `until`.
pub(super) fn look<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    until: Time,
) -> KafkaResult<(TopicId, u32)> {
    // A zero timeout would give up an answer that may still come.
    let left = || until.since(now()).max(Duration::from_millis(1));
    // A broker that has not heard of a topic yet answers like one whose topic is gone.
    let unknown = KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    // This question comes first, because it chooses the broker for the next one.
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
        // A silence of the port itself would give another error.
        let phase = phase(&client, Some(silence), None);
        assert_eq!(phase, format!("brokers tell no metadata: {said}"));
    }
}
