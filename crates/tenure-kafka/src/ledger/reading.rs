//! The reading to which each record belongs.

use std::collections::BTreeMap;

use rdkafka::Message as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use tenure_core::nele::{Checked, Partition, Reading, Record};

use super::queue::Queue;
use crate::{native, wire};

/// The readings that the protocol has asked for.
pub(super) struct Readings {
    ours: Checked,
    /// The most recent reading of each partition, and whether the reading has begun.
    all: BTreeMap<u32, (Reading, bool)>,
}

impl Readings {
    /// No readings, for a process with these settings.
    pub(super) const fn new(ours: Checked) -> Self {
        Self { ours, all: BTreeMap::new() }
    }

    /// Asks for a reading: earlier records of its partition belong to no reading.
    pub(super) fn want(&mut self, partition: Partition, reading: Reading) {
        self.all.insert(partition.0, (reading, false));
    }

    /// Whether the reading is the most recent of its partition, and has not begun.
    pub(super) fn is_wanted(&self, partition: Partition, reading: Reading) -> bool {
        self.all.get(&partition.0) == Some(&(reading, false))
    }

    pub(super) fn begin(&mut self, partition: Partition, reading: Reading) {
        self.all.insert(partition.0, (reading, true));
    }

    pub(super) fn forget(&mut self, partition: Partition) {
        self.all.remove(&partition.0);
    }

    pub(super) fn forget_all(&mut self) {
        self.all.clear();
    }

    pub(super) fn clear(&mut self) -> Vec<(Partition, Reading)> {
        let begun = self.all.extract_if(.., |_, (_, begun)| *begun);
        begun.map(|(partition, (reading, _))| (Partition(partition), reading)).collect()
    }

    /// Puts a record of a reading into the queue. Returns the reading if it ends because the queue
    /// is full.
    pub(super) fn take(
        &mut self,
        message: &BorrowedMessage<'_>,
        queue: &Queue,
    ) -> Option<(Partition, Reading)> {
        let partition = u32::try_from(message.partition()).ok()?;
        let (reading, _) = *self.all.get(&partition).filter(|(_, begun)| *begun)?;
        let record = Record {
            offset: u64::try_from(message.offset()).ok()?,
            epoch: u32::try_from(native::leader_epoch(message)).ok(),
            said: wire::read(native::header(message, wire::HEADER_C), &self.ours),
        };
        let partition = Partition(partition);
        if queue.put_record(partition, reading, record) {
            return None;
        }
        self.forget(partition);
        Some((partition, reading))
    }
}

/// Whether the reader stops until it gets a new offset. The library reports once that the offset is
/// out of range or truncated. The library reports again and again that it cannot unpack a batch.
pub(super) fn is_broken(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::AutoOffsetReset
                | RDKafkaErrorCode::OffsetOutOfRange
                | RDKafkaErrorCode::LogTruncation
                | RDKafkaErrorCode::NoOffset
                | RDKafkaErrorCode::NotImplemented
                | RDKafkaErrorCode::BadCompression
                | RDKafkaErrorCode::BadMessage
                | RDKafkaErrorCode::InvalidMessage
                | RDKafkaErrorCode::MessageSizeTooLarge
                | RDKafkaErrorCode::UnsupportedCompressionType
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_batch_ends_reading() {
        let of = KafkaError::MessageConsumption;
        assert!(is_broken(&of(RDKafkaErrorCode::NotImplemented)));
        assert!(is_broken(&of(RDKafkaErrorCode::OffsetOutOfRange)));
        assert!(!is_broken(&of(RDKafkaErrorCode::BrokerTransportFailure)));
    }
}
