//! A member of the group, on a thread that only polls: no callback and no revocation ever waits for
//! an application.

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
use tenure_core::nele::{
    Cause, Change, Checked, Membership, Partition, Reading, Rebalance, RebalanceId, Report,
};

use super::callbacks::{Context, PartitionChange, give_back};
use super::eager::Eager;
use super::ends::{EndQuery, Ends, NoEnd};
use super::queue::Queue;
use super::reading::{Readings, is_broken};
use super::rights::{self, Right, Rights};
use super::topic_watch::Watch;
use super::wake_up::WakeUp;
use crate::client_log::LOG;
use crate::options::{Assignor, GroupProtocol};
use crate::{client_end, explain};

/// The longest wait of a poll, and so the longest wait of an order.
const POLL: Duration = Duration::from_millis(20);

/// The longest wait for the end of a membership. Requests of the library end after 10 s, but the
/// library waits for ever for partitions whose return it has refused.
const LEAVE_MAX: Duration = Duration::from_secs(12);

/// The time after which a refusal is final, unless the library has succeeded with another attempt.
const REFUSED: Duration = Duration::from_secs(2);

pub(super) enum Ask {
    Read(Partition, Reading),
    Found(Partition, Reading, Result<u64, NoEnd>),
    GiveBack(RebalanceId),
    Leave,
}

pub(super) struct Member {
    asks: Sender<Ask>,
}

pub(super) struct MemberSetup {
    pub(super) config: ClientConfig,
    pub(super) topic: String,
    pub(super) protocol: Checked,
    pub(super) group_protocol: GroupProtocol,
    pub(super) assignor: Assignor,
    /// In the newer protocol a member without a partition gets no notice. After this time without
    /// an assignment, the member counts as having none.
    pub(super) silence: Option<Duration>,
    pub(super) rebalances: Arc<std::sync::atomic::AtomicU64>,
    pub(super) queue: Queue,
    pub(super) rights: Rights,
    pub(super) watch: Watch,
}

impl Member {
    pub(super) fn join(membership: Membership, begin: MemberSetup) -> KafkaResult<Self> {
        let (asks, asked) = channel();
        let (consumer, ends) = begin.client(&asks)?;
        consumer.subscribe(&[&begin.topic])?;
        begin.watch.joins(Some(now()));
        let running = MemberLoop {
            membership,
            consumer,
            asked,
            asks: asks.clone(),
            ends,
            assigned: BTreeMap::new(),
            readings: Readings::new(begin.protocol.clone()),
            eager: begin.assignor.is_eager().then(Eager::default),
            wake_up: WakeUp::new(begin.group_protocol, &begin.protocol),
            revoking: None,
            deferred: VecDeque::new(),
            silent_until: begin.silence.map(|silence| now().after(silence)),
            refused: None,
            over: None,
            wait_queried: false,
            begin,
        };
        let spawned = thread::Builder::new().name("tenure-member".into()).spawn(|| running.run());
        match spawned {
            Ok(_) => Ok(Self { asks }),
            Err(error) => Err(KafkaError::ClientCreation(error.to_string())),
        }
    }

    /// Sends an order to the member's thread. An order to a member that has ended is dropped: the
    /// member has reported its end.
    pub(super) fn ask(&self, ask: Ask) {
        let _ = self.asks.send(ask);
    }
}

impl MemberSetup {
    /// Makes a client that is no member yet, and the query of ends that uses this client.
    fn client(&self, asks: &Sender<Ask>) -> KafkaResult<(Arc<BaseConsumer<Context>>, Ends)> {
        let context = Context::new(self.assignor.is_eager());
        let consumer: BaseConsumer<Context> = self.config.create_with_context(context)?;
        let consumer = Arc::new(consumer);
        let query = EndQuery {
            consumer: Arc::clone(&consumer),
            topic: self.topic.clone(),
            within: self.protocol.seek,
            tells_topic: Some(self.queue.clone()),
        };
        let found = asks.clone();
        let ends = Ends::start(query, move |(partition, reading, end)| {
            // The send fails if the member has left; ignore it.
            let _ = found.send(Ask::Found(partition, reading, end));
        });
        Ok((consumer, ends))
    }
}

/// Partitions that must be given back.
struct Revocation {
    rebalance: RebalanceId,
    partitions: Vec<i32>,
    until: Time,
}

/// A refused right, which may have been granted again.
struct Denial {
    right: Right,
    why: Cause,
    /// Time from which the refusal is final, on `CLOCK_BOOTTIME`.
    at: Time,
    reported: bool,
}

struct MemberLoop {
    membership: Membership,
    consumer: Arc<BaseConsumer<Context>>,
    asked: Receiver<Ask>,
    asks: Sender<Ask>,
    ends: Ends,
    begin: MemberSetup,
    /// The rebalance that assigned each partition.
    assigned: BTreeMap<u32, RebalanceId>,
    readings: Readings,
    /// Set with an eager strategy only.
    eager: Option<Eager>,
    wake_up: WakeUp,
    revoking: Option<Revocation>,
    /// Ends that were found during a revocation.
    deferred: VecDeque<(Partition, Reading, u64)>,
    /// Time at which the member reports that it gets no partition, unless it has reported an
    /// assignment.
    silent_until: Option<Time>,
    refused: Option<Denial>,
    /// The reason why the process is no member any more.
    over: Option<Cause>,
    /// Whether the topic was queried because of a long wait for an assignment.
    wait_queried: bool,
}

impl MemberLoop {
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
            self.wake_up.run_due(&self.consumer);
            self.poll();
            while let Some(changed) = self.consumer.context().take() {
                let assigned = changed.change == Change::Assigned;
                self.begin.watch.joins((!assigned).then(now));
                self.changed(changed);
            }
            let silent = self.silent_until.is_some_and(|until| until <= now());
            // A refused member gets no assignment, either, but must not report an empty assignment.
            if silent && self.refused.is_none() {
                self.changed(PartitionChange { change: Change::Assigned, partitions: Vec::new() });
            }
            self.take_for_refused();
            if !self.wait_queried {
                self.wait_queried = self.begin.watch.joins_too_long();
            }
            if let Some(why) = self.over.take() {
                self.begin.queue.put(Report::Fatal { why });
                return self.leave();
            }
        }
    }

    fn poll(&mut self) {
        match self.consumer.poll(self.wake_up.poll_max(POLL)) {
            None => {}
            Some(Ok(message)) => {
                self.begin.rights.has(Right::Topic);
                self.refused.take_if(|refused| refused.right == Right::Topic);
                if let Some(eager) = &mut self.eager {
                    eager.read(&message);
                }
                if let Some((partition, reading)) = self.readings.take(&message, &self.begin.queue)
                {
                    self.broken(partition, reading, "more records came in than were read");
                }
            }
            Some(Err(error)) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &KafkaError) {
        // Most failures are lost connections, and the next connection may show another topic.
        self.begin.watch.query_soon();
        let why = self.cause(error);
        let dead = self.consumer.client().fatal_error();
        let right = match dead {
            Some((code, _)) => rights::of(code),
            None => rights::missing(error),
        };
        if let Some(right) = right {
            self.refuse(right, why);
        } else if dead.is_some() || error.rdkafka_error_code().is_some_and(is_for_good) {
            self.over = Some(why);
        } else if is_broken(error) {
            // The error does not name its partition, so all readings count as broken.
            self.all_broken(&why.to_string());
        } else {
            tracing::warn!(target: LOG, "{why}");
        }
    }

    fn all_broken(&mut self, why: &str) {
        self.forget_positions();
        for (partition, reading) in self.readings.clear() {
            self.broken(partition, reading, why);
        }
    }

    /// Forgets the positions of all readings, which begin anew.
    fn forget_positions(&mut self) {
        if let Some(eager) = &mut self.eager {
            eager.forget_all();
        }
    }

    /// Notes a refusal: ends the membership if the refusal is for good, otherwise waits a moment.
    fn refuse(&mut self, right: Right, why: Cause) {
        let now = now();
        if self.begin.rights.is_refused(right, now) {
            self.over = Some(why);
            return;
        }
        tracing::warn!(target: LOG, "{why}");
        // Without an answer of its coordinator, a member may stay in its group for the time of a
        // session.
        let stays = right == Right::Group && !self.is_dead() && !self.assigned.is_empty();
        let session = self.begin.protocol.session_timeout + REFUSED;
        let at = now.after(if stays { session } else { REFUSED });
        self.refused = Some(match self.refused.take().filter(|before| !before.reported) {
            Some(Denial { right: before, at: sooner, .. }) => {
                Denial { right: right.max(before), why, at: at.min(sooner), reported: false }
            }
            None => Denial { right, why, at, reported: false },
        });
    }

    /// Treats a refusal as lasting once its time has come.
    fn take_for_refused(&mut self) {
        let now = now();
        let due = |refused: &mut Denial| refused.at <= now;
        let Some(refused) = self.refused.take_if(due) else { return };
        let stays = !self.is_dead() && !self.assigned.is_empty();
        // A classic client ends its session in time unless its coordinator answers. The session
        // lasts, so the coordinator has answered.
        if stays && refused.right == Right::Group && self.begin.silence.is_none() {
            return self.begin.rights.has(Right::Group);
        }
        if refused.right == Right::Group || !stays {
            return self.begin_anew();
        }
        if !refused.reported {
            self.all_broken(&refused.why.to_string());
        }
        self.refused = Some(Denial { at: now.after(REFUSED), reported: true, ..refused });
    }

    /// Whether this client of the library can never be a member again.
    fn is_dead(&self) -> bool {
        self.consumer.client().fatal_error().is_some()
    }

    /// Joins again with another client. The earlier client may still be a member, or may never ask
    /// again.
    fn begin_anew(&mut self) {
        let (consumer, ends) = match self.begin.client(&self.asks) {
            Ok(client) => client,
            Err(error) => return self.over = Some(explain::error(&error, None)),
        };
        if !self.assigned.is_empty() {
            let partitions = self.assigned.keys().map(|number| number.cast_signed()).collect();
            self.changed(PartitionChange { change: Change::Lost, partitions });
        }
        self.revoking = None;
        self.readings = Readings::new(self.begin.protocol.clone());
        self.forget_positions();
        self.deferred.clear();
        let consumer = std::mem::replace(&mut self.consumer, consumer);
        close(consumer, std::mem::replace(&mut self.ends, ends));
        self.silent_until = self.begin.silence.map(|silence| now().after(silence));
        if let Err(error) = self.consumer.subscribe(&[&self.begin.topic]) {
            self.over = Some(explain::error(&error, None));
        }
    }

    /// The error in words, with its remedy.
    fn cause(&self, error: &KafkaError) -> Cause {
        explain::error(error, self.consumer.context().reason().as_ref())
    }

    fn broken(&self, partition: Partition, reading: Reading, why: &str) {
        self.begin.queue.put(Report::Broken { partition, reading, why: why.into() });
    }

    fn changed(&mut self, PartitionChange { change, partitions }: PartitionChange) {
        let number = self.begin.rebalances.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        let id = RebalanceId(number);
        self.silent_until = None;
        // A change by an eager strategy names all partitions, so all readings begin anew.
        self.forget_positions();
        if change == Change::Assigned {
            self.begin.rights.has(Right::Group);
            self.refused.take_if(|refused| refused.right == Right::Group);
        }
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
            // A quarter of the time is left to give the partitions back.
            let until = now().after(self.begin.protocol.max_poll_interval * 3 / 4);
            self.revoking = Some(Revocation { rebalance: id, partitions, until });
        }
        let membership = self.membership;
        let rebalance = Rebalance { membership, id, change, partitions: named };
        self.begin.queue.put(Report::Rebalance(rebalance));
    }

    fn read(&mut self, partition: Partition, reading: Reading) {
        // Ignore a reading of an assignment that has ended.
        if self.assigned.get(&partition.0) == Some(&reading.rebalance) {
            self.readings.want(partition, reading);
            if let Some(eager) = &mut self.eager {
                eager.forget(partition);
            }
            self.ends.find(partition, reading);
        }
    }

    fn found(&mut self, partition: Partition, reading: Reading, end: Result<u64, NoEnd>) {
        if !self.readings.is_wanted(partition, reading) {
            return;
        }
        match end {
            // Begin the reading later: a pause of reading now would count as the answer to the
            // revocation.
            Ok(end) if self.revoking.is_some() => {
                self.deferred.push_back((partition, reading, end));
            }
            Ok(end) => self.begin_at(partition, reading, end),
            Err(NoEnd { why, denied }) => {
                if denied && self.begin.rights.is_refused(Right::Topic, now()) {
                    self.over = Some(why.clone());
                }
                self.position(partition, reading, Err(why.into()));
            }
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

    /// Makes the library read a partition from an offset on, and drop earlier records of it.
    fn assign(&mut self, partition: Partition, end: u64) -> KafkaResult<()> {
        let topic = self.begin.topic.as_str();
        let number = partition.0.cast_signed();
        // Brokers count offsets in `i64`.
        let end = i64::try_from(end).unwrap_or(i64::MAX);
        if let Some(eager) = &mut self.eager {
            return eager.begin(&self.consumer, topic, partition, end);
        }
        let offset = Offset::Offset(end);
        let mut list = TopicPartitionList::new();
        list.add_partition(topic, number);
        if self.consumer.assignment()?.find_partition(topic, number).is_some() {
            self.consumer.incremental_unassign(&list)?;
        }
        list.set_partition_offset(topic, number, offset)?;
        self.consumer.incremental_assign(&list)
    }

    /// Gives back the revoked partitions; with `by`, only the partitions of that rebalance.
    fn give_back(&mut self, by: Option<RebalanceId>) {
        let is_it =
            |revoking: &mut Revocation| by.is_none_or(|rebalance| revoking.rebalance == rebalance);
        let Some(Revocation { partitions, .. }) = self.revoking.take_if(is_it) else { return };
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(&self.begin.topic, partition);
        }
        if let Err(error) = give_back(&self.consumer, &list) {
            tracing::warn!(target: LOG, "revoked partitions were not given back: {error}");
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

    /// Leaves the group, which takes until the coordinator answers.
    fn leave(mut self) {
        self.consumer.context().leave();
        self.give_back(None);
        let membership = self.membership;
        let queue = self.begin.queue.clone();
        self.begin.watch.joins(None);
        close(self.consumer, self.ends);
        queue.put(Report::Left(membership));
    }
}

/// Makes a member leave, even while its queries of ends and its look-ups of names wait. The client
/// ends after these queries.
fn close(consumer: Arc<BaseConsumer<Context>>, mut ends: Ends) {
    consumer.context().leave();
    ends.stop();
    // Leave now: only the coordinator must answer, and other brokers may never do so.
    consumer.unsubscribe();
    // A client that has failed for good is not closed. `rdkafka` closes a dropped consumer again,
    // and logs the failure.
    if consumer.close_queue().is_ok() {
        let poll = || drop(consumer.poll(POLL));
        poll_while(|| !consumer.closed(), now().after(LEAVE_MAX), poll);
    }
    client_end::end_soon(move || {
        ends.end();
        // The last owner ends the client.
        drop(consumer);
    });
}

/// Polls while `waits` holds, and no longer than `until`.
fn poll_while(waits: impl Fn() -> bool, until: Time, mut poll: impl FnMut()) {
    while waits() && now() < until {
        poll();
    }
}

/// Whether an error lasts. A missing right may be granted later.
fn is_for_good(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::Fatal
            | RDKafkaErrorCode::FencedInstanceId
            | RDKafkaErrorCode::InvalidSessionTimeout
            | RDKafkaErrorCode::InconsistentGroupProtocol
            | RDKafkaErrorCode::UnsupportedVersion
            | RDKafkaErrorCode::UnsupportedFeature
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn leaving_member_waits_with_limit() {
        poll_while(|| true, now().after(POLL), || {});
        let polls = Cell::new(0);
        poll_while(|| polls.get() < 3, Time::MAX, || polls.set(polls.get() + 1));
        assert_eq!(polls.get(), 3);
    }
}
