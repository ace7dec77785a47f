//! Reads a partition for a process that is no member of the group.

use std::sync::Arc;
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tenure_core::nele::{Checked, Partition, Reading, Report};

use super::callbacks::Context;
use super::ends::{EndQuery, Ends, FoundEnd};
use super::queue::Queue;
use super::reading::Readings;
use crate::client_log::LOG;
use crate::explain;

/// The longest wait of a poll.
const POLL: Duration = Duration::from_millis(100);

/// The maximum number of readings of one client. A client whose readings bring no records may be
/// broken.
const READINGS: u32 = 16;

enum Ask {
    Read(Partition, Reading),
    Found(FoundEnd),
    Stop,
}

/// Reads one partition outside the group, on a thread of its own. A drop ends the thread.
pub(super) struct Observer {
    pub(super) reading: Reading,
    begun: u32,
    asks: Sender<Ask>,
}

impl Observer {
    /// Queries the end of the partition, and reads on from there, with a client of its own.
    pub(super) fn start(
        config: &ClientConfig,
        topic: &str,
        partition: Partition,
        reading: Reading,
        protocol: &Checked,
        queue: Queue,
    ) -> KafkaResult<Self> {
        let consumer: BaseConsumer<Context> = config.create_with_context(Context::default())?;
        let consumer = Arc::new(consumer);
        let (asks, asked) = channel();
        let found = asks.clone();
        let query = EndQuery {
            consumer: consumer.clone(),
            topic: topic.to_owned(),
            within: protocol.seek,
            // An observer claims nothing, so it need not know the topic's identity.
            tells_topic: None,
        };
        let mut ends = Ends::start(query, move |end| {
            // The send fails if the observer was stopped; ignore it.
            let _ = found.send(Ask::Found(end));
        });
        let topic = topic.to_owned();
        let ours = protocol.clone();
        let run = move || {
            let mut readings = Readings::new(ours);
            loop {
                match asked.try_recv() {
                    Ok(Ask::Read(partition, reading)) => {
                        // No more records of the earlier reading come after this.
                        if let Err(error) = consumer.unassign() {
                            tracing::debug!(target: LOG, "{error}");
                        }
                        readings.forget_all();
                        readings.want(partition, reading);
                        ends.find(partition, reading);
                    }
                    Ok(Ask::Found((partition, reading, end))) => {
                        if readings.is_wanted(partition, reading) {
                            let end = end.map_err(|missed| missed.why.into());
                            let end = end.and_then(|end| begin(&consumer, &topic, partition, end));
                            if end.is_ok() {
                                readings.begin(partition, reading);
                            }
                            queue.put(Report::Position { partition, reading, end });
                        }
                    }
                    Ok(Ask::Stop) | Err(TryRecvError::Disconnected) => break,
                    Err(TryRecvError::Empty) => {}
                }
                poll(&consumer, &mut readings, &queue);
            }
            ends.end();
        };
        thread::Builder::new()
            .name("tenure-observer".into())
            .spawn(run)
            .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        let mut observer = Self { reading, begun: 0, asks };
        observer.read(partition, reading);
        Ok(observer)
    }

    /// Reads this partition next, instead of the earlier one. Returns `false` if the caller must
    /// make another client, as happens from time to time.
    pub(super) fn read(&mut self, partition: Partition, reading: Reading) -> bool {
        self.reading = reading;
        self.begun += 1;
        self.begun <= READINGS && self.asks.send(Ask::Read(partition, reading)).is_ok()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // An error means that the thread has ended.
        let _ = self.asks.send(Ask::Stop);
    }
}

fn begin(
    consumer: &BaseConsumer<Context>,
    topic: &str,
    partition: Partition,
    end: u64,
) -> Result<u64, Arc<str>> {
    let offset = i64::try_from(end).map_or(Offset::Invalid, Offset::Offset);
    let assign = || {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition.0.cast_signed(), offset)?;
        consumer.assign(&list)
    };
    assign().map(|()| end).map_err(|error| explain::error(&error, None).into())
}

fn poll(consumer: &BaseConsumer<Context>, readings: &mut Readings, queue: &Queue) {
    let broken = |(partition, reading): (Partition, Reading), why: Arc<str>| {
        queue.put(Report::Broken { partition, reading, why });
    };
    match consumer.poll(POLL) {
        None => {}
        Some(Ok(message)) => {
            if let Some(ended) = readings.take(&message, queue) {
                broken(ended, "more records came in than were read".into());
            }
        }
        Some(Err(error)) => {
            let why: Arc<str> = explain::error(&error, consumer.context().reason().as_ref()).into();
            tracing::debug!(target: LOG, "{why}");
            // Any error interrupts the readings: records after the error may be missing.
            readings.clear().into_iter().for_each(|ended| broken(ended, why.clone()));
        }
    }
}
