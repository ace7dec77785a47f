//! Questions of a grantor without memory, and the answers of the others.
//!
//! A lease that this grantor gave and forgot counts until the first grant of its quorum ends. The
//! answers are enough when every quorum has a member that answered. Then the quorum of each
//! forgotten lease has a member that remembers the lease, or has waited for its end. So the largest
//! `delta_max` of the answers bounds the forgotten leases, and their highest fence bounds the
//! forgotten fences: `docs/decisions/lease-max.md`.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::super::body::{FenceRead, FenceSeen};
use super::super::config::Config;
use super::super::event::{Ignored, OwnEvent};
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::words::{Out, emit, send};
use super::Grantor;
use super::phase::{Missing, Phase, Read, ReadAnswer};
use super::proposals::PATIENCE;
use crate::fence::Fence;
use crate::time::Time;

/// The instant since which enough members have written down a grantor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Recorded {
    pub(super) since: Time,
    /// Whether the members with an intact memory are enough by themselves.
    by_whole: bool,
}

impl Grantor {
    /// Asks all others for a bound on their fences. Answers are kept over repetitions: every answer
    /// after the end of the quarantine is good.
    pub(super) fn read_fences(&mut self, now: Time, out: &mut Out) {
        if self.becomes_later() {
            // No member has written the memory down under its new number, so the wait begins anew.
            self.recorded = None;
            return self.write_boot(now, None, Read::Fences, out);
        }
        let (since, answers, news, mut told) = match &mut self.phase {
            Phase::Reading { since, answers, news, told, .. } => {
                (*since, core::mem::take(answers), *news, *told)
            }
            _ => (now, BTreeMap::new(), false, None),
        };
        // Do not report members while this grantor waits for its own disk, or while a decided epoch
        // leaves this memory out: members do not answer such a memory.
        if now > since && self.memories.is_written() && self.outside().is_none() {
            let waits = now.since(since);
            told = Some(self.tell_missing(waits, &answers, told, out));
        }
        for member in self.others().iter() {
            let read = FenceRead { start: since, instance: self.instance, record: self.records };
            send(out, self.membership.to(member), read);
        }
        self.ask_later_members(now, out);
        self.ask_to_be_let_in(now, out);
        let again = now.after(self.config.refresh);
        self.phase = Phase::Reading { since, again, answers, news, told };
        // In a cluster of one there is no other member to wait for.
        self.try_to_serve_again(now, out);
    }

    /// Reports the members for which the read waits, when these change: members that remember,
    /// members that are silent, members with an empty directory, and those of them that have not
    /// heard from all members, although this grantor `waits` for long.
    fn tell_missing(
        &self,
        waits: Duration,
        answers: &BTreeMap<usize, ReadAnswer>,
        told: Option<Missing>,
        out: &mut Out,
    ) -> Missing {
        let those = |is_it: fn(&ReadAnswer) -> bool| -> MemberSet {
            answers.iter().filter(|(_, known)| is_it(known)).map(|(member, _)| *member).collect()
        };
        let (whole, empty) = (those(|known| known.whole), those(|known| !known.whole));
        let silent = self.others().minus(whole.or(empty));
        // Members were asked to write down this grantor's memory before they answer. If a member
        // answers without writing the memory down, that member does not recognize this grantor as a
        // member.
        let strange = if self.records { those(|known| !known.recorded) } else { MemberSet::EMPTY };
        // A member has its memory written down once all others have answered it. So a member that
        // answers, and whose memory nobody names, lacks an answer itself: its list may be wrong.
        let founds = self.records && whole.or(silent).is_empty();
        let is_late = waits >= self.config.refresh.saturating_mul(PATIENCE);
        let nameless = |(member, known): &(&usize, &ReadAnswer)| {
            founds && is_late && known.recorded && known.instance != self.memories.heard(**member)
        };
        let deaf: MemberSet = answers.iter().filter(nameless).map(|(member, _)| *member).collect();
        let has_asked = |member: &usize| self.changes.has_heard(self.membership.name(*member));
        let unasked = deaf.iter().filter(|member| !has_asked(member)).collect();
        let missing = Missing { whole, silent, empty, strange, deaf, unasked };
        if told != Some(missing) {
            let [whole, silent, empty, strange, deaf, unasked] =
                [whole, silent, empty, strange, deaf.minus(unasked), unasked]
                    .map(|set| self.membership.named(set));
            let waits = OwnEvent::RecoveryWaits { whole, silent, empty, strange, deaf, unasked };
            emit(out, None, waits);
        }
        missing
    }

    /// Answers a read. Only the answer of a grantor with an intact memory bounds fences and leases.
    /// Other grantors report that they have no intact memory, for the founding of the cluster and
    /// for people.
    pub(super) fn answer_read(&self, now: Time, from: &Sender, start: Time, out: &mut Out) {
        if self.is_wedged() {
            return;
        }
        let whole = match &self.phase {
            Phase::Serving | Phase::Quarantine { read: Read::Nothing, .. } => true,
            // Do not answer: the memory is not there yet, is replaced, or is intact but its boot is
            // not written yet.
            Phase::Unborn
            | Phase::Replaced
            | Phase::Opening { read: Read::Nothing, .. }
            | Phase::Unwritten { read: Read::Nothing, .. } => return,
            Phase::Opening { .. }
            | Phase::Unwritten { .. }
            | Phase::Quarantine { .. }
            | Phase::Reading { .. }
            | Phase::Storing { .. }
            | Phase::Unstored { .. } => false,
        };
        // A grantor with an empty directory may take part in the founding, so its clock bounds the
        // fences as well.
        let least = if whole { Fence::NONE } else { self.old_enough(now) };
        let seen = self.fences.highest().max(least);
        let (asker, delta_max) = (from.who.inc, self.delta_max);
        let (leader, roster) = (self.leader_until.since(now), self.roster());
        let answer = FenceSeen { asker, start, seen, delta_max, whole, leader, roster };
        send(out, from, answer);
    }

    pub(in super::super) fn on_fence_seen(
        &mut self,
        now: Time,
        from: &Sender,
        seen: &FenceSeen,
        out: &mut Out,
    ) {
        self.records_written(out);
        if !self.is_upgraded() {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        }
        let Some(member) = self.other_member(from) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        };
        self.hear_roster(now, member, seen, out);
        let own = seen.roster.at(self.own_position());
        let recorded = own.is_some_and(|entry| entry.instance == self.instance);
        let theirs = seen.roster.at(member);
        let instance = theirs.map(|entry| entry.instance);
        let answers = match &mut self.phase {
            Phase::Reading { since, answers, .. } if *since == seen.start => answers,
            _ if self.joins => return emit(out, None, OwnEvent::Ignored(Ignored::Unasked)),
            _ => return,
        };
        let roster = seen.roster.clone();
        let FenceSeen { seen, delta_max, whole, leader, .. } = *seen;
        let delta_max = delta_max.min(Config::DELTA_MAX_MAX);
        // The member stretched the span for its own clock, so the span is long enough on any clock.
        let leader = match leader.is_zero() {
            true => Time::ZERO,
            false => now.after(leader.min(Config::DELTA_MAX_MAX.saturating_mul(2))),
        };
        let answer = ReadAnswer { seen, delta_max, whole, leader, recorded, instance, roster };
        answers.insert(member, answer);
        self.try_to_serve_again(now, out);
    }

    /// Notes a leader with leases of this length: no cluster is founded before they have ended.
    pub(in crate::nerio) fn hear_of_leader(&mut self, now: Time, lease: Duration) {
        let until = now.after(self.outlasts(lease.min(Config::DELTA_MAX_MAX)));
        self.leader_until = self.leader_until.max(until);
    }

    /// Ends the read when enough members have answered, and all leases that may have been forgotten
    /// have ended.
    pub(super) fn try_to_serve_again(&mut self, now: Time, out: &mut Out) {
        if self.has_accepted_founding() || self.begins_to_record(now, out) {
            return;
        }
        let Phase::Reading { since, answers, .. } = &self.phase else { return };
        let since = *since;
        // An answer counts if its member has written down this grantor's memory, and if no later
        // memory of that member was heard of (names: instances).
        let is_latest =
            |member: &usize, known: &ReadAnswer| known.instance >= self.memories.heard(*member);
        let counts =
            |member: &usize, known: &ReadAnswer| known.recorded && is_latest(member, known);
        let heard = || answers.iter().filter(|(member, known)| counts(member, known));
        let recorded: MemberSet = heard().map(|(member, _)| *member).collect();
        if !self.is_enough(recorded) {
            return;
        }
        if self.memories.names_founder(self.own_position(), self.instance) && !self.is_founder() {
            // Others name this memory as a founder's: write that down first. A founder does not
            // depend on members that remember.
            return self.write_memories(now, out);
        }
        // Others may give longer leases than this grantor (restart 1).
        let longest = heard().map(|(_, known)| known.delta_max).max().unwrap_or_default();
        let whole = heard().filter(|(_, known)| known.whole);
        let highest = whole.clone().map(|(_, known)| known.seen).max();
        let whole: MemberSet = whole.map(|(member, _)| *member).collect();
        let all = heard().map(|(_, known)| known.seen).max();
        let remembers = self.is_whole_quorum(whole);
        let is_founder = self.is_founder();
        let written = self.recorded.get_or_insert(Recorded { since: now, by_whole: false });
        if remembers && !is_founder && !written.by_whole {
            // The wait so far may have begun when members with empty directories wrote this memory
            // down. Now members that remember are enough by themselves: begin the wait anew. A
            // founder need not, because no member remembered anything at the founding.
            *written = Recorded { since: now, by_whole: true };
        }
        let longest = longest.max(self.delta_max);
        let mut until = self.ended(longest);
        if self.wall.is_some() && !remembers && !is_founder {
            // A newer memory restarts the wait: documents name only memories from before the wait.
            until = until.max(self.news_at.after(self.outlasts(longest)));
        }
        if until > since {
            // A forgotten lease may still be live: read again when that lease has ended.
            return self.wait(now, until, out);
        }
        let floor = if remembers {
            highest
        } else if self.is_founder() {
            if self.heard_leader() > now {
                // Wait for the end of the lease of a leader that this grantor or another member has
                // heard.
                return;
            }
            all.max(Some(self.founding_floor(now)))
        } else {
            return self.found_anew(now, (recorded, whole), all, out);
        };
        if !self.memories.is_written() {
            // The grantor writes down the members' memories that it has heard of before it grants.
            return self.write_memories(now, out);
        }
        self.fences.raise_floor(floor.unwrap_or(Fence::NONE));
        // Releases may have opened elections with the lower floor of this start: raise their
        // fences.
        for state in self.elections.values_mut() {
            state.raise_fence(self.fences.floor());
        }
        self.store(now, out);
    }

    /// Lets a member with an empty directory first ask whether it could serve, and only then ask
    /// others to write its memory down. True while the member still asks the first question.
    fn begins_to_record(&mut self, now: Time, out: &mut Out) -> bool {
        let Phase::Reading { answers, .. } = &self.phase else { return false };
        if self.records {
            return false;
        }
        let whole = answers.iter().filter(|(_, known)| known.whole).map(|(member, _)| *member);
        let whole: MemberSet = whole.collect();
        let answered: MemberSet = answers.keys().copied().collect();
        let all = self.others().minus(answered).is_empty();
        let new = whole.is_empty() && all;
        self.records = self.is_whole_quorum(whole) || self.is_founder() || new;
        if self.records {
            // Ask again; members now answer once they have written this memory down.
            self.read_anew(now, out);
        }
        true
    }

    /// Asks all members once more, and forgets the answers so far.
    pub(super) fn read_anew(&mut self, now: Time, out: &mut Out) {
        self.phase = Phase::Quarantine { until: now, read: Read::Fences };
        self.read_fences(now, out);
    }

    /// The latest end of a leadership that this grantor, or a member that answered, has heard of.
    pub(super) fn heard_leader(&self) -> Time {
        let answered = match &self.phase {
            Phase::Reading { answers, .. } => answers.values().map(|known| known.leader).max(),
            _ => None,
        };
        self.leader_until.max(answered.unwrap_or_default())
    }

    /// Waits until `until`, and reads again.
    fn wait(&mut self, now: Time, until: Time, out: &mut Out) {
        emit(out, None, OwnEvent::Quarantined { until: until.max(now) });
        self.phase = Phase::Quarantine { until, read: Read::Fences };
        self.on_incarnation_due(now, out);
    }

    /// Whether the members in `whole` remember everything that this grantor may have forgotten:
    /// every quorum has one of them.
    fn is_whole_quorum(&self, whole: MemberSet) -> bool {
        !self.membership.quorums().is_possible(whole)
    }

    /// Whether every quorum has a member of `answered`. If this grantor is a quorum by itself, the
    /// answers of all others are enough.
    fn is_enough(&self, answered: MemberSet) -> bool {
        let all = self.others().minus(answered).is_empty();
        all || !self.membership.quorums().is_possible(answered)
    }
}
