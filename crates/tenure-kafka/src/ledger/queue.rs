//! Reports of the ledger that the driver has not handled yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::nele::{Entry, Lead, Partition, Reading, Record, Report, RoleRange, Said};
use tokio::sync::Notify;

/// The maximum number of records that wait. A process that is further behind has lost its claims
/// anyway.
const RECORDS_MAX: usize = 65_536;

/// The maximum number of bytes of all waiting records: one record may be as large as brokers allow.
const BYTES_MAX: usize = 32 << 20;

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    reports: VecDeque<Report>,
    records: usize,
    bytes: usize,
}

/// The queue to which threads of the client library write without waiting.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a report without records: the process's own requests bound their number.
    pub(crate) fn put(&self, report: Report) {
        self.waiting().reports.push_back(report);
        self.shared.more.notify_one();
    }

    /// Adds a record, unless too many records wait.
    #[must_use]
    pub(crate) fn put_record(
        &self,
        partition: Partition,
        reading: Reading,
        record: Record,
    ) -> bool {
        let mut waiting = self.waiting();
        let bytes = waiting.bytes.saturating_add(weight(&record));
        if waiting.records >= RECORDS_MAX || bytes > BYTES_MAX {
            return false;
        }
        waiting.records += 1;
        waiting.bytes = bytes;
        match waiting.reports.back_mut() {
            Some(Report::Records { partition: of, reading: by, records })
                if (*of, *by) == (partition, reading) =>
            {
                records.push(record);
            }
            _ => {
                let records = vec![record];
                waiting.reports.push_back(Report::Records { partition, reading, records });
            }
        }
        drop(waiting);
        self.shared.more.notify_one();
        true
    }

    /// Takes the first report, if there is one.
    pub(crate) fn take(&self) -> Option<Report> {
        let mut waiting = self.waiting();
        let report = waiting.reports.pop_front()?;
        if let Report::Records { records, .. } = &report {
            waiting.records -= records.len();
            let bytes: usize = records.iter().map(weight).sum();
            waiting.bytes = waiting.bytes.saturating_sub(bytes);
        }
        Some(report)
    }

    /// Waits for the first report. Cancel safe; only one task may wait.
    pub(crate) async fn next(&self) -> Report {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            self.shared.more.notified().await;
        }
    }
}

/// The approximate bytes of a record in memory.
fn weight(record: &Record) -> usize {
    let Said::Entry(entry) = &record.said else { return size_of::<Record>() };
    let Entry { election, group, sender, host, .. } = entry;
    let names = [election.as_str(), group.as_str(), sender.id.as_str(), host.as_str()];
    let names: usize = names.map(str::len).iter().sum();
    let leads = entry.leads.iter().map(|lead| size_of::<Lead>() + lead.value.as_str().len());
    let stands = entry.stands.len() * size_of::<RoleRange>();
    size_of::<Record>() + names + stands + leads.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::nele::{Cause, EntryNumber, Kind, Mode, Process, RebalanceId, Role, Terms};
    use tenure_core::{Drift, Value};

    use super::*;

    fn record(offset: u64) -> Record {
        Record { offset, epoch: Some(0), said: Said::Nothing }
    }

    fn reading(attempt: u64) -> Reading {
        Reading { rebalance: RebalanceId(1), attempt }
    }

    #[test]
    fn readings_keep_record_order() {
        let queue = Queue::default();
        for (partition, attempt, offset) in [(3, 1, 70), (3, 1, 71), (4, 2, 0), (3, 1, 72)] {
            assert!(queue.put_record(Partition(partition), reading(attempt), record(offset)));
        }
        let offsets = |report: Option<Report>| match report {
            Some(Report::Records { partition, records, .. }) => {
                (partition.0, records.iter().map(|record| record.offset).collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(offsets(queue.take()), (3, vec![70, 71]));
        assert_eq!(offsets(queue.take()), (4, vec![0]));
        assert_eq!(offsets(queue.take()), (3, vec![72]));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn waiting_records_are_bounded() {
        let queue = Queue::default();
        for offset in 0..RECORDS_MAX as u64 {
            assert!(queue.put_record(Partition(0), reading(1), record(offset)));
        }
        assert!(!queue.put_record(Partition(0), reading(1), record(0)));
        queue.take();
        assert!(queue.put_record(Partition(0), reading(1), record(0)));
    }

    /// A record of a process that leads `count` roles, with the longest value.
    fn large(offset: u64, count: u32) -> Record {
        let value = "x".repeat(Value::MAX_BYTES).parse::<Value>().unwrap();
        let lead = |role| Lead { role: Role(role), fence: None, value: value.clone() };
        let said = Said::Entry(Entry {
            election: "prices".parse().unwrap(),
            group: "blue".parse().unwrap(),
            partitions: 1,
            terms: Terms {
                mode: Mode::AtLeastOne,
                takeover: Duration::from_secs(5),
                drift: Drift::DEFAULT,
                fence_base: 0,
            },
            sender: Process { id: "one".parse().unwrap(), incarnation: 7 },
            host: "one".parse().unwrap(),
            number: EntryNumber(offset),
            kind: Kind::Beat,
            stands: vec![],
            leads: (0..count).map(lead).collect(),
        });
        Record { offset, epoch: Some(0), said }
    }

    #[test]
    fn waiting_bytes_are_bounded() {
        let queue = Queue::default();
        let mut room = 0..1_000;
        let put = |offset| queue.put_record(Partition(0), reading(1), large(offset, 2_000));
        // Each record has half a megabyte.
        let fit = room.by_ref().take_while(|offset| put(*offset)).count();
        assert!((32..=128).contains(&fit), "{fit}");
        assert!(queue.take().is_some());
        let again = room.take_while(|offset| put(*offset)).count();
        assert_eq!(again, fit, "what was taken makes room");
    }

    #[tokio::test]
    async fn waiting_reader_is_woken() {
        let queue = Queue::default();
        let puts = queue.clone();
        let waits = tokio::spawn(async move { queue.next().await });
        tokio::task::yield_now().await;
        let why = Cause::from("x");
        puts.put(Report::Fatal { why: why.clone() });
        assert_eq!(waits.await.unwrap(), Report::Fatal { why });
    }
}
