//! Writes records at once, each to the named partition, with neither key nor value. Replaces a
//! producer that is stuck or can never write again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::client_log::ClientLog;
use crate::{client_end, explain, wire};

/// A producer counts as stuck when a partition has failed for this number of delivery timeouts.
const STUCK: u32 = 4;

/// A producer counts as stuck no sooner than after this time. A new producer may need as long to
/// find the brokers during their elections.
const STUCK_MIN: Duration = Duration::from_secs(5);

/// A record on its way to the broker.
struct EntryInFlight {
    number: EntryNumber,
    partition: Partition,
    /// Whether the record is a claim: then the driver reports every outcome.
    is_claim: bool,
}

/// Receives the outcomes of records, on the producer's own thread.
struct Outcomes {
    log: ClientLog,
    reports: Reports,
    /// Whether brokers refuse all records of this producer.
    over: AtomicBool,
    worked: AtomicBool,
}

/// Reports the outcomes of records: every outcome of a claim, each failure of any other record, and
/// the first success after a failure.
#[derive(Clone)]
struct Reports {
    queue: Queue,
    /// Partitions whose last record failed, each with the time of its first failure in a row, on
    /// `CLOCK_BOOTTIME`.
    failing: Arc<Mutex<BTreeMap<Partition, Time>>>,
}

impl ClientContext for Outcomes {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.log.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(error, reason);
    }
}

impl ProducerContext for Outcomes {
    type DeliveryOpaque = Box<EntryInFlight>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<EntryInFlight>) {
        match result {
            Ok(_) => self.worked.store(true, Ordering::Relaxed),
            Err((error, _)) => drop(self.over.fetch_or(is_over(error), Ordering::Relaxed)),
        }
        let outcome = match result {
            // The library may have written a record twice, and then returns an earlier offset, or
            // no offset. The reader learns the offset of a claim, and other records need none.
            Ok(message) => match u64::try_from(message.offset()) {
                Err(_) if sent.is_claim => return,
                offset => Ok(offset.unwrap_or_default()),
            },
            Err((error, _)) => Err(self.cause(error)),
        };
        self.reports.became(&sent, outcome, now());
    }
}

impl Outcomes {
    fn cause(&self, error: &KafkaError) -> Arc<str> {
        explain::error(error, self.log.reason().as_ref()).into()
    }
}

impl Reports {
    fn new(queue: Queue) -> Self {
        Self { queue, failing: Arc::default() }
    }

    fn became(&self, sent: &EntryInFlight, outcome: Result<u64, Arc<str>>, now: Time) {
        let EntryInFlight { number, partition, is_claim } = *sent;
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let news = match outcome {
            Ok(_) => failing.remove(&partition).is_some(),
            Err(_) => {
                failing.entry(partition).or_insert(now);
                true
            }
        };
        // The queue has its own lock: release the lock of `failing` first.
        drop(failing);
        if is_claim || news {
            self.queue.put(Report::Published { number, partition, outcome });
        }
    }

    /// The time of the earliest failure that still lasts, of any partition.
    fn failing(&self) -> Option<Time> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.values().min().copied()
    }
}

pub(super) struct Writer {
    config: ClientConfig,
    topic: String,
    partitions: u32,
    reports: Reports,
    producer: ThreadedProducer<Outcomes>,
    /// The pace at which new producers replace refused producers.
    pace: Pace,
    stuck: StuckCheck,
}

/// Finds a stuck producer: the library lets every record of a partition run out of time, while
/// another producer could write them.
struct StuckCheck {
    /// The time for which a partition may fail.
    patience: Duration,
    /// Start of the producer, on `CLOCK_BOOTTIME`.
    since: Time,
    /// The pace of new producers. The pace slows down if new producers cannot write, either: the
    /// partition may have no leader.
    pace: Pace,
}

impl StuckCheck {
    /// Whether to make another producer at `now`; `failing` is the time of the earliest failure
    /// that still lasts.
    fn is_due(&mut self, failing: Option<Time>, now: Time) -> bool {
        let Some(failing) = failing else {
            self.pace.worked();
            return false;
        };
        let due = now.since(failing.max(self.since)) >= self.patience && self.pace.may(now);
        if due {
            self.since = now;
        }
        due
    }
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
        let patience = STUCK_MIN.max(STUCK * protocol.delivery_timeout);
        let stuck = StuckCheck { patience, since: now(), pace: Pace::default() };
        let partitions = protocol.partitions;
        Ok(Self { config, topic, partitions, reports, producer, pace: Pace::default(), stuck })
    }

    /// Hands an entry to the library, which sends it at once. Waits for no broker.
    pub(super) fn publish(&mut self, to: Target, entry: &Entry) {
        if self.stuck.is_due(self.reports.failing(), now()) {
            self.replace();
        } else if self.producer.context().over.load(Ordering::Relaxed) {
            self.begin_anew();
        }
        let value = wire::write(entry);
        let headers = OwnedHeaders::new_with_capacity(1)
            .insert(Header { key: wire::HEADER, value: Some(&value) });
        let partitions = match to {
            Target::Every => 0..self.partitions,
            Target::One(partition) => partition.0..partition.0.saturating_add(1),
        };
        let is_claim = entry.kind == Kind::Claim;
        for partition in partitions.map(Partition) {
            let sent = Box::new(EntryInFlight { number: entry.number, partition, is_claim });
            self.send(partition, headers.clone(), sent);
        }
    }

    fn send(&mut self, partition: Partition, headers: OwnedHeaders, sent: Box<EntryInFlight>) {
        let record = BaseRecord::<(), (), _>::with_opaque_to(&self.topic, sent)
            .partition(partition.0.cast_signed())
            .headers(headers);
        let Err((error, record)) = self.producer.send(record) else { return };
        let outcomes = self.producer.context();
        self.reports.became(&record.delivery_opaque, Err(outcomes.cause(&error)), now());
        if is_over(&error) {
            self.begin_anew();
        }
    }

    /// Replaces the producer. Refused records are written again with the next heartbeat. If every
    /// producer is refused, the last one stays for a while, and reports each record as failed at
    /// once.
    fn begin_anew(&mut self) {
        if self.producer.context().worked.load(Ordering::Relaxed) {
            self.pace.worked();
        }
        if self.pace.may(now()) {
            self.replace();
        }
    }

    fn replace(&mut self) {
        if let Ok(producer) = producer(&self.config, &self.reports) {
            let before = std::mem::replace(&mut self.producer, producer);
            // The drop waits for the producer's records, so another thread drops the producer.
            drop(client_end::end(|| drop(before)));
        }
    }
}

/// Whether the producer can never write again. The library refuses all records after a log was
/// truncated. Brokers refuse all records when the producer's epoch has wrapped around; each second
/// without a reachable partition raises that epoch.
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
        log: ClientLog::default(),
        reports: reports.clone(),
        over: AtomicBool::new(false),
        worked: AtomicBool::new(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuck_producer_is_replaced_slowly() {
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let patience = Duration::from_secs(5);
        let mut stuck = StuckCheck { patience, since: at(100), pace: Pace::default() };
        assert!(!stuck.is_due(None, at(200)), "everything is written");
        assert!(!stuck.is_due(Some(at(198)), at(202)) && stuck.is_due(Some(at(198)), at(203)));
        let replaced = (204..1_000).filter(|now| stuck.is_due(Some(at(198)), at(*now))).count();
        assert!((20..40).contains(&replaced), "{replaced}: each is given its time, and a pause");
        assert!(!stuck.is_due(None, at(1_000)));
        assert!(stuck.is_due(Some(at(1_001)), at(1_006)), "at once after it was written");
    }

    #[test]
    fn longest_failure_counts() {
        let reports = Reports::new(Queue::default());
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let became = |partition: u32, works: bool, now: u64| {
            let partition = Partition(partition);
            let sent = EntryInFlight { number: EntryNumber(1), partition, is_claim: false };
            reports.became(&sent, if works { Ok(1) } else { Err("no".into()) }, at(now));
            reports.failing()
        };
        assert_eq!(became(0, true, 1), None);
        assert_eq!([became(0, false, 2), became(0, false, 3)], [Some(at(2)); 2]);
        assert_eq!(became(1, true, 4), Some(at(2)), "others do not make it good");
        assert_eq!([became(2, false, 5), became(0, true, 6)], [Some(at(2)), Some(at(5))]);
        assert_eq!(became(2, true, 7), None);
    }

    #[test]
    fn first_success_is_reported() {
        let queue = Queue::default();
        let reports = Reports::new(queue.clone());
        let mut number = 0;
        let mut became = |partition: u32, is_claim: bool, works: bool| {
            number += 1;
            let sent = EntryInFlight {
                number: EntryNumber(number),
                partition: Partition(partition),
                is_claim,
            };
            let outcome = if works { Ok(number) } else { Err("no".into()) };
            reports.clone().became(&sent, outcome, Time::ZERO);
            std::iter::from_fn(|| queue.take()).count()
        };
        assert_eq!(became(0, false, true), 0);
        assert_eq!(became(0, true, true), 1, "a claim");
        assert_eq!([became(0, false, false), became(0, false, false)], [1, 1]);
        assert_eq!(became(1, false, true), 0, "another partition");
        assert_eq!([became(0, false, true), became(0, false, true)], [1, 0]);
    }
}
