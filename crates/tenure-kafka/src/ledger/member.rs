//! A member of the group, on a thread of its own that does nothing but poll: no callback and no
//! revocation ever waits for an application.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::{Change, Membership, Partition, Reading, Rebalance, RebalanceId, Report};

use super::context::{Changed, Context, give_back};
use super::ends::Ends;
use super::queue::Queue;
use super::reading::{Readings, is_broken};
use crate::explain;
use crate::told::LOG;

/// How long a poll waits for something to happen. What is asked of a member waits as long at most.
const POLL: Duration = Duration::from_millis(20);

/// What a member is asked.
pub(super) enum Ask {
    Read(Partition, Reading),
    /// The end of a partition was found, or not.
    Found(Partition, Reading, Result<u64, Arc<str>>),
    GiveBack(RebalanceId),
    Leave,
}

/// The way to a member.
pub(super) struct Member {
    asks: Sender<Ask>,
}

/// With what a member begins.
pub(super) struct Begin {
    pub(super) config: ClientConfig,
    pub(super) topic: String,
    /// R: what is to be given back is given back by then.
    pub(super) max_poll_interval: Duration,
    pub(super) seek: Duration,
    /// In the newer protocol nobody tells a member that it gets nothing: after this time without
    /// a word it is taken for that.
    pub(super) silence: Option<Duration>,
    /// The rebalance before the first one.
    pub(super) rebalances: Arc<std::sync::atomic::AtomicU64>,
    pub(super) queue: Queue,
}

impl Member {
    /// Joins. What happens is put into the queue.
    pub(super) fn join(membership: Membership, begin: Begin) -> KafkaResult<Self> {
        let consumer: BaseConsumer<Context> =
            begin.config.create_with_context(Context::default())?;
        consumer.subscribe(&[&begin.topic])?;
        let (asks, asked) = channel();
        let consumer = Arc::new(consumer);
        let found = asks.clone();
        let ends =
            Ends::start(consumer.clone(), begin.topic.clone(), begin.seek, move |found_end| {
                let (partition, reading, end) = found_end;
                // Nobody hears it who has left.
                let _ = found.send(Ask::Found(partition, reading, end));
            });
        let begin_silence = begin.silence.map(|silence| now().after(silence));
        let running = Running {
            membership,
            consumer,
            asked,
            ends,
            begin,
            assigned: BTreeMap::new(),
            readings: Readings::default(),
            revoking: None,
            deferred: VecDeque::new(),
            silent_until: begin_silence,
        };
        let spawned = thread::Builder::new().name("tenure-member".into()).spawn(|| running.run());
        match spawned {
            Ok(_) => Ok(Self { asks }),
            Err(error) => Err(KafkaError::ClientCreation(error.to_string())),
        }
    }

    /// Asks something. A member that has ended has told why.
    pub(super) fn ask(&self, ask: Ask) {
        let _ = self.asks.send(ask);
    }
}

/// What is to be given back.
struct Revoking {
    rebalance: RebalanceId,
    partitions: Vec<i32>,
    /// From then on nothing is waited for.
    until: Time,
}

struct Running {
    membership: Membership,
    consumer: Arc<BaseConsumer<Context>>,
    asked: Receiver<Ask>,
    ends: Ends,
    begin: Begin,
    /// By which rebalance each partition was assigned.
    assigned: BTreeMap<u32, RebalanceId>,
    readings: Readings,
    revoking: Option<Revoking>,
    /// Ends that were found while something was to be given back.
    deferred: VecDeque<(Partition, Reading, u64)>,
    /// From then on it is told that it gets nothing, unless it was told of something.
    silent_until: Option<Time>,
}

impl Running {
    fn run(mut self) {
        loop {
            while let Ok(ask) = self.asked.try_recv() {
                match ask {
                    Ask::Read(partition, reading) => self.read(partition, reading),
                    Ask::Found(partition, reading, end) => self.found(partition, reading, end),
                    Ask::GiveBack(rebalance) => self.give_back(Some(rebalance)),
                    Ask::Leave => return self.leave(),
                }
            }
            self.give_back_in_time();
            if !self.poll() {
                return self.leave();
            }
            while let Some(changed) = self.consumer.context().take() {
                self.changed(changed);
            }
            if self.silent_until.is_some_and(|until| until <= now()) {
                self.changed(Changed { change: Change::Assigned, partitions: Vec::new() });
            }
        }
    }

    /// Whether there is more to come.
    fn poll(&mut self) -> bool {
        match self.consumer.poll(POLL) {
            None => {}
            Some(Ok(message)) => {
                if let Some((partition, reading)) = self.readings.take(&message, &self.begin.queue)
                {
                    self.broken(partition, reading, "more came in than was read");
                }
            }
            Some(Err(error)) if is_broken(&error) => {
                let why = self.said(&error);
                // It does not say which partition it means.
                for (partition, reading) in self.readings.clear() {
                    self.broken(partition, reading, &why);
                }
            }
            Some(Err(error)) => {
                let why = self.said(&error);
                let fatal = matches!(error, KafkaError::MessageConsumptionFatal(_))
                    || error.rdkafka_error_code().is_some_and(is_for_good);
                if fatal {
                    self.begin.queue.put(Report::Fatal { why: why.into() });
                    return false;
                }
                tracing::warn!(target: LOG, "{why}");
            }
        }
        true
    }

    /// What is wrong, and what to do.
    fn said(&self, error: &KafkaError) -> String {
        explain::error(error, self.consumer.context().reason().as_ref())
    }

    fn broken(&self, partition: Partition, reading: Reading, why: &str) {
        self.begin.queue.put(Report::Broken { partition, reading, why: why.into() });
    }

    fn changed(&mut self, Changed { change, partitions }: Changed) {
        let number = self.begin.rebalances.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        let id = RebalanceId(number);
        self.silent_until = None;
        for partition in partitions.iter().copied().filter_map(|one| u32::try_from(one).ok()) {
            self.readings.forget(Partition(partition));
            match change {
                Change::Assigned => drop(self.assigned.insert(partition, id)),
                Change::Revoked | Change::Lost => drop(self.assigned.remove(&partition)),
            }
        }
        let named = partitions.iter().copied().filter_map(|one| u32::try_from(one).ok());
        let named = named.map(Partition).collect();
        if change == Change::Revoked {
            // Less a quarter, for what happens on the way.
            let until = now().after(self.begin.max_poll_interval * 3 / 4);
            self.revoking = Some(Revoking { rebalance: id, partitions, until });
        }
        let membership = self.membership;
        let rebalance = Rebalance { membership, id, change, partitions: named };
        self.begin.queue.put(Report::Rebalance(rebalance));
    }

    fn read(&mut self, partition: Partition, reading: Reading) {
        // An assignment that is over has no readings.
        if self.assigned.get(&partition.0) == Some(&reading.rebalance) {
            self.readings.want(partition, reading);
            self.ends.find(partition, reading);
        }
    }

    fn found(&mut self, partition: Partition, reading: Reading, end: Result<u64, Arc<str>>) {
        if !self.readings.is_wanted(partition, reading) {
            return;
        }
        match end {
            // To stop reading a partition would be taken for an answer to the revocation.
            Ok(end) if self.revoking.is_some() => {
                self.deferred.push_back((partition, reading, end));
            }
            Ok(end) => self.begin_at(partition, reading, end),
            Err(why) => self.position(partition, reading, Err(why)),
        }
    }

    fn begin_at(&mut self, partition: Partition, reading: Reading, end: u64) {
        if !self.readings.is_wanted(partition, reading) {
            return;
        }
        let begun = self.assign(partition, end);
        if begun.is_ok() {
            self.readings.begin(partition, reading);
        }
        let end = begun.map(|()| end).map_err(|error| Arc::from(explain::error(&error, None)));
        self.position(partition, reading, end);
    }

    fn position(&self, partition: Partition, reading: Reading, end: Result<u64, Arc<str>>) {
        self.begin.queue.put(Report::Position { partition, reading, end });
    }

    /// Has the library read a partition from an offset on, and drop what it has of it.
    fn assign(&self, partition: Partition, end: u64) -> KafkaResult<()> {
        let (topic, number) = (self.begin.topic.as_str(), partition.0.cast_signed());
        let offset = i64::try_from(end).map_or(Offset::Invalid, Offset::Offset);
        let mut list = TopicPartitionList::new();
        list.add_partition(topic, number);
        if self.consumer.assignment()?.find_partition(topic, number).is_some() {
            self.consumer.incremental_unassign(&list)?;
        }
        list.set_partition_offset(topic, number, offset)?;
        self.consumer.incremental_assign(&list)
    }

    /// Gives back what is to be given back, if it was by this rebalance.
    fn give_back(&mut self, by: Option<RebalanceId>) {
        let is_it =
            |revoking: &mut Revoking| by.is_none_or(|rebalance| revoking.rebalance == rebalance);
        let Some(Revoking { partitions, .. }) = self.revoking.take_if(is_it) else { return };
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(&self.begin.topic, partition);
        }
        if let Err(error) = give_back(&self.consumer, &list) {
            tracing::warn!(target: LOG, "not given back: {error}");
        }
        while let Some((partition, reading, end)) = self.deferred.pop_front() {
            self.begin_at(partition, reading, end);
        }
    }

    fn give_back_in_time(&mut self) {
        if self.revoking.as_ref().is_some_and(|revoking| revoking.until <= now()) {
            self.give_back(None);
        }
    }

    /// Leaves the group, which takes as long as the coordinator takes to answer.
    fn leave(mut self) {
        self.consumer.context().leave();
        self.give_back(None);
        let (membership, queue) = (self.membership, self.begin.queue.clone());
        // The last one that holds the consumer closes it.
        self.ends.end();
        drop(self.consumer);
        queue.put(Report::Left(membership));
    }
}

/// What no time mends.
fn is_for_good(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::Fatal
            | RDKafkaErrorCode::FencedInstanceId
            | RDKafkaErrorCode::InvalidSessionTimeout
            | RDKafkaErrorCode::InconsistentGroupProtocol
            | RDKafkaErrorCode::UnsupportedVersion
            | RDKafkaErrorCode::UnsupportedFeature
            | RDKafkaErrorCode::GroupAuthorizationFailed
            | RDKafkaErrorCode::TopicAuthorizationFailed
    )
}
