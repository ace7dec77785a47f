//! Callbacks of the client library to a reader: partitions that come and go, errors. The library
//! runs callbacks on the thread that polls, so no callback waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use tenure_core::nele::Change;

use crate::client_log::{ClientLog, LOG, Reason};

/// A change of the assignment that a member must carry out.
pub(super) struct PartitionChange {
    pub(super) change: Change,
    pub(super) partitions: Vec<i32>,
}

#[derive(Default)]
pub(super) struct Context {
    changes: Mutex<VecDeque<PartitionChange>>,
    log: ClientLog,
    /// Whether the member leaves: revoked partitions are then given back at once, without a report.
    leaves: AtomicBool,
    /// Whether the library takes only whole assignments, and revokes all partitions at once.
    eager: bool,
}

impl Context {
    pub(super) fn new(eager: bool) -> Self {
        Self { eager, ..Self::default() }
    }

    pub(super) fn take(&self) -> Option<PartitionChange> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The reason of the last failure since the last call.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.log.reason()
    }

    pub(super) fn leave(&self) {
        self.leaves.store(true, Ordering::SeqCst);
    }

    fn leaves(&self) -> bool {
        self.leaves.load(Ordering::SeqCst)
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.log.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(error, reason);
    }
}

impl ConsumerContext for Context {
    /// Accepts an assignment at once, without reading: the protocol asks for each reading later.
    /// The poller answers a revocation; this method answers a loss at once.
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        error: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let change = match error {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Change::Assigned,
            _ if consumer.assignment_lost() => Change::Lost,
            _ => Change::Revoked,
        };
        let partitions: Vec<_> = list.elements().iter().map(|one| one.partition()).collect();
        let done = match change {
            Change::Assigned if self.eager => consumer.assign(&TopicPartitionList::new()),
            Change::Assigned => consumer.incremental_assign(&TopicPartitionList::new()),
            Change::Revoked if !self.leaves() => Ok(()),
            Change::Revoked | Change::Lost => give_back(consumer, list),
        };
        if let Err(error) = done {
            tracing::warn!(target: LOG, "{change:?} {partitions:?}: {error}");
        }
        if !self.leaves() {
            let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.push_back(PartitionChange { change, partitions });
        }
    }
}

/// Gives partitions back. The library refuses a call that names partitions which it does not read,
/// and goes on waiting for a right call. So the call leaves these partitions out.
pub(super) fn give_back(
    consumer: &BaseConsumer<Context>,
    list: &TopicPartitionList,
) -> KafkaResult<()> {
    if consumer.context().eager {
        return consumer.unassign();
    }
    let read = consumer.assignment()?;
    let mut those = TopicPartitionList::new();
    for one in list.elements() {
        if read.find_partition(one.topic(), one.partition()).is_some() {
            those.add_partition(one.topic(), one.partition());
        }
    }
    consumer.incremental_unassign(&those)
}
