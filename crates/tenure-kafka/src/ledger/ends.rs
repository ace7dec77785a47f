//! Where partitions end, asked on a thread of its own: the answer may take long, and the thread
//! that polls does not wait.

use std::collections::BTreeSet;
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
            let mut failed = BTreeSet::new();
            while let Ok(first) = asked.recv() {
                let all: Vec<_> = [first].into_iter().chain(asked.try_iter()).collect();
                let found = find(&consumer, &topic, &all, within);
                if found.0.is_err() && all.len() > 1 {
                    one_by_one(&mut failed, all, |one| {
                        let alone = find(&consumer, &topic, &[one], within).end(&topic, one.0);
                        let found = alone.is_ok();
                        tell((one.0, one.1, alone));
                        found
                    });
                    continue;
                }
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

/// So many that nobody answers for are asked in a row.
const MISSES: usize = 3;

/// One broker that does not answer fails a question about all partitions: each is asked alone,
/// those last that failed before. Who is left out after so many failures in a row asks again soon.
fn one_by_one<R>(
    failed: &mut BTreeSet<Partition>,
    mut all: Vec<(Partition, R)>,
    mut ask: impl FnMut((Partition, R)) -> bool,
) {
    all.sort_by_key(|(partition, _)| failed.contains(partition));
    let mut misses = 0;
    for one in all {
        let partition = one.0;
        if misses == MISSES {
            break;
        }
        match ask(one) {
            true => {
                failed.remove(&partition);
                misses = 0;
            }
            false => {
                failed.insert(partition);
                misses += 1;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broker_that_does_not_answer_fails_only_its_own() {
        let mut failed = BTreeSet::new();
        let all: Vec<_> = (0..16).map(|number| (Partition(number), ())).collect();
        // Every other one has a broker that does not answer.
        for round in 0..2 {
            let (mut found, mut asked) = (0, 0);
            one_by_one(&mut failed, all.clone(), |(partition, ())| {
                asked += 1;
                let answers = partition.0 % 2 == 0;
                found += usize::from(answers);
                answers
            });
            assert_eq!(found, 8, "round {round}");
            assert_eq!(asked, if round == 0 { 16 } else { 8 + MISSES });
        }
        // Nobody answers any more, and then everybody does.
        let mut asked = 0;
        one_by_one(&mut failed, all.clone(), |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, MISSES);
        one_by_one(&mut failed, all, |_| true);
        assert!(failed.is_empty());
    }
}
