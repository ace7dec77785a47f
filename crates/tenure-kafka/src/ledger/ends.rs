//! Where partitions end, asked on a thread of its own: the answer may take long, and the thread
//! that polls does not wait.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};
use tenure_core::nele::{Partition, Reading};

use super::context::Context;
use crate::explain;

/// An end that was found, or why it was not.
pub(super) type Found = (Partition, Reading, Result<u64, Arc<str>>);

/// Finds the ends of partitions. Dropping it ends its thread after the last answer.
pub(super) struct Ends {
    ask: Option<Sender<(Partition, Reading)>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ends {
    /// `tell` gets what was found. An answer is waited for no longer than `within`.
    pub(super) fn start(
        consumer: Arc<BaseConsumer<Context>>,
        topic: String,
        within: Duration,
        tell: impl Fn(Found) + Send + 'static,
    ) -> Self {
        let (ask, asked) = channel::<(Partition, Reading)>();
        let spawned = thread::Builder::new().name("tenure-ends".into()).spawn(move || {
            while let Ok(first) = asked.recv() {
                let all: Vec<_> = [first].into_iter().chain(asked.try_iter()).collect();
                let found = find(&consumer, &topic, &all, within);
                for &(partition, reading) in &all {
                    tell((partition, reading, found.end(&topic, partition)));
                }
            }
        });
        // Without a thread nothing is ever found, and nobody leads.
        Self { ask: Some(ask), thread: spawned.ok() }
    }

    pub(super) fn find(&self, partition: Partition, reading: Reading) {
        if let Some(ask) = &self.ask {
            // It ends only when this is dropped.
            let _ = ask.send((partition, reading));
        }
    }

    /// Waits until it holds the consumer no more.
    pub(super) fn end(&mut self) {
        self.ask = None;
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

struct Answer(Result<TopicPartitionList, Arc<str>>);

fn find(
    consumer: &BaseConsumer<Context>,
    topic: &str,
    all: &[(Partition, Reading)],
    within: Duration,
) -> Answer {
    let ask = || -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::new();
        for (partition, _) in all {
            let number = partition.0.cast_signed();
            if list.find_partition(topic, number).is_none() {
                list.add_partition_offset(topic, number, Offset::End)?;
            }
        }
        consumer.offsets_for_times(list, within)
    };
    Answer(ask().map_err(|error| explain::error(&error, None).into()))
}

impl Answer {
    fn end(&self, topic: &str, partition: Partition) -> Result<u64, Arc<str>> {
        let list = self.0.as_ref().map_err(Arc::clone)?;
        let one = list.find_partition(topic, partition.0.cast_signed());
        let one = one.ok_or("the answer lacks this partition")?;
        one.error().map_err(|error| Arc::from(explain::error(&error, None)))?;
        match one.offset() {
            Offset::Offset(offset) => {
                u64::try_from(offset).map_err(|_| "the answer has a negative offset".into())
            }
            // The broker's word for none.
            other => Err(format!("the answer is {other:?}, and no offset").into()),
        }
    }
}
