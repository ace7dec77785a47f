//! What is written: at once, to the partitions that are named, with neither key nor value.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tenure::clock::now;
use tenure_core::nele::{Entry, EntryNumber, Kind, Partition, Report, Target};

use super::pace::Pace;
use super::queue::Queue;
use crate::told::{LOG, Told};
use crate::{explain, wire};

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
            Ok(_) => self.worked.store(true, Ordering::Relaxed),
            Err((error, _)) => drop(self.over.fetch_or(is_over(error), Ordering::Relaxed)),
        }
        let outcome = match result {
            Ok(message) => u64::try_from(message.offset()).map_err(|_| "no offset is told".into()),
            Err((error, _)) => Err(self.said(error)),
        };
        self.reports.became(&sent, outcome);
    }
}

impl Outcomes {
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
}

impl Writer {
    pub(super) fn new(
        config: ClientConfig,
        topic: String,
        partitions: u32,
        queue: Queue,
    ) -> KafkaResult<Self> {
        let reports = Reports::new(queue);
        let producer = producer(&config, &reports)?;
        Ok(Self { config, topic, partitions, reports, producer, pace: Pace::default() })
    }

    /// Hands an entry to the library, which sends it at once. Waits for no broker.
    pub(super) fn publish(&mut self, to: Target, entry: &Entry) {
        if self.producer.context().over.load(Ordering::Relaxed) {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
