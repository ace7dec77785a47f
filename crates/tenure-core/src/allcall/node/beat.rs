//! What time brings: the end of a round and the next one, and what else is due.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Allcall;
use crate::allcall::batch;
use crate::allcall::clock::{Clock, Reading};
use crate::allcall::election::{Election, Voice};
use crate::allcall::event::OwnEvent;
use crate::allcall::message::{
    Ask, Body, Call, Entry, Message, PACKET_BYTES_MAX, Packet, Part, Reply, Resign, Round, bytes,
};
use crate::allcall::round::Sent;
use crate::allcall::words::{Bus, Effect, Out, emit};
use crate::name::ElectionName;

impl Allcall {
    /// Does all that is due.
    pub(super) fn catch_up(&mut self, out: &mut Out) {
        let now = self.now.boot;
        for name in self.deadlines.take_due(now) {
            self.with_election(&name, out, Election::work);
        }
        if self.rounds.half(self.config.heartbeat / 2).is_some_and(|half| half <= now) {
            for name in self.rounds.judge() {
                self.with_election(&name, out, Election::unconfirmed);
            }
        }
        if self.beat.is_some_and(|beat| beat <= now) {
            self.on_beat(out);
        }
        if self.replies.due(self.config.heartbeat).is_some_and(|due| due <= now) {
            self.reply(out);
        }
        self.judge_times(out);
    }

    /// A heartbeat has passed since the last call: its round ends, and the next one begins.
    fn on_beat(&mut self, out: &mut Out) {
        let (now, config) = (self.now.boot, self.config.clone());
        let valid = self.close(out);
        self.each_election(out, |election, context| {
            let valid = valid.get(election.name()).copied();
            election.close(valid, context);
        });
        self.peers.forget(now, config.lease);
        self.open(out);
        let again = self.beat.map_or(now, |beat| beat.after(config.heartbeat));
        let again = if again > now { again } else { now.after(config.heartbeat) };
        // While nothing is said, the first round begins when the first initial wait is over.
        let listens = self.elections.values().filter_map(|election| election.listens(now)).min();
        let first = listens.filter(|_| !self.rounds.is_open()).unwrap_or(again);
        self.beat = (!self.elections.is_empty()).then_some(again.min(first));
    }

    /// The round is over: which elections it was valid for, by the part that each was in.
    fn close(&mut self, out: &mut Out) -> BTreeMap<ElectionName, bool> {
        let closed = self.rounds.close(self.now.boot, self.config.heartbeat);
        let Some(closed) = closed else { return BTreeMap::new() };
        let void = closed.parts.iter().any(|sent| !sent.back);
        let round = closed.round;
        match self.void.replace(void) {
            before if before == Some(void) => {}
            _ if void => emit(None, OwnEvent::Void { round }, out),
            _ => emit(None, OwnEvent::Valid { round }, out),
        }
        // A part that is back may renew.
        if closed.parts.iter().any(|sent| sent.back) {
            self.compare_clocks(&closed.readings, out);
        }
        let names = closed.parts.into_iter().map(|sent| (sent.names, sent.back));
        names.flat_map(|(names, back)| names.into_iter().map(move |name| (name, back))).collect()
    }

    /// Whether this process's clock is the one that is wrong (ruling 4).
    fn compare_clocks(&mut self, readings: &[Reading], out: &mut Out) {
        let told = |clock: &Clock| (clock.off, clock.differs);
        let before = told(&self.clock);
        let (from, of) = self.clock.judge(readings, self.now, &self.config);
        if told(&self.clock) != before {
            let event = match self.clock.differs {
                true => OwnEvent::ClockOff { from, of },
                false => OwnEvent::ClockRight,
            };
            emit(None, event, out);
        }
    }

    /// Says to all what this process knows, in as few packets as it fits in.
    fn open(&mut self, out: &mut Out) {
        let (mut entries, mut asks) = (Vec::new(), Vec::new());
        {
            let (elections, context) = self.context(out);
            for (name, election) in elections {
                match election.voice(&context) {
                    Voice::Call(entry) => entries.push(entry),
                    Voice::Ask => asks.push(name.clone()),
                    Voice::Silent => {}
                }
            }
        }
        if entries.is_empty() && asks.is_empty() {
            return;
        }
        let round = self.rounds.next();
        let room = self.room();
        let calls = batch::split(entries, room, Entry::bytes);
        let asks = batch::split(asks, room, |_| bytes::NAME);
        let mut sent = Vec::new();
        for (part, entries) in batch::parts(calls.len()).zip(calls) {
            let names = entries.iter().map(|entry| entry.election.clone()).collect();
            sent.push(Sent { asks: false, part, names, back: false });
            self.send(Body::Call(Call { round, part, entries }), out);
        }
        for (part, elections) in batch::parts(asks.len()).zip(asks) {
            sent.push(Sent { asks: true, part, names: elections.clone(), back: false });
            self.send(Body::Ask(Ask { round, part, elections }), out);
        }
        self.rounds.open(self.now.boot, sent);
    }

    /// Answers all calls and questions since the last reply.
    fn reply(&mut self, out: &mut Out) {
        let (answers, asked) = self.replies.take(self.now.boot);
        let (mut entries, mut speaks) = (Vec::new(), false);
        {
            let (elections, context) = self.context(out);
            for (name, tell) in &asked {
                let takes_part = |election: &&mut Election| {
                    election.takes_part(context.boot()) && election.answers(&context)
                };
                let Some(election) = elections.get_mut(name).filter(takes_part) else { continue };
                speaks = true;
                if *tell {
                    entries.push(election.entry(&context));
                }
            }
        }
        if !speaks {
            return;
        }
        let room = self.room().saturating_sub(answers.len() * bytes::ANSWER);
        let mut lists = batch::split(entries, room, Entry::bytes);
        if lists.is_empty() {
            // That it is there, and what its clock shows.
            lists.push(Vec::new());
        }
        for entries in lists {
            self.send(Body::Reply(Reply { answers: answers.clone(), entries }), out);
        }
    }

    /// Tells all what has ended during this input.
    pub(super) fn resign(&mut self, out: &mut Out) {
        let ended = core::mem::take(&mut self.resigned);
        let one = |_: &_| bytes::NAME + bytes::TOMBSTONE;
        // Of one election two terms can have ended, the later one last.
        let ended: BTreeMap<_, _> = ended.into_iter().collect();
        for ended in batch::split(ended.into_iter().collect(), self.room(), one) {
            self.send(Body::Resign(Resign { ended }), out);
        }
    }

    /// How many bytes of entries a packet has room for.
    fn room(&self) -> usize {
        self.link.unwrap_or(PACKET_BYTES_MAX).saturating_sub(bytes::HEADER)
    }

    /// Publishes a packet; without a connection it is lost.
    fn send(&self, body: Body, out: &mut Out) {
        if self.link.is_some() {
            let packet = Packet { header: self.header(), body };
            out.push(Effect::Send { to: Bus, message: Message::Packet(packet) });
        }
    }
}

/// What names one own packet of a round.
pub(super) type Own = (bool, Round, Part);
