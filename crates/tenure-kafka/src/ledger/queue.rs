//! What has come from the ledger and was not handled yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::nele::{Partition, Reading, Record, Report};
use tokio::sync::Notify;

/// The most records that wait. Whoever is that far behind has lost its claims anyway.
const RECORDS_MAX: usize = 65_536;

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    reports: VecDeque<Report>,
    records: usize,
}

/// Where reports are put, by threads of the client library, which never wait.
#[derive(Clone, Default)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a report that is no record: there are as many as what the process asked for.
    pub(crate) fn put(&self, report: Report) {
        self.waiting().reports.push_back(report);
        self.shared.more.notify_one();
    }

    /// Puts a record, unless too many wait.
    #[must_use]
    pub(crate) fn put_record(
        &self,
        partition: Partition,
        reading: Reading,
        record: Record,
    ) -> bool {
        let mut waiting = self.waiting();
        if waiting.records >= RECORDS_MAX {
            return false;
        }
        waiting.records += 1;
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

    /// What came first, if anything has.
    pub(crate) fn take(&self) -> Option<Report> {
        let mut waiting = self.waiting();
        let report = waiting.reports.pop_front()?;
        if let Report::Records { records, .. } = &report {
            waiting.records -= records.len();
        }
        Some(report)
    }

    /// Waits for what comes first. Cancel safe; one at a time may wait.
    pub(crate) async fn next(&self) -> Report {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            self.shared.more.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nele::{RebalanceId, Said};

    use super::*;

    fn record(offset: u64) -> Record {
        Record { offset, epoch: Some(0), said: Said::Nothing }
    }

    fn reading(attempt: u64) -> Reading {
        Reading { rebalance: RebalanceId(1), attempt }
    }

    #[test]
    fn records_of_one_reading_come_together_and_in_order() {
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
    fn no_more_records_wait_than_there_is_room_for() {
        let queue = Queue::default();
        for offset in 0..RECORDS_MAX as u64 {
            assert!(queue.put_record(Partition(0), reading(1), record(offset)));
        }
        assert!(!queue.put_record(Partition(0), reading(1), record(0)));
        queue.take();
        assert!(queue.put_record(Partition(0), reading(1), record(0)));
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let queue = Queue::default();
        let puts = queue.clone();
        let waits = tokio::spawn(async move { queue.next().await });
        tokio::task::yield_now().await;
        let why: Arc<str> = "x".into();
        puts.put(Report::Fatal { why: why.clone() });
        assert_eq!(waits.await.unwrap(), Report::Fatal { why });
    }
}
