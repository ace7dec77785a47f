//! The contract: inputs and deadlines.

use alloc::format;
use alloc::sync::Arc;

use super::state::Allcall;
use crate::allcall::config::Config;
use crate::allcall::election::Election;
use crate::allcall::event::{Event, Ignored, OwnEvent};
use crate::allcall::identity::Rank;
use crate::allcall::message::{Link, MAX_PAYLOAD_MIN, Message, PACKET_BYTES_MAX};
use crate::allcall::words::{Command, Out, Start, Words, emit};
use crate::clocks::BothClocks;
use crate::contract::{Input, Protocol};
use crate::draw::Draw;
use crate::event::{End, Loss};
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

impl Allcall {
    fn start(&mut self, start: &Start, out: &mut Out) {
        let Start { incarnation, tie, seed } = *start;
        self.draw = Draw::new(seed);
        let drawn = || {
            let low = self.draw.number("", "rank", 0) % Config::RANK_DRAWN;
            Config::RANK_DRAWN + low
        };
        let number = self.config.rank.unwrap_or_else(drawn);
        self.me.who.incarnation = incarnation;
        self.me.rank = Rank { number, tie };
        emit(None, OwnEvent::Started { who: self.me.who.clone(), rank: self.me.rank }, out);
    }

    fn on_link(&mut self, link: Link, out: &mut Out) {
        self.pings.rounds.spoil();
        // An interrupted initial wait begins anew, because packets were missed (ruling 8).
        self.joined = self.joined.filter(|_| self.is_established());
        self.each_election(out, |election, context| election.on_interrupted(context));
        let max_payload = match link {
            Link::Up { max_payload } if max_payload >= MAX_PAYLOAD_MIN => max_payload,
            Link::Up { max_payload } => {
                self.link = None;
                let needed = MAX_PAYLOAD_MIN;
                return emit(None, OwnEvent::PayloadTooSmall { max_payload, needed }, out);
            }
            Link::Down => {
                self.link = None;
                return;
            }
        };
        self.link = Some(max_payload.min(PACKET_BYTES_MAX));
        let wait = self.config.lease.saturating_add(self.config.max_clock_skew);
        let joined = self.now.boot.after(self.config.drift.stretch(wait));
        self.joined = self.joined.or(Some(joined));
        self.each_election(out, |election, context| election.on_connected(context));
        if self.pings.beat.is_some() {
            self.pings.beat = Some(self.now.boot);
        }
    }

    fn on_command(&mut self, name: ElectionName, command: Command, out: &mut Out) {
        match command {
            Command::Campaign { value, .. } => self.campaign(name, value, out),
            Command::Resign if self.elections.contains_key(&name) => {
                self.with_election(&name, out, |election, context| {
                    election.end(Loss::Resigned, None, context);
                });
            }
            Command::Observe { .. } => self.observe(name, out),
            Command::Unobserve if self.elections.contains_key(&name) => {
                self.with_election(&name, out, |election, _| election.unobserve());
            }
            Command::Resign | Command::Unobserve => {}
            Command::Transfer { .. } => {
                emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
            }
            Command::Extra(extra) => match extra {},
        }
    }

    fn campaign(&mut self, name: ElectionName, value: Value, out: &mut Out) {
        if let Err(why) = self.enter(&name, out) {
            emit(Some(&name), Event::Ended(End::Refused { why }), out);
            return emit(Some(&name), Event::Released, out);
        }
        self.with_election(&name, out, |election, context| election.campaign(value, context));
    }

    fn observe(&mut self, name: ElectionName, out: &mut Out) {
        match self.enter(&name, out) {
            Ok(()) => self.with_election(&name, out, |election, _| election.observe()),
            Err(why) => emit(Some(&name), Event::NotObserved { why }, out),
        }
    }

    /// Adds an election, or returns the reason why there is no room for it.
    fn enter(&mut self, name: &ElectionName, out: &mut Out) -> Result<(), Arc<str>> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        if self.elections.contains_key(name) {
            return Ok(());
        }
        let most = self.config.limits.elections;
        if self.elections.len() >= most {
            let why = format!(
                "this process takes part in {most} elections, and its limit is {most}: run further \
                 elections in another process"
            );
            return Err(why.into());
        }
        let mut election = Election::new(name.clone());
        election.on_connected(&self.context(out).1);
        self.elections.insert(name.clone(), election);
        self.pings.beat = self.pings.beat.or(Some(self.now.boot));
        Ok(())
    }

    /// Runs all expired timers.
    fn catch_up(&mut self, out: &mut Out) {
        let now = self.now.boot;
        for name in self.deadlines.take_due(now) {
            self.with_election(&name, out, |election, context| {
                election.lapse_or_hand_over(context);
                election.outlast(context);
                election.expire_claims(now);
            });
        }
        if self.pings.rounds.half(self.config.heartbeat / 2).is_some_and(|half| half <= now) {
            for name in self.pings.rounds.judge() {
                self.with_election(&name, out, Election::unconfirmed);
            }
        }
        if self.pings.beat.is_some_and(|beat| beat <= now) {
            self.on_beat(out);
        }
        if self.pings.replies.due(self.config.heartbeat).is_some_and(|due| due <= now) {
            self.reply(out);
        }
        self.judge_times(out);
    }
}

impl Protocol for Allcall {
    type Words = Words;
    type Now = BothClocks;

    fn handle(&mut self, now: BothClocks, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now.boot) {
            return;
        }
        self.now = BothClocks { boot: self.now.boot.max(now.boot), ..now };
        // Run expired timers before the input, so that a late process handles no input with stale
        // state.
        self.catch_up(out);
        match input {
            Input::Start(start) => self.start(&start, out),
            Input::Message { message: Message::Packet(packet), .. } => self.hear(packet, out),
            Input::Message { message: Message::Link(link), .. } => self.on_link(link, out),
            Input::Command { election, command } => self.on_command(election, command, out),
            // The core never persists or flushes a record.
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => {}
        }
        // Run again: a first election or a new connection begins a round at once.
        self.catch_up(out);
        self.resign(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let half = self.pings.rounds.half(self.config.heartbeat / 2);
        let dues = [
            (self.deadlines.first(), "a claim or a leadership ends"),
            (half, "the own call must have come back"),
            (self.pings.beat, "a round ends and the next one begins"),
            (self.pings.replies.due(self.config.heartbeat), "calls and questions wait for a reply"),
            (self.times.due(), "earlier participants have shown their times"),
        ];
        let first = dues.into_iter().filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // A deadline at the end of time never comes.
        first.filter(|deadline| deadline.at < Time::MAX).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.elections.get(election) {
            Some(election) => election.standing(now),
            None => Standing::NotLeading,
        }
    }
}
