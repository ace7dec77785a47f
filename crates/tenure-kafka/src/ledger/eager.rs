//! The eager way to change the partitions that a member reads, for the strategy `roundrobin`. The
//! library then takes only whole assignments. So each change names all partitions of the member,
//! each with the offset after its last read record. Then the other readings have no gap.

use std::collections::BTreeMap;

use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::message::BorrowedMessage;
use rdkafka::{Offset, TopicPartitionList};
use tenure_core::nele::Partition;

use super::callbacks::Context;

/// The number of questions to the library's main thread after which earlier readings have ended.
/// Before its first answer the thread asks the readings to end. Before its second answer the thread
/// has their replies.
const QUESTIONS: usize = 3;

/// Waits until the library has ended the readings of an earlier assignment. A change before that
/// moment would end a reading twice, and the library would abort the process (`rktp_started`).
fn finish(consumer: &BaseConsumer<Context>) -> KafkaResult<()> {
    (0..QUESTIONS).try_for_each(|_| consumer.assignment().map(drop))
}

/// The next offset of each partition that the library reads.
#[derive(Debug, Default)]
pub(super) struct Eager(BTreeMap<i32, i64>);

impl Eager {
    pub(super) fn read(&mut self, message: &BorrowedMessage<'_>) {
        if let Some(next) = self.0.get_mut(&message.partition()) {
            *next = message.offset().saturating_add(1);
        }
    }

    /// Reads a partition from `offset` on, and all others from their next offsets.
    pub(super) fn begin(
        &mut self,
        consumer: &BaseConsumer<Context>,
        topic: &str,
        partition: Partition,
        offset: i64,
    ) -> KafkaResult<()> {
        self.0.insert(partition.0.cast_signed(), offset);
        let mut list = TopicPartitionList::new();
        for (partition, next) in &self.0 {
            list.add_partition_offset(topic, *partition, Offset::Offset(*next))?;
        }
        consumer.assign(&list)?;
        finish(consumer)
    }

    pub(super) fn forget(&mut self, partition: Partition) {
        self.0.remove(&partition.0.cast_signed());
    }

    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }
}
