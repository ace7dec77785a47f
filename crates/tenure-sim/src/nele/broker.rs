//! The broker: a log for each partition, and the coordinators of the groups.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tenure_core::nele::{Entry, Kind, Partition, Record, Said, Target, TopicId};
use tenure_core::{Deadline, Effect, Input, Time};

use super::coordinator::{Coordinator, Letters, Terms};
use super::frame::{Frame, Member, Notice, Out, Place, Words};
use super::plan::topic;
use crate::rng::mix;
use crate::scenario::plan::known;
use crate::world::node::Service;

/// The number of kept records of a partition.
const KEPT: usize = 600;
/// The number of records in an answer.
const FETCHED: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// Another coordinator takes over, and sessions begin anew.
    FailOver,
    /// The coordinator declares a drawn member dead.
    Evict(usize),
    /// The coordinator gives one partition to two members; with `None` to a single member again.
    Double(Option<u32>),
    /// Later appends wait for this long.
    Slow(Duration),
    /// Another replica leads all partitions; each partition loses this number of records, if the
    /// world may lose acknowledged records.
    Replica(u64),
    /// Readers of a partition cannot pass its present end.
    Barrier(u32),
    /// Later records have no leader epoch, a leader epoch that is far too high, or their true epoch
    /// again.
    Epochs(Epochs),
    /// A stranger writes to a partition.
    Stray(Stray, u32),
    /// The topic is created anew, or grows.
    Topic(Topic),
}

/// Leader epochs as clients see them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Epochs {
    /// The real epochs.
    #[default]
    True,
    /// No epoch.
    Untold,
    /// Epochs too high for a fence.
    TooHigh,
}

/// A record of a stranger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stray {
    /// A record of another program.
    Foreign,
    /// A record of a later version, which this version cannot read.
    Unreadable,
    /// A claim of another election with another partition count, whose group has the same name.
    OtherElection,
    /// A claim of another group.
    OtherGroup,
    /// A claim of the first group with another partition count.
    OtherCount,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Topic {
    /// A new topic without records, whose epochs begin again.
    Anew,
    /// The topic has another partition, in metadata.
    Grown,
    /// The original number of partitions.
    Right,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Log {
    epoch: u32,
    told: Epochs,
    /// Start of each later epoch, for readers that come from an earlier epoch.
    starts: Vec<(u32, u64)>,
    records: VecDeque<Record>,
    /// Next offset.
    end: u64,
    /// Offset that readers cannot pass (`Fault::Barrier`).
    barrier: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Broker {
    terms: Terms,
    logs: Vec<Log>,
    groups: BTreeMap<usize, Coordinator>,
    /// Faults in order of time.
    faults: VecDeque<(Time, Fault)>,
    slow: Duration,
    /// Waiting appends, in order of time.
    waiting: BTreeMap<(Time, u64), (Place, Target, Box<Entry>)>,
    draws: u64,
    topic: (TopicId, u32),
    /// An entry of a process of the first group: the model for a stranger's records.
    sample: Option<Entry>,
}

impl Log {
    fn append(&mut self, said: Said) -> u64 {
        let offset = self.end;
        let epoch = Some(self.epoch);
        self.records.push_back(Record { offset, epoch, said });
        self.end += 1;
        if self.records.len() > KEPT {
            self.records.pop_front();
        }
        offset
    }

    /// Returns the records from an offset on, if they are kept. A reader from an ended epoch learns
    /// of the truncation, as from real brokers.
    fn fetch(&self, from: u64, read: Option<u32>) -> Option<Vec<Record>> {
        let first = self.end - self.records.len() as u64;
        let skip = usize::try_from(from.checked_sub(first)?).ok()?;
        // The barrier stops only a reader that begins at or before it.
        let barrier = self.barrier.filter(|barrier| from <= *barrier);
        let ended = |read: u32| self.starts.iter().find(|(epoch, _)| *epoch > read);
        if read.and_then(ended).is_some_and(|(_, start)| *start < from) || from > self.end {
            return None;
        }
        let told = |record: &Record| Record { epoch: self.told.of(record), ..record.clone() };
        let free = |record: &&Record| barrier.is_none_or(|barrier| record.offset < barrier);
        Some(self.records.iter().skip(skip).take_while(free).take(FETCHED).map(told).collect())
    }

    /// Makes another replica the leader. This replica lacks the last records.
    fn replace(&mut self, lost: u64) {
        self.epoch += 1;
        for _ in 0..lost {
            if self.records.pop_back().is_some() {
                self.end -= 1;
            }
        }
        let end = self.end;
        self.barrier = self.barrier.filter(|barrier| *barrier < end);
        self.starts.retain(|(_, start)| *start < end);
        self.starts.push((self.epoch, end));
    }
}

impl Epochs {
    fn of(self, record: &Record) -> Option<u32> {
        match self {
            Self::True => record.epoch,
            Self::Untold => None,
            Self::TooHigh => record.epoch.map(|epoch| epoch + (1 << 24)),
        }
    }
}

impl Stray {
    /// Makes a stranger's record, on the model of a process's entry.
    fn says(self, like: &Entry) -> Said {
        let mut entry = Entry { kind: Kind::Claim, ..like.clone() };
        entry.sender.incarnation = 1;
        match self {
            Self::Foreign => return Said::Nothing,
            Self::Unreadable => return Said::Unreadable,
            Self::OtherElection => {
                entry.election = known("else");
                entry.partitions += 1;
            }
            Self::OtherGroup => entry.group = known("else"),
            Self::OtherCount => {
                entry.kind = Kind::Beat;
                entry.partitions += 1;
            }
        }
        Said::Entry(entry)
    }
}

impl Broker {
    #[must_use]
    pub fn new(terms: Terms, faults: Vec<(Time, Fault)>) -> Self {
        let partitions = usize::try_from(terms.partitions).unwrap_or(0);
        Self {
            terms,
            logs: vec![Log::default(); partitions],
            groups: BTreeMap::new(),
            faults: faults.into(),
            slow: Duration::ZERO,
            waiting: BTreeMap::new(),
            draws: 0,
            topic: (topic(), terms.partitions),
            sample: None,
        }
    }

    fn go_wrong(&mut self, now: Time, fault: Fault) {
        let groups = self.groups.values_mut();
        match fault {
            Fault::FailOver => groups.for_each(|group| group.fail_over(now)),
            Fault::Evict(which) => groups.for_each(|group| group.evict(which, now)),
            Fault::Double(partition) => groups.for_each(|group| group.double(partition)),
            Fault::Slow(slow) => self.slow = slow,
            Fault::Replica(lost) => self.logs.iter_mut().for_each(|log| log.replace(lost)),
            Fault::Barrier(partition) => {
                if let Some(log) = self.logs.get_mut(partition as usize) {
                    log.barrier = Some(log.end);
                }
            }
            Fault::Epochs(told) => self.logs.iter_mut().for_each(|log| log.told = told),
            Fault::Stray(stray, partition) => {
                let log = self.logs.get_mut(partition as usize);
                if let (Some(log), Some(like)) = (log, &self.sample) {
                    log.append(stray.says(like));
                }
            }
            Fault::Topic(Topic::Anew) => {
                self.topic.0.topic += 1 << 96;
                self.logs.fill(Log::default());
            }
            Fault::Topic(Topic::Grown) => self.topic.1 += 1,
            Fault::Topic(Topic::Right) => self.topic.1 = self.terms.partitions,
        }
    }

    /// Appends an entry at once or after a delay. Delayed entries lose their order.
    fn produce(&mut self, now: Time, from: Place, to: Target, entry: Box<Entry>, out: &mut Out) {
        if self.slow.is_zero() {
            return self.append(from, to, &entry, out);
        }
        self.draws += 1;
        let part = mix(self.draws) % 1_024;
        let waits = self.slow.mul_f64(part as f64 / 1_024.0);
        self.waiting.insert((now.after(waits), self.draws), (from, to, entry));
    }

    fn append(&mut self, from: Place, to: Target, entry: &Entry, out: &mut Out) {
        for (number, log) in self.logs.iter_mut().enumerate() {
            let partition = Partition(u32::try_from(number).unwrap_or(u32::MAX));
            match to {
                Target::One(one) if one != partition => {}
                Target::One(_) => {
                    let offset = log.append(Said::Entry(entry.clone()));
                    let message = Frame::Produced(entry.number, partition, offset);
                    out.push(Effect::Send { to: from, message });
                }
                Target::Every => drop(log.append(Said::Entry(entry.clone()))),
            }
        }
    }

    fn work(&mut self, now: Time, out: &mut Out) {
        while self.faults.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, fault)) = self.faults.pop_front()
        {
            self.go_wrong(now, fault);
            out.push(Effect::Emit { election: None, event: Notice::Broke(fault) });
        }
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let (from, to, entry) = first.remove();
            self.append(from, to, &entry, out);
        }
        let mut letters = Letters::new();
        for group in self.groups.values_mut() {
            group.work(now, &mut letters);
        }
        post(letters, out);
    }

    fn group(&mut self, member: Member) -> &mut Coordinator {
        self.groups.entry(member.group).or_insert_with(|| Coordinator::new(self.terms))
    }

    fn hear(&mut self, now: Time, from: Place, frame: Frame, out: &mut Out) {
        let mut letters = Letters::new();
        match frame {
            Frame::Join(member) => {
                self.group(member).join(from, member, now, &mut letters);
            }
            Frame::Beat(member, has) => {
                self.group(member).beat(from, member, &has, now, &mut letters);
            }
            Frame::Joins(member, generation, has) => {
                self.group(member).joins(from, member, generation, &has, now, &mut letters);
            }
            Frame::Leave(member) => {
                self.group(member).leave(from, member, now);
            }
            Frame::Metadata => {
                let (id, partitions) = self.topic.clone();
                letters.push((from, Frame::Topic(id, partitions)));
            }
            Frame::End(partition, reading) => {
                if let Some(log) = self.logs.get(partition.0 as usize) {
                    let topic = self.topic.0.topic;
                    letters.push((from, Frame::Ends(partition, reading, log.end, topic)));
                }
            }
            Frame::Fetch(partition, reading, at, read) => {
                let log = self.logs.get(partition.0 as usize);
                let records = log.and_then(|log| log.fetch(at, read));
                let answer = match records {
                    Some(records) => Frame::Fetched(partition, reading, records),
                    None => Frame::OutOfRange(partition, reading),
                };
                letters.push((from, answer));
            }
            Frame::Produce(to, entry) => {
                if self.sample.is_none() {
                    self.sample = Some(Entry { leads: Vec::new(), ..(*entry).clone() });
                }
                self.produce(now, from, to, entry, out);
            }
            Frame::Assignment(..)
            | Frame::Rebalance(..)
            | Frame::Unknown(_)
            | Frame::Ends(..)
            | Frame::Fetched(..)
            | Frame::OutOfRange(..)
            | Frame::Produced(..)
            | Frame::Topic(..) => {}
        }
        post(letters, out);
    }
}

fn post(letters: Letters, out: &mut Out) {
    out.extend(letters.into_iter().map(|(to, message)| Effect::Send { to, message }));
}

impl Service<Words> for Broker {
    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        self.work(now, out);
        if let Input::Message { from, message } = input {
            self.hear(now, from, message, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let fault = self.faults.front().map(|(at, _)| *at);
        let waiting = self.waiting.first_key_value().map(|((at, _), _)| *at);
        let sessions = self.groups.values().filter_map(Coordinator::due).min();
        let at = [fault, waiting, sessions].into_iter().flatten().min()?;
        Some(Deadline { at, why: "a session, a rebalance or a fault" })
    }
}
