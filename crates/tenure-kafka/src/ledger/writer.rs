//! What is written: at once, to the partitions that are named, with neither key nor value.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tenure_core::nele::{Entry, EntryNumber, Kind, Partition, Report, Target};

use super::queue::Queue;
use crate::told::{LOG, Told};
use crate::{explain, wire};

/// Which record something became of.
struct Sent {
    number: EntryNumber,
    partition: Partition,
    /// Whether success is told, too.
    told: bool,
}

/// What hears what became of records, on the producer's own thread.
struct Outcomes {
    told: Told,
    queue: Queue,
    /// Brokers take nothing more from this producer.
    over: AtomicBool,
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
        if let Err((error, _)) = result {
            self.over.fetch_or(is_over(error), Ordering::Relaxed);
        }
        let outcome = match result {
            Ok(message) => u64::try_from(message.offset()).map_err(|_| "no offset is told".into()),
            Err((error, _)) => Err(self.said(error)),
        };
        self.became(&sent, outcome);
    }
}

impl Outcomes {
    fn said(&self, error: &KafkaError) -> Arc<str> {
        explain::error(error, self.told.reason().as_ref()).into()
    }

    fn became(&self, sent: &Sent, outcome: Result<u64, Arc<str>>) {
        if sent.told || outcome.is_err() {
            let Sent { number, partition, .. } = *sent;
            self.queue.put(Report::Published { number, partition, outcome });
        }
    }
}

/// Writes entries.
pub(super) struct Writer {
    config: ClientConfig,
    topic: String,
    partitions: u32,
    queue: Queue,
    producer: ThreadedProducer<Outcomes>,
}

impl Writer {
    pub(super) fn new(
        config: ClientConfig,
        topic: String,
        partitions: u32,
        queue: Queue,
    ) -> KafkaResult<Self> {
        let producer = producer(&config, &queue)?;
        Ok(Self { config, topic, partitions, queue, producer })
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
        outcomes.became(&record.delivery_opaque, Err(outcomes.said(&error)));
        if is_over(&error) {
            self.begin_anew();
        }
    }

    /// What was refused is written again by those who write again anyway.
    fn begin_anew(&mut self) {
        if let Ok(producer) = producer(&self.config, &self.queue) {
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

fn producer(config: &ClientConfig, queue: &Queue) -> KafkaResult<ThreadedProducer<Outcomes>> {
    let over = AtomicBool::new(false);
    let outcomes = Outcomes { told: Told::default(), queue: queue.clone(), over };
    config.create_with_context(outcomes)
}
