//! A process of NELE: the core, and its broker client, which joins a group, reads and writes, and
//! may notice the end of its session.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tenure_core::contract::Effects;
use tenure_core::nele::{
    self, Change, Checked, EntryNumber, Ledger, Membership, Message, Nele, Partition, Reading,
    Rebalance, RebalanceId, Report, Request, Target, TopicId,
};
use tenure_core::{Deadline, Effect, ElectionName, Input, Protocol, Standing, Time};

use super::frame::{Frame, Member, Notice, Out, Place, Words};

/// The behaviour of a client as a group member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Manner {
    pub broker: Place,
    pub group: usize,
    /// Time after which a request without an answer is repeated.
    pub patience: Duration,
    /// Whether the client ends its session after S (`session_timeout`) without an answer, counted
    /// from the receipt of the last answer. Otherwise the client learns of the end from the
    /// coordinator, or never.
    pub notices: bool,
    /// Whether the client passes on late records of an earlier reading.
    pub late: bool,
    /// The client begins to read this number of records before the end that it found.
    pub backlog: u64,
    /// Whether the client never announces that it leaves.
    pub silent: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reader {
    partition: Partition,
    reading: Reading,
    /// Next offset, once the end is known.
    next: Option<u64>,
    /// Leader epoch of the last read record.
    epoch: Option<u32>,
    /// Time of the next request or repetition.
    asks: Time,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    core: Nele,
    config: Checked,
    manner: Manner,
    /// Topic at the start.
    topic: TopicId,
    /// Membership of the core, and its number at the coordinator.
    member: Option<(Membership, u64)>,
    /// Number of the last membership. The first number is drawn.
    number: u64,
    /// The membership that the core leaves, and the time at which the departure ends.
    leaves: Option<(Membership, Time)>,
    /// Whether the core has received its assignment.
    told: bool,
    own: BTreeSet<u32>,
    rebalances: u64,
    /// Time of the coordinator's last answer.
    heard: Time,
    /// Time of the client's next heartbeat.
    beats: Time,
    /// Time of the client's next query of the topic.
    looks: Time,
    readers: Vec<Reader>,
    /// Unacknowledged claims, each with the time of its failure.
    claims: Vec<(EntryNumber, Partition, Time)>,
    reports: VecDeque<Report>,
}

impl Client {
    #[must_use]
    pub fn new(config: Checked, manner: Manner) -> Self {
        Self {
            core: Nele::new(config.clone()),
            config,
            manner,
            topic: TopicId::default(),
            member: None,
            number: 0,
            leaves: None,
            told: false,
            own: BTreeSet::new(),
            rebalances: 0,
            heard: Time::ZERO,
            beats: Time::MAX,
            looks: Time::MAX,
            readers: Vec::new(),
            claims: Vec::new(),
            reports: VecDeque::new(),
        }
    }

    #[must_use]
    pub const fn core(&self) -> &Nele {
        &self.core
    }

    fn send(&self, message: Frame, out: &mut Out) {
        out.push(Effect::Send { to: self.manner.broker, message });
    }

    fn membership(&self) -> Option<Member> {
        let (_, number) = self.member?;
        Some(Member { group: self.manner.group, number })
    }

    /// Passes an input to the core, and all immediate reports of the ledger.
    fn hand(&mut self, now: Time, input: Input<nele::Words>, out: &mut Out) {
        self.give(now, input, out);
        while let Some(report) = self.reports.pop_front() {
            let message = Message::Report(report);
            self.give(now, Input::Message { from: Ledger, message }, out);
        }
    }

    fn give(&mut self, now: Time, input: Input<nele::Words>, out: &mut Out) {
        if let Input::Message { message: Message::Report(report), .. } = &input {
            out.push(told(None, Notice::Heard(Box::new(report.clone()))));
        }
        let mut effects: Effects<nele::Words> = Vec::new();
        self.core.handle(now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { message: Message::Request(request), .. } => {
                    out.push(told(None, Notice::Asked(Box::new(request.clone()))));
                    self.carry_out(now, request, out);
                }
                Effect::Send { message: Message::Report(_), .. } => {}
                Effect::Raise { election, until, fence } => {
                    out.push(Effect::Raise { election, until, fence });
                }
                Effect::Bound { election, wall } => out.push(Effect::Bound { election, wall }),
                Effect::Lower { election } => out.push(Effect::Lower { election }),
                Effect::Emit { election, event } => out.push(told(election, Notice::Core(event))),
                Effect::Persist(record) | Effect::Flush(_, record) => match record {},
            }
        }
    }

    fn report(&mut self, now: Time, report: Report, out: &mut Out) {
        let message = Message::Report(report);
        self.hand(now, Input::Message { from: Ledger, message }, out);
    }

    fn carry_out(&mut self, now: Time, request: Request, out: &mut Out) {
        match request {
            Request::Join(membership) => {
                self.told = false;
                self.join(now, membership, out);
            }
            Request::Leave(membership) => {
                if let Some(member) = self.membership() {
                    self.send(Frame::Leave(member), out);
                }
                self.member = None;
                self.beats = Time::MAX;
                let own = std::mem::take(&mut self.own);
                self.readers.retain(|reader| reader.reading.rebalance == RebalanceId::NONE);
                // The client takes its partitions from the core before the core has left.
                if !own.is_empty() {
                    let rebalance = self.change(membership, Change::Revoked, own);
                    self.reports.push_back(Report::Rebalance(rebalance));
                }
                self.leaves = Some((membership, now.after(self.config.fetch_wait)));
            }
            // The core has given the partitions back already, when the rebalance was reported.
            Request::GiveBack(_) => {}
            Request::Read { partition, reading } => {
                let group = reading.rebalance != RebalanceId::NONE;
                if group && !self.own.contains(&partition.0) {
                    return;
                }
                self.readers.retain(|reader| {
                    let plain = reader.reading.rebalance == RebalanceId::NONE;
                    if group { plain || reader.partition != partition } else { !plain }
                });
                let asks = now.after(self.manner.patience);
                self.readers.push(Reader { partition, reading, next: None, epoch: None, asks });
                self.send(Frame::End(partition, reading), out);
            }
            Request::Stop(reading) => self.readers.retain(|reader| reader.reading != reading),
            Request::Publish { to, entry } => {
                if let Target::One(partition) = to {
                    let fails = now.after(self.config.delivery_timeout);
                    self.claims.push((entry.number, partition, fails));
                }
                self.send(Frame::Produce(to, Box::new(entry)), out);
            }
        }
    }

    fn join(&mut self, now: Time, membership: Membership, out: &mut Out) {
        self.number += 1;
        self.member = Some((membership, self.number));
        self.heard = now;
        self.beats = now.after(self.config.heartbeat_interval);
        if let Some(member) = self.membership() {
            self.send(Frame::Join(member), out);
        }
    }

    fn beat(&mut self, now: Time, out: &mut Out) {
        if let Some(member) = self.membership() {
            let own = self.own.iter().copied().collect();
            self.send(Frame::Beat(member, own), out);
            self.beats = now.after(self.config.heartbeat_interval);
        }
    }

    fn rebalance(&mut self, now: Time, change: Change, partitions: Vec<u32>, out: &mut Out) {
        let Some((membership, _)) = self.member else { return };
        if change != Change::Assigned {
            self.own.retain(|own| !partitions.contains(own));
            self.readers.retain(|reader| {
                let plain = reader.reading.rebalance == RebalanceId::NONE;
                plain || !partitions.contains(&reader.partition.0)
            });
        }
        let rebalance = self.change(membership, change, partitions);
        self.report(now, Report::Rebalance(rebalance), out);
    }

    fn change(
        &mut self,
        membership: Membership,
        change: Change,
        partitions: impl IntoIterator<Item = u32>,
    ) -> Rebalance {
        self.rebalances += 1;
        let id = RebalanceId(self.rebalances);
        let partitions = partitions.into_iter();
        Rebalance { membership, id, change, partitions: partitions.map(Partition).collect() }
    }

    /// Handles the start of a rebalance: reports all partitions of this member.
    fn on_rebalance(&self, generation: u64, out: &mut Out) {
        if let Some(member) = self.membership() {
            let own = self.own.iter().copied().collect();
            self.send(Frame::Joins(member, generation, own), out);
        }
    }

    /// Handles an assignment: gives surplus partitions back first.
    fn on_assignment(&mut self, now: Time, may: &[u32], out: &mut Out) {
        let beyond: Vec<u32> = self.own.iter().filter(|own| !may.contains(own)).copied().collect();
        if !beyond.is_empty() {
            self.rebalance(now, Change::Revoked, beyond, out);
            self.beat(now, out);
        }
        let more: Vec<u32> = may.iter().filter(|may| !self.own.contains(may)).copied().collect();
        if (!more.is_empty() || !self.told) && self.member.is_some() {
            self.told = true;
            self.own.extend(&more);
            self.rebalance(now, Change::Assigned, more, out);
        }
    }

    /// Ends the client's session: other members may own its partitions.
    fn lose(&mut self, now: Time, out: &mut Out) {
        let own: Vec<u32> = self.own.iter().copied().collect();
        if !own.is_empty() {
            self.rebalance(now, Change::Lost, own, out);
        }
    }

    /// Reports the end of a partition, after any change of the topic.
    fn on_end(
        &mut self,
        now: Time,
        partition: Partition,
        reading: Reading,
        end: u64,
        topic: u128,
        out: &mut Out,
    ) {
        let backlog = self.manner.backlog;
        if topic != self.topic.topic {
            let Some(reader) = self.reader(reading) else { return };
            reader.asks = Time::MAX;
            let id = TopicId { topic, ..self.topic.clone() };
            let partitions = self.config.partitions;
            self.report(now, Report::Topic { id, partitions }, out);
            let end = Err("the topic is another one".into());
            return self.report(now, Report::Position { partition, reading, end }, out);
        }
        let Some(reader) = self.reader(reading).filter(|reader| reader.next.is_none()) else {
            return;
        };
        reader.next = Some(end.saturating_sub(backlog));
        reader.asks = now;
        self.report(now, Report::Position { partition, reading, end: Ok(end) }, out);
    }

    fn hear(&mut self, now: Time, frame: Frame, out: &mut Out) {
        match frame {
            Frame::Assignment(member, may) if Some(member) == self.membership() => {
                self.heard = now;
                self.on_assignment(now, &may, out);
            }
            Frame::Unknown(member) if Some(member) == self.membership() => {
                self.lose(now, out);
                if let Some((membership, _)) = self.member {
                    self.join(now, membership, out);
                }
            }
            Frame::Rebalance(member, generation) if Some(member) == self.membership() => {
                self.heard = now;
                self.on_rebalance(generation, out);
            }
            Frame::Ends(partition, reading, end, topic) => {
                self.on_end(now, partition, reading, end, topic, out);
            }
            Frame::Fetched(partition, reading, records) => {
                let pause = now.after(self.config.fetch_wait);
                let late = self.manner.late && !records.is_empty();
                let Some(reader) = self.reader(reading) else {
                    if late {
                        self.report(now, Report::Records { partition, reading, records }, out);
                    }
                    return;
                };
                let fits = records.first().is_some_and(|first| Some(first.offset) == reader.next);
                if !fits {
                    reader.asks = reader.asks.min(pause);
                    return;
                }
                if let Some(last) = records.last() {
                    reader.next = Some(last.offset + 1);
                    reader.epoch = last.epoch;
                }
                reader.asks = pause;
                self.report(now, Report::Records { partition, reading, records }, out);
            }
            Frame::OutOfRange(partition, reading) => {
                let Some(reader) = self.reader(reading) else { return };
                if reader.next.is_none() {
                    return;
                }
                reader.asks = Time::MAX;
                let why = "out of range".into();
                self.report(now, Report::Broken { partition, reading, why }, out);
            }
            Frame::Produced(number, partition, offset) => {
                self.claims.retain(|(claim, ..)| *claim != number);
                let outcome = Ok(offset);
                self.report(now, Report::Published { number, partition, outcome }, out);
            }
            Frame::Topic(id, partitions) => {
                self.report(now, Report::Topic { id, partitions }, out);
            }
            _ => {}
        }
    }

    fn reader(&mut self, reading: Reading) -> Option<&mut Reader> {
        self.readers.iter_mut().find(|reader| reader.reading == reading)
    }

    /// Runs the timers of the client.
    fn work(&mut self, now: Time, out: &mut Out) {
        if self.lost() <= now {
            self.lose(now, out);
        }
        if self.beats <= now {
            self.beat(now, out);
        }
        if self.looks <= now {
            self.looks = now.after(self.config.session_timeout);
            self.send(Frame::Metadata, out);
        }
        if let Some((membership, at)) = self.leaves
            && at <= now
        {
            self.leaves = None;
            if !self.manner.silent {
                self.report(now, Report::Left(membership), out);
            }
        }
        let again = now.after(self.manner.patience);
        for at in 0..self.readers.len() {
            let Some(reader) = self.readers.get_mut(at).filter(|reader| reader.asks <= now) else {
                continue;
            };
            reader.asks = again;
            let partition = reader.partition;
            let reading = reader.reading;
            let frame = match reader.next {
                Some(next) => Frame::Fetch(partition, reading, next, reader.epoch),
                None => Frame::End(partition, reading),
            };
            self.send(frame, out);
        }
        let failed: Vec<_> = self.claims.extract_if(.., |(.., fails)| *fails <= now).collect();
        for (number, partition, _) in failed {
            let outcome = Err("timed out".into());
            self.report(now, Report::Published { number, partition, outcome }, out);
        }
    }

    /// Time at which the client considers its session over.
    fn lost(&self) -> Time {
        let has = self.manner.notices && !self.own.is_empty();
        if has { self.heard.after(self.config.session_timeout) } else { Time::MAX }
    }
}

fn told(election: Option<ElectionName>, event: Notice) -> Effect<Words> {
    Effect::Emit { election, event }
}

impl Protocol for Client {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        match input {
            Input::Start(start) => {
                self.number = (start.incarnation as u64) << 16 >> 16;
                self.looks = now;
                self.topic = start.topic.clone();
                self.hand(now, Input::Start(start), out);
            }
            Input::Message { message, .. } => self.hear(now, message, out),
            Input::Command { election, command } => {
                self.hand(now, Input::Command { election, command }, out);
            }
            Input::Timeout => {
                self.hand(now, Input::Timeout, out);
                self.work(now, out);
            }
            Input::Flushed(_) | Input::Failed(_) => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let claims = self.claims.iter().map(|(.., fails)| *fails).min();
        let asks = self.readers.iter().map(|reader| reader.asks).min();
        let leaves = self.leaves.map(|(_, at)| at);
        let timers = [Some(self.beats), Some(self.looks), Some(self.lost()), leaves, claims, asks];
        let first = timers.into_iter().flatten().min().filter(|at| *at < Time::MAX);
        let own = first.map(|at| Deadline { at, why: "the client" });
        self.core.deadline().into_iter().chain(own).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        self.core.standing(election, now)
    }
}
