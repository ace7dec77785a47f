//! Rounds and answers that concern all elections.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::state::Allcall;
use crate::allcall::config::Callers;
use crate::allcall::election::Election;
use crate::allcall::event::OwnEvent;
use crate::allcall::message::{Answered, Digest, Round};
use crate::allcall::words::{Out, emit};
use crate::allcall::wrong_clock::{Clock, Reading};
use crate::name::ElectionName;

impl Allcall {
    /// Notes a call or a question of another participant about these elections. A call has, for
    /// each election, the digest of the claim that the sender follows. This process will answer for
    /// the elections in which it takes part.
    pub(in crate::allcall) fn owe(
        &mut self,
        answer: Answered,
        asked: Vec<(ElectionName, Option<Digest>)>,
        calls: bool,
        out: &mut Out,
    ) {
        let now = self.now.boot;
        let room = self.config.limits.participants;
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
            self.pings.replies.owe(answer, calls, room, asked, not_before);
        }
    }

    /// The delay of an answer when few participants call. A participant that neither leads nor
    /// stands waits. Others then answer first, and only few of many participants answer at once
    /// (ruling 9).
    fn hesitation(&self, asked: &[(ElectionName, bool)], round: Round) -> Duration {
        let speaks = |(name, _): &(ElectionName, bool)| {
            self.elections.get(name).is_some_and(Election::speaks)
        };
        if self.config.callers == Callers::All || asked.iter().any(speaks) {
            return Duration::ZERO;
        }
        self.draw.span(self.config.heartbeat / 4, "", "hesitation", round.0)
    }

    /// Compares this process's clock with others, to learn whether it is wrong (ruling 4).
    pub(in crate::allcall) fn compare_clocks(&mut self, readings: &[Reading], out: &mut Out) {
        let state = |clock: &Clock| (clock.off, clock.differs);
        let before = state(&self.clock);
        let (from, of) = self.clock.judge(readings, self.now, &self.config);
        if state(&self.clock) != before {
            let differs = self.clock.differs;
            let off = OwnEvent::ClockOff { from, of };
            let event = if differs { off } else { OwnEvent::ClockRight };
            emit(None, event, out);
        }
    }

    /// Ends the round. Returns for each election whether the round was valid. For an election the
    /// round is valid if the part of the call that named the election has come back.
    pub(in crate::allcall) fn close_round(
        &mut self,
        out: &mut Out,
    ) -> BTreeMap<ElectionName, bool> {
        let closed = self.pings.rounds.close(self.now.boot, self.config.heartbeat);
        let Some(closed) = closed else { return BTreeMap::new() };
        let void = closed.parts.iter().any(|sent| !sent.back);
        match self.pings.void.replace(void) {
            before if before == Some(void) => {}
            _ if void => emit(None, OwnEvent::Void { round: closed.round }, out),
            _ => emit(None, OwnEvent::Valid { round: closed.round }, out),
        }
        // If any part came back, its elections may renew, so compare clocks first.
        if closed.parts.iter().any(|sent| sent.back) {
            self.compare_clocks(&closed.readings, out);
        }
        let names = closed.parts.into_iter().map(|sent| (sent.names, sent.back));
        names.flat_map(|(names, back)| names.into_iter().map(move |name| (name, back))).collect()
    }
}
