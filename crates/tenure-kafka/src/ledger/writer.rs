//! What is written: at once, to the partitions that are named, with neither key nor value.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::{Config, Entry, EntryNumber, Kind, Partition, Report, Target};

use super::pace::Pace;
use super::queue::Queue;
use crate::told::{LOG, Told};
use crate::{explain, wire};

/// So many delivery timeouts after the first record that failed a producer is taken for stuck.
const STUCK: u32 = 4;

/// Which record something became of.
struct Sent {
    number: EntryNumber,
    partition: Partition,
    /// Whether success is told in any case.
    told: bool,
}

/// What hears what became of records, on the producer's own thread.
struct Outcomes {
    told: Told,
    reports: Reports,
    /// Brokers take nothing more from this producer.
    over: AtomicBool,
    /// They have taken something.
    worked: AtomicBool,
    /// Since when everything has failed, in nanoseconds of the clock; 0 if the last record did not.
    failing: AtomicU64,
}

/// What is told of what became of records: of claims everything, of others what failed, and the
/// first that did not after that, so that the next failure is news.
#[derive(Clone)]
struct Reports {
    queue: Queue,
    /// Partitions on which the last record failed.
    failing: Arc<Mutex<BTreeSet<Partition>>>,
}

impl ClientContext for Outcomes {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.told.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.told.error(error, reason);
    }
}

impl ProducerContext for Outcomes {
    type DeliveryOpaque = Box<Sent>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<Sent>) {
        match result {
            Ok(_) => {
                self.worked.store(true, Ordering::Relaxed);
                self.failing.store(0, Ordering::Relaxed);
            }
            Err((error, _)) => {
                self.over.fetch_or(is_over(error), Ordering::Relaxed);
                self.fails(now());
            }
        }
        let outcome = match result {
            Ok(message) => u64::try_from(message.offset()).map_err(|_| "no offset is told".into()),
            Err((error, _)) => Err(self.said(error)),
        };
        self.reports.became(&sent, outcome);
    }
}

impl Outcomes {
    fn fails(&self, now: Time) {
        let first = now.as_nanos().max(1);
        let _ = self.failing.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether everything has failed for so long.
    fn has_failed_for(&self, long: Duration, now: Time) -> bool {
        let since = self.failing.load(Ordering::Relaxed);
        since != 0 && now.since(Time::from_nanos(since)) >= long
    }

    fn said(&self, error: &KafkaError) -> Arc<str> {
        explain::error(error, self.told.reason().as_ref()).into()
    }
}

impl Reports {
    fn new(queue: Queue) -> Self {
        Self { queue, failing: Arc::default() }
    }

    fn became(&self, sent: &Sent, outcome: Result<u64, Arc<str>>) {
        let Sent { number, partition, told } = *sent;
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let news = match outcome {
            Ok(_) => failing.remove(&partition),
            Err(_) => {
                failing.insert(partition);
                true
            }
        };
        if told || news {
            self.queue.put(Report::Published { number, partition, outcome });
        }
    }
}

/// Writes entries.
pub(super) struct Writer {
    config: ClientConfig,
    topic: String,
    partitions: u32,
    reports: Reports,
    producer: ThreadedProducer<Outcomes>,
    pace: Pace,
    /// One that writes nothing for so long is taken for stuck: the library has been seen to let
    /// record after record run out of time, while another producer could write.
    patience: Duration,
}

impl Writer {
    pub(super) fn new(
        config: ClientConfig,
        topic: String,
        protocol: &Config,
        queue: Queue,
    ) -> KafkaResult<Self> {
        let reports = Reports::new(queue);
        let producer = producer(&config, &reports)?;
        let patience = STUCK * protocol.delivery_timeout;
        let (partitions, pace) = (protocol.partitions, Pace::default());
        Ok(Self { config, topic, partitions, reports, producer, pace, patience })
    }

    /// Hands an entry to the library, which sends it at once. Waits for no broker.
    pub(super) fn publish(&mut self, to: Target, entry: &Entry) {
        let outcomes = self.producer.context();
        let is_stuck = outcomes.has_failed_for(self.patience, now());
        if is_stuck || outcomes.over.load(Ordering::Relaxed) {
            self.begin_anew();
        }
        let value = wire::write(entry);
        let headers = OwnedHeaders::new_with_capacity(1)
            .insert(Header { key: wire::HEADER, value: Some(&value) });
        let partitions = match to {
            Target::Every => 0..self.partitions,
            Target::One(partition) => partition.0..partition.0.saturating_add(1),
        };
        let told = entry.kind == Kind::Claim;
        for partition in partitions.map(Partition) {
            let sent = Box::new(Sent { number: entry.number, partition, told });
            self.send(partition, headers.clone(), sent);
        }
    }

    fn send(&mut self, partition: Partition, headers: OwnedHeaders, sent: Box<Sent>) {
        let record = BaseRecord::<(), (), _>::with_opaque_to(&self.topic, sent)
            .partition(partition.0.cast_signed())
            .headers(headers);
        let Err((error, record)) = self.producer.send(record) else { return };
        let outcomes = self.producer.context();
        self.reports.became(&record.delivery_opaque, Err(outcomes.said(&error)));
        if is_over(&error) {
            self.begin_anew();
        }
    }

    /// What was refused is written again by those who write again anyway. One that is refused
    /// everything stays for a while, and says of each record at once that it failed.
    fn begin_anew(&mut self) {
        if self.producer.context().worked.load(Ordering::Relaxed) {
            self.pace.worked();
        }
        if !self.pace.may(now()) {
            return;
        }
        if let Ok(producer) = producer(&self.config, &self.reports) {
            let before = std::mem::replace(&mut self.producer, producer);
            // It waits for what it has sent when it is dropped, and nobody else must.
            let drops = std::thread::Builder::new().name("tenure-producer".into());
            if let Err(error) = drops.spawn(move || drop(before)) {
                tracing::debug!(target: LOG, "the producer before is dropped here: {error}");
            }
        }
    }
}

/// Whether a producer can write nothing more: the library refuses everything after a log was
/// truncated, and brokers do when its epoch has come round, which each second in which a partition
/// cannot be reached brings nearer.
fn is_over(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::Fatal
                | RDKafkaErrorCode::InvalidProducerEpoch
                | RDKafkaErrorCode::OutOfOrderSequenceNumber
                | RDKafkaErrorCode::ProducerFenced
                | RDKafkaErrorCode::UnknownProducerId
        )
    )
}

fn producer(config: &ClientConfig, reports: &Reports) -> KafkaResult<ThreadedProducer<Outcomes>> {
    config.create_with_context(Outcomes {
        told: Told::default(),
        reports: reports.clone(),
        over: AtomicBool::new(false),
        worked: AtomicBool::new(false),
        failing: AtomicU64::new(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_writes_nothing_for_long_is_found() {
        let outcomes = Outcomes {
            told: Told::default(),
            reports: Reports::new(Queue::default()),
            over: AtomicBool::new(false),
            worked: AtomicBool::new(false),
            failing: AtomicU64::new(0),
        };
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let is_stuck = |seconds| outcomes.has_failed_for(Duration::from_secs(4), at(seconds));
        assert!(!is_stuck(100));
        outcomes.fails(at(100));
        outcomes.fails(at(103));
        assert!(!is_stuck(103) && is_stuck(104));
        outcomes.failing.store(0, Ordering::Relaxed);
        outcomes.fails(at(110));
        assert!(!is_stuck(113), "one was written in between");
    }

    #[test]
    fn the_first_success_after_a_failure_is_told_and_no_other_but_of_claims() {
        let queue = Queue::default();
        let reports = Reports::new(queue.clone());
        let mut number = 0;
        let mut became = |partition: u32, told: bool, works: bool| {
            number += 1;
            let sent = Sent { number: EntryNumber(number), partition: Partition(partition), told };
            let outcome = if works { Ok(number) } else { Err("no".into()) };
            reports.clone().became(&sent, outcome);
            std::iter::from_fn(|| queue.take()).count()
        };
        assert_eq!(became(0, false, true), 0);
        assert_eq!(became(0, true, true), 1, "a claim");
        assert_eq!([became(0, false, false), became(0, false, false)], [1, 1]);
        assert_eq!(became(1, false, true), 0, "another partition");
        assert_eq!([became(0, false, true), became(0, false, true)], [1, 0]);
    }
}
