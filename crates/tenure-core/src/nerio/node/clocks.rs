//! Clocks of members, compared with this node's: each ok is a sample. After a proof that clocks are
//! apart, the node may take its own clock to be wrong.

use alloc::vec::Vec;

use super::super::body::Granted;
use super::super::context::Context;
use super::super::event::OwnEvent;
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::rates::{ClockApart, MemberClock};
use super::super::words::{Out, emit};
use super::Nerio;
use crate::time::Time;

impl Nerio {
    pub(super) fn compare_clocks(
        &mut self,
        now: Time,
        from: &Sender,
        member: usize,
        granted: &Granted,
        out: &mut Out,
    ) {
        let context = &mut self.context;
        if from.who.name == context.who.name || !context.has_asked(granted.start) {
            return;
        }
        let (process, drift) = ((granted.instance, from.who.inc), context.config.drift);
        let times = (granted.start, now);
        let proof = context.rates.observe(times, member, process, granted.stamp, drift);
        let Some(apart) = proof else { return };
        let member = from.who.name.clone();
        let is_only_reported = context.config.clock_skew_max.is_some();
        let apart = ClockApart { member, apart, drift, is_only_reported };
        emit(out, None, OwnEvent::ClockApart(apart.into()));
        self.judge_own_clock(now, out);
    }

    /// Judges this node's clock after a proof, and after a change of members. If the members with
    /// faster clocks leave no quorum, the node takes its own clock to be wrong: its grantor grants
    /// no more, and its leaderships end.
    pub(super) fn judge_own_clock(&mut self, now: Time, out: &mut Out) {
        let Self { context, grantor, candidates, candidates_due, .. } = self;
        let is_only_reported = context.config.clock_skew_max.is_some();
        if is_only_reported || !context.rates.accuses_itself(&context.membership) {
            return;
        }
        let apart = context.membership.named(context.rates.faster());
        emit(out, None, OwnEvent::WrongClock { apart });
        if let Some(grantor) = grantor {
            grantor.has_wrong_clock = true;
        }
        candidates.each(|candidate| {
            candidate.stop_for_clock(now, context, out);
            candidate.book(candidates_due);
        });
    }

    /// Compares all clocks anew: an operator says that they have been set right. Campaigns go on
    /// with their next requests.
    pub(super) fn clear_breach(&mut self, out: &mut Out) {
        self.context.rates.clear();
        if let Some(grantor) = &mut self.grantor {
            grantor.has_wrong_clock = false;
        }
        emit(out, None, OwnEvent::BreachCleared);
    }

    /// The breaches that last, as the events that reported them.
    pub fn breaches(&self) -> impl Iterator<Item = OwnEvent> {
        let (rates, drift) = (&self.context.rates, self.context.config.drift);
        let apart = self.context.membership.named(rates.faster());
        let is_only_reported = self.context.config.clock_skew_max.is_some();
        let own = rates.is_wrong().then_some(OwnEvent::WrongClock { apart });
        let of_members = self.clocks().into_iter().flat_map(move |clock| {
            let member = clock.member;
            let one = move |apart| {
                let member = member.clone();
                ClockApart { member, apart, drift, is_only_reported }
            };
            clock.apart.into_iter().map(one)
        });
        own.into_iter().chain(of_members.map(|apart| OwnEvent::ClockApart(apart.into())))
    }

    /// The members' clocks, compared with this node's, as far as oks have shown them.
    #[must_use]
    pub fn clocks(&self) -> Vec<MemberClock> {
        self.context.rates.describe(&self.context.membership)
    }

    /// Whether this node takes its own clock to be wrong, and neither leads nor grants.
    #[must_use]
    pub const fn has_wrong_clock(&self) -> bool {
        self.context.rates.is_wrong()
    }
}

impl Context {
    /// Members whose oks do not count. With a bound on skew all oks count: wall clocks bound the
    /// claims as well.
    pub(in crate::nerio) fn faster(&self) -> MemberSet {
        match self.config.clock_skew_max {
            Some(_) => MemberSet::EMPTY,
            None => self.rates.faster(),
        }
    }
}
