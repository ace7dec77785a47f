//! A process of ours: the core, and the duties of its driver. The driver keeps one connection to
//! one member, delivers each stream in order and without gaps, and ends every stream that is silent
//! for too long.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::contract::Effects;
use tenure_core::etcd::{Answer, CallId, Checked, Etcd, Message, Op, Reply, Request, Start, Store};
use tenure_core::{Deadline, Effect, ElectionName, Input, Protocol, Standing, Time, etcd};

use super::packet::{Order, Packet, Place, Report};
use super::store::MEMBERS;
use super::words::{Out, Words};

/// The largest number of attempts to open a watch.
const AGAIN: usize = 64;
/// The silence after which a stream is broken.
const SILENCE: Duration = Duration::from_secs(3);

/// A watch, as its driver sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Stream {
    /// Request of the watch, repeated until the watch opens or its time ends.
    request: Request,
    /// Number of attempts.
    asked: usize,
    /// Number of answers.
    told: u32,
    heard: Time,
    /// Answers that overtook earlier answers, by their numbers.
    early: BTreeMap<u32, Answer>,
}

/// A core with its driver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    core: Etcd,
    store: Place,
    life: u64,
    member: usize,
    /// Time limits of calls.
    open: BTreeMap<CallId, Time>,
    streams: BTreeMap<CallId, Stream>,
}

impl Protocol for Process {
    type Words = Words;
    type Now = Time;

    fn deadline(&self) -> Option<Deadline> {
        let silent = self.streams.values().map(|stream| stream.heard.after(SILENCE)).min();
        let late = self.open.values().min().copied();
        let own = [(silent, "a silent stream"), (late, "a late answer")];
        let own = own.into_iter().filter_map(|(at, why)| Some(Deadline { at: at?, why }));
        self.core.deadline().into_iter().chain(own).min_by_key(|deadline| deadline.at)
    }

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        let mut effects = Vec::new();
        match input {
            Input::Start(begin) => {
                self.life = begin.life;
                self.member = begin.node % MEMBERS;
                let start = Start { seed: begin.life, lease: begin.lease };
                self.core.handle(now, Input::Start(start), &mut effects);
            }
            Input::Message { message: Packet::Tell { life, answer, nth }, .. }
                if life == self.life && (nth.is_some() || !self.ask_again(&answer, out)) =>
            {
                self.hear(now, answer, nth, &mut effects);
            }
            Input::Message { message: Packet::Streams { life, open }, .. } if life == self.life => {
                self.compare(now, &open, out);
            }
            Input::Command { election, command: Order::Ours(command) } => {
                self.core.handle(now, Input::Command { election, command }, &mut effects);
            }
            Input::Timeout => {
                self.core.handle(now, Input::Timeout, &mut effects);
                self.wait_no_longer(now, &mut effects, out);
            }
            _ => {}
        }
        self.carry_out(now, effects, out);
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        self.core.standing(election, now)
    }
}

impl Process {
    #[must_use]
    pub fn new(config: Checked, store: usize) -> Self {
        Self {
            core: Etcd::new(config),
            store: Place(store),
            life: 0,
            member: 0,
            open: BTreeMap::new(),
            streams: BTreeMap::new(),
        }
    }

    #[must_use]
    pub const fn core(&self) -> &Etcd {
        &self.core
    }

    /// Sends the request of a watch that did not open again, to the next member.
    fn ask_again(&mut self, answer: &Answer, out: &mut Out) -> bool {
        let Reply::Unknown { .. } = answer.reply else { return false };
        let Some(stream) = self.streams.get_mut(&answer.call) else { return false };
        let wants =
            stream.told == 0 && stream.asked < AGAIN && self.open.contains_key(&answer.call);
        if wants {
            stream.asked += 1;
            self.member = (self.member + 1) % MEMBERS;
            let request = stream.request.clone();
            let message = Packet::Ask { life: self.life, member: self.member, request };
            out.push(Effect::Send { to: self.store, message });
        }
        wants
    }

    /// Passes an answer on; keeps the order of a stream's answers.
    fn hear(
        &mut self,
        now: Time,
        answer: Answer,
        nth: Option<u32>,
        effects: &mut Effects<etcd::Words>,
    ) {
        let Some(nth) = nth else { return self.hand_on(now, answer, effects) };
        let call = answer.call;
        let Some(stream) = self.streams.get_mut(&call) else { return };
        stream.heard = now;
        if nth > stream.told {
            stream.early.insert(nth, answer);
        }
        while let Some(stream) = self.streams.get_mut(&call)
            && let Some(answer) = stream.early.remove(&(stream.told + 1))
        {
            stream.told += 1;
            if !matches!(answer.reply, Reply::Watching | Reply::Changed(_)) {
                self.streams.remove(&call);
            }
            self.hand_on(now, answer, effects);
        }
    }

    fn hand_on(&mut self, now: Time, answer: Answer, effects: &mut Effects<etcd::Words>) {
        self.open.remove(&answer.call);
        if matches!(answer.reply, Reply::Unknown { .. }) {
            self.member = (self.member + 1) % MEMBERS;
        }
        let message = Message::Answer(answer);
        self.core.handle(now, Input::Message { from: Store, message }, effects);
    }

    /// Compares the process's streams with the streams that the store has open, and the numbers of
    /// answers on both sides.
    fn compare(&mut self, now: Time, open: &[(CallId, u32)], out: &mut Out) {
        for (call, told) in open {
            match self.streams.get_mut(call) {
                None => self.unwatch(*call, out),
                Some(stream) if stream.told >= *told => stream.heard = now,
                // The missing answers may still arrive; otherwise the stream falls silent.
                Some(_) => {}
            }
        }
    }

    fn unwatch(&self, watch: CallId, out: &mut Out) {
        let within = Duration::ZERO;
        let op = Op::Unwatch { watch };
        let request = Request { call: CallId(0), within, op };
        let message = Packet::Ask { life: self.life, member: self.member, request };
        out.push(Effect::Send { to: self.store, message });
    }

    /// Breaks a stream, and reports that to the core.
    fn break_off(
        &mut self,
        now: Time,
        call: CallId,
        why: &str,
        effects: &mut Effects<etcd::Words>,
        out: &mut Out,
    ) {
        self.streams.remove(&call);
        self.open.remove(&call);
        self.unwatch(call, out);
        let answer = Answer { call, header: None, reply: Reply::Unknown { why: why.into() } };
        let message = Message::Answer(answer);
        self.core.handle(now, Input::Message { from: Store, message }, effects);
    }

    /// Leaves a member that does not answer calls in time.
    fn wait_no_longer(&mut self, now: Time, effects: &mut Effects<etcd::Words>, out: &mut Out) {
        let open = self.open.len();
        self.open.retain(|_, due| *due > now);
        if self.open.len() < open {
            self.member = (self.member + 1) % MEMBERS;
        }
        let silent = self.streams.iter().filter(|(_, stream)| stream.heard.after(SILENCE) <= now);
        let silent: Vec<CallId> = silent.map(|(call, _)| *call).collect();
        for call in silent {
            self.break_off(now, call, "the connection is silent", effects, out);
        }
    }

    fn carry_out(&mut self, now: Time, effects: Effects<etcd::Words>, out: &mut Out) {
        for effect in effects {
            out.push(match effect {
                Effect::Send { message: Message::Request(request), .. } => {
                    self.note(now, &request);
                    let message = Packet::Ask { life: self.life, member: self.member, request };
                    Effect::Send { to: self.store, message }
                }
                Effect::Raise { election, until, fence } => {
                    Effect::Raise { election, until, fence }
                }
                Effect::Bound { election, wall } => Effect::Bound { election, wall },
                Effect::Lower { election } => Effect::Lower { election },
                Effect::Emit { election, event } => {
                    Effect::Emit { election, event: Report::Ours(event) }
                }
                Effect::Persist(record) | Effect::Flush(_, record) => match record {},
                // A core sends requests, and no answers.
                Effect::Send { message: Message::Answer(_), .. } => continue,
            });
        }
    }

    fn note(&mut self, now: Time, request: &Request) {
        match request.op {
            Op::Watch { .. } => {
                let told = 0;
                let heard = now;
                let asked = 0;
                let early = BTreeMap::new();
                let stream = Stream { request: request.clone(), asked, told, heard, early };
                self.streams.insert(request.call, stream);
                self.open.insert(request.call, now.after(request.within));
            }
            Op::Unwatch { watch } => {
                self.streams.remove(&watch);
                self.open.remove(&watch);
            }
            _ => {
                self.open.insert(request.call, now.after(request.within));
            }
        }
    }
}
