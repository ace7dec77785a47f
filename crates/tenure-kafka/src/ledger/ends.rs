//! Queries the ends of partitions, on a thread of its own: an answer may take long, and the polling
//! thread must not wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};
use tenure::clock::now;
use tenure_core::nele::{Cause, Partition, Reading, Report};

use super::callbacks::Context;
use super::queue::Queue;
use super::{rights, topic_watch};
use crate::explain;

/// An end, or the reason for its absence.
pub(super) type FoundEnd = (Partition, Reading, Result<u64, NoEnd>);

/// The reason why an end was not found.
#[derive(Clone, Debug)]
pub(super) struct NoEnd {
    pub(super) why: Cause,
    pub(super) denied: bool,
}

/// Finds the ends of partitions. A drop ends the thread after the answer for which the thread
/// waits.
pub(super) struct Ends {
    ask: Sender<(Partition, Reading)>,
    stops: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

pub(super) struct EndQuery {
    pub(super) consumer: Arc<BaseConsumer<Context>>,
    pub(super) topic: String,
    /// The longest wait for the answer about an end or the topic.
    pub(super) within: Duration,
    /// The queue for the topic's identity, which a claimant must know. The thread queries the topic
    /// before it passes each end on. `None`: this process claims nothing.
    pub(super) tells_topic: Option<Queue>,
}

impl Ends {
    /// Starts the thread; `tell` gets the results.
    pub(super) fn start(asks: EndQuery, tell: impl Fn(FoundEnd) + Send + 'static) -> Self {
        let (ask, asked) = channel();
        let stops = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stops);
        let run = move || asks.run(&asked, &stopped, tell);
        let spawned = thread::Builder::new().name("tenure-ends".into()).spawn(run);
        // If no thread starts, no end is ever found, and this process never leads.
        Self { ask, stops, thread: spawned.ok() }
    }

    pub(super) fn find(&self, partition: Partition, reading: Reading) {
        // The thread ends only when this value is stopped.
        let _ = self.ask.send((partition, reading));
    }

    pub(super) fn stop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        // The closed channel wakes a thread that waits for a question.
        self.ask = channel().0;
    }

    /// Stops the thread, and waits until the thread no longer holds the consumer.
    pub(super) fn end(&mut self) {
        self.stop();
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.stop();
    }
}

impl EndQuery {
    fn run(
        self,
        asked: &Receiver<(Partition, Reading)>,
        stopped: &AtomicBool,
        tell: impl Fn(FoundEnd),
    ) {
        let stopped = || stopped.load(Ordering::SeqCst);
        let mut failed = BTreeSet::new();
        while let Ok(first) = asked.recv() {
            let all: Vec<_> = [first].into_iter().chain(asked.try_iter()).collect();
            if stopped() {
                return;
            }
            let found = self.ask(&all);
            if found.0.is_err() && all.len() > 1 {
                one_by_one(&mut failed, all, |one| {
                    if stopped() {
                        return false;
                    }
                    let alone = self.ask(&[one]).end(&self.topic, one.0);
                    let found = alone.is_ok();
                    tell((one.0, one.1, alone));
                    found
                });
                continue;
            }
            for &(partition, reading) in &all {
                tell((partition, reading, found.end(&self.topic, partition)));
            }
        }
    }

    fn ask(&self, all: &[(Partition, Reading)]) -> Answer {
        let found = match self.find(all) {
            // Query the topic after the end: the end then belongs to this topic, or to an earlier
            // topic that is gone.
            Ok(found) => self.query_topic().map(|()| found),
            // Once access to a topic was refused, librdkafka calls the topic unknown and gives no
            // reason: a query for the topic shows the refusal.
            Err(error) if error.rdkafka_error_code().is_some_and(is_unknown) => {
                let refused = self.query_topic().err().filter(|missed| missed.denied);
                Err(refused.unwrap_or_else(|| NoEnd::because(&error)))
            }
            Err(error) => Err(NoEnd::because(&error)),
        };
        Answer(found)
    }

    fn query_topic(&self) -> Result<(), NoEnd> {
        let Some(queue) = &self.tells_topic else { return Ok(()) };
        let until = now().after(self.within);
        match topic_watch::query(&self.consumer, &self.topic, until) {
            Ok((id, partitions)) => {
                queue.put(Report::Topic { id, partitions });
                Ok(())
            }
            Err(error) => {
                let NoEnd { why: Cause { what, fix }, denied } = NoEnd::because(&error);
                let what = format!("the identity of the topic cannot be read: {what}").into();
                Err(NoEnd { why: Cause { what, fix }, denied })
            }
        }
    }

    fn find(&self, all: &[(Partition, Reading)]) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::new();
        for (partition, _) in all {
            let number = partition.0.cast_signed();
            if list.find_partition(&self.topic, number).is_none() {
                list.add_partition_offset(&self.topic, number, Offset::End)?;
            }
        }
        self.consumer.offsets_for_times(list, self.within)
    }
}

impl NoEnd {
    /// A failure other than a missing right.
    pub(super) fn new(why: impl Into<Cause>) -> Self {
        Self { why: why.into(), denied: false }
    }

    pub(super) fn because(error: &KafkaError) -> Self {
        let denied = rights::missing(error).is_some();
        Self { why: explain::error(error, None), denied }
    }
}

/// Whether the library has not heard of the topic.
fn is_unknown(code: RDKafkaErrorCode) -> bool {
    matches!(code, RDKafkaErrorCode::UnknownPartition | RDKafkaErrorCode::UnknownTopic)
}

/// The number of partitions in a row without an answer after which the thread skips the rest.
const MISSES: usize = 3;

/// Asks about each partition alone, because one silent broker fails a question about all
/// partitions. Partitions that failed earlier come last. The thread soon asks again about the
/// partitions that it skips.
fn one_by_one<R>(
    failed: &mut BTreeSet<Partition>,
    mut all: Vec<(Partition, R)>,
    mut ask: impl FnMut((Partition, R)) -> bool,
) {
    all.sort_by_key(|(partition, _)| failed.contains(partition));
    let mut misses = 0;
    for one in all {
        let partition = one.0;
        if misses == MISSES {
            break;
        }
        if ask(one) {
            failed.remove(&partition);
            misses = 0;
        } else {
            failed.insert(partition);
            misses += 1;
        }
    }
}

struct Answer(Result<TopicPartitionList, NoEnd>);

impl Answer {
    fn end(&self, topic: &str, partition: Partition) -> Result<u64, NoEnd> {
        let list = self.0.as_ref().map_err(Clone::clone)?;
        let one = list.find_partition(topic, partition.0.cast_signed());
        let one = one.ok_or_else(|| NoEnd::new("the answer lacks this partition"))?;
        one.error().map_err(|error| NoEnd::because(&error))?;
        match one.offset() {
            Offset::Offset(offset) => {
                u64::try_from(offset).map_err(|_| NoEnd::new("the answer has a negative offset"))
            }
            // A broker sends this answer when the end is missing.
            other => Err(NoEnd::new(format!("the answer is {other:?}, and no offset"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nele::RebalanceId;

    use super::*;

    #[test]
    fn stopped_thread_asks_no_more() {
        let within = Duration::from_millis(500);
        let mut config = rdkafka::ClientConfig::new();
        config.set("bootstrap.servers", "127.0.0.1:1").set("group.id", "g");
        let consumer = config.create_with_context(Context::default()).unwrap();
        let (told, heard) = channel();
        let asks = EndQuery {
            consumer: Arc::new(consumer),
            topic: "t".to_owned(),
            within,
            tells_topic: None,
        };
        let mut ends = Ends::start(asks, move |(partition, ..)| {
            let _ = told.send(partition);
        });
        let all = |attempt| {
            (0..8).map(move |number| {
                (Partition(number), Reading { rebalance: RebalanceId(1), attempt })
            })
        };
        for (partition, reading) in all(1) {
            ends.find(partition, reading);
        }
        // The thread has asked once, and more questions wait.
        heard.recv().unwrap();
        all(2).for_each(|(partition, reading)| ends.find(partition, reading));
        let asked = heard.try_iter().count();
        let began = now();
        ends.end();
        let took = now().since(began);
        let more = heard.try_iter().count();
        assert!(more <= 1 && took < within * 3, "{asked} and then {more}, in {took:?}");
    }

    #[test]
    fn silent_broker_fails_own_partitions() {
        let mut failed = BTreeSet::new();
        let all: Vec<_> = (0..16).map(|number| (Partition(number), ())).collect();
        // Every second partition has a broker that does not answer.
        for round in 0..2 {
            let mut found = 0;
            let mut asked = 0;
            one_by_one(&mut failed, all.clone(), |(partition, ())| {
                asked += 1;
                let answers = partition.0 % 2 == 0;
                found += usize::from(answers);
                answers
            });
            assert_eq!(found, 8, "round {round}");
            assert_eq!(asked, if round == 0 { 16 } else { 8 + MISSES });
        }
        // The brokers stop answering, and later all of them answer again.
        let mut asked = 0;
        one_by_one(&mut failed, all.clone(), |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, MISSES);
        one_by_one(&mut failed, all, |_| true);
        assert!(failed.is_empty());
    }
}
