//! What is heard on the bus.

use alloc::vec::Vec;
use core::time::Duration;

use super::Allcall;
use super::beat::Own;
use crate::allcall::admission;
use crate::allcall::config::Callers;
use crate::allcall::election::{Election, Sign};
use crate::allcall::event::{Ignored, OwnEvent};
use crate::allcall::message::{Answered, Body, Call, Digest, Entry, Header, Packet, Reply, Round};
use crate::allcall::words::{Out, emit};
use crate::name::ElectionName;
use crate::time::WallTime;

impl Allcall {
    pub(super) fn hear(&mut self, packet: Packet, out: &mut Out) {
        if let Err(reason) = admission::check(&packet, &self.config.cluster) {
            return ignore(reason, out);
        }
        let Packet { header, body } = packet;
        if self.me.is(&header.sender) {
            return self.hear_own(&body, out);
        }
        if header.times != self.config.times() {
            return self.hear_other_times(&header, &body, out);
        }
        self.hear_our_times(&header, &body);
        if self.refused.is_some() {
            return;
        }
        match body {
            Body::Ask(ask) => {
                // Who may only ask says nothing of rounds that a call is judged by (A6).
                let answer = Answered { caller: header.sender, round: ask.round };
                let asked = ask.elections.into_iter().map(|name| (name, None)).collect();
                self.owe(answer, asked, false, out);
            }
            Body::Call(call) => self.hear_call(&header, &call, out),
            Body::Reply(reply) => self.hear_reply(&header, &reply, out),
            Body::Resign(resign) => {
                for (name, dead) in resign.ended {
                    self.with_election(&name, out, |election, context| {
                        election.bury(&dead, context);
                    });
                }
            }
        }
    }

    /// What this process said itself: proof that it is heard, and nothing else.
    fn hear_own(&mut self, body: &Body, out: &mut Out) {
        let own: Own = match body {
            Body::Ask(ask) => (true, ask.round, ask.part),
            Body::Call(call) => (false, call.round, call.part),
            Body::Resign(resign) => {
                for (name, dead) in &resign.ended {
                    self.with_election(name, out, |election, context| {
                        election.resigned(dead.term, context);
                    });
                }
                return;
            }
            Body::Reply(_) => return,
        };
        let half = self.config.heartbeat / 2;
        match self.rounds.back(own, self.now.boot, half) {
            Some(names) => {
                for name in names {
                    self.with_election(&name, out, Election::confirm);
                }
            }
            None => ignore(Ignored::NotOurs, out),
        }
    }

    /// A call. All of it is late if a later round of its sender was heard.
    fn hear_call(&mut self, header: &Header, call: &Call, out: &mut Out) {
        let (now, room) = (self.now.boot, self.config.limits.participants);
        let known = self.peers.hear(&header.sender, call.round, now, room);
        if let Err(reason) = known {
            ignore(reason, out);
        }
        if known == Err(Ignored::Late) {
            return;
        }
        let fresh = self.differs(header.sent) <= self.off() && known.is_ok();
        if known.is_ok() && !fresh {
            ignore(Ignored::Late, out);
        }
        let sign = fresh.then_some(Sign { rank: header.rank, calls: true });
        self.hear_entries(header, sign, &call.entries, out);
        let answer = Answered { caller: header.sender.clone(), round: call.round };
        let asked = |entry: &Entry| (entry.election.clone(), Some(entry.digest));
        self.owe(answer, call.entries.iter().map(asked).collect(), true, out);
    }

    /// Somebody calls or asks about these elections, of each with what it follows, if it said so:
    /// it is to be answered about those in which this process takes part.
    fn owe(
        &mut self,
        answer: Answered,
        asked: Vec<(ElectionName, Option<Digest>)>,
        calls: bool,
        out: &mut Out,
    ) {
        let (now, room) = (self.now.boot, self.config.limits.participants);
        let asked: Vec<_> = {
            let (elections, context) = self.context(out);
            let tell = |(name, follows): (ElectionName, Option<Digest>)| {
                let election = elections.get_mut(&name).filter(|one| one.takes_part(now))?;
                if follows.is_none() {
                    election.answer(&context);
                }
                let tell = election.has_news_for(follows, &context);
                Some((name, tell))
            };
            asked.into_iter().filter_map(tell).collect()
        };
        if !asked.is_empty() {
            let not_before = now.after(self.hesitation(&asked, answer.round));
            self.replies.owe(answer, (calls, room), asked, not_before);
        }
    }

    /// Where few call, one that does not speak itself gives others time to answer, so that it need
    /// not (ruling 9): however many there are, few answer at once.
    fn hesitation(&self, asked: &[(ElectionName, bool)], round: Round) -> Duration {
        let speaks = |(name, _): &(ElectionName, bool)| {
            self.elections.get(name).is_some_and(Election::speaks)
        };
        if self.config.callers == Callers::All || asked.iter().any(speaks) {
            return Duration::ZERO;
        }
        self.draw.span(self.config.heartbeat / 4, "", "hesitation", round.0)
    }

    /// A reply shows that its sender is there if it answers a round that is open: an own one, or
    /// that of a call of another that was heard. What it says of leaders is true all the same.
    fn hear_reply(&mut self, header: &Header, reply: &Reply, out: &mut Out) {
        let (now, config) = (self.now.boot, self.config.clone());
        let off = self.differs(header.sent) > self.off();
        let (mut counts, mut known) = (false, false);
        for answer in &reply.answers {
            if answer.caller == self.me.who {
                let room = config.limits.participants;
                let read = (&header.sender, header.sent);
                counts |= self.rounds.answered(answer.round, read, now, room);
                known = true;
            } else {
                known |= self.peers.knows(&answer.caller);
                counts |= !off && self.peers.is_open(answer, now, config.heartbeat);
            }
        }
        // To those that only ask nobody is late.
        if known && !counts {
            ignore(Ignored::Late, out);
        }
        let sign = counts.then_some(Sign { rank: header.rank, calls: false });
        self.hear_entries(header, sign, &reply.entries, out);
    }

    fn hear_entries(
        &mut self,
        header: &Header,
        sign: Option<Sign>,
        entries: &[Entry],
        out: &mut Out,
    ) {
        for entry in entries {
            self.with_election(&entry.election, out, |election, context| {
                election.hear(header, sign, entry, context);
            });
        }
    }

    /// How far another's wall clock was from this one when it sent, message and all.
    pub(super) fn differs(&self, sent: WallTime) -> Duration {
        sent.since(self.now.wall).max(self.now.wall.since(sent))
    }

    /// 2K + H: what differs by more is no sign that its sender is there now.
    pub(super) fn off(&self) -> Duration {
        let skews = self.config.max_clock_skew.saturating_mul(2);
        skews.saturating_add(self.config.heartbeat)
    }
}

pub(super) fn ignore(reason: Ignored, out: &mut Out) {
    emit(None, OwnEvent::Ignored(reason), out);
}
