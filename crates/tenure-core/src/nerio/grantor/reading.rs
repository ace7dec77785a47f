//! What a grantor without memory asks the others, and what the others answer.
//!
//! A lease that this grantor gave and forgot counts until the first of its quorum ends, and that
//! quorum meets every quorum of the others in a member that remembers, or that has waited itself
//! before it answers. So a full quorum of answers bounds the forgotten leases by the largest
//! `delta_max` among them, and the forgotten fences by the highest: `docs/decisions/lease-max.md`.

use alloc::collections::BTreeMap;

use super::super::config::Config;
use super::super::identity::Who;
use super::super::message::{FenceRead, Recall};
use super::super::quorum::MemberSet;
use super::phase::{Known, Missing, Read};
use super::*;

impl Grantor {
    /// Asks all others for their fences (the scalar fence, rule 4). Answers are kept over
    /// repetitions: whatever was answered after the quarantine ended is good.
    pub(super) fn read_fences(&mut self, now: Time, read: Read, out: &mut Out) {
        let (since, answers, told) = match &mut self.phase {
            Phase::Reading { since, answers, told, .. } => {
                (*since, core::mem::take(answers), *told)
            }
            _ => (now, BTreeMap::new(), None),
        };
        let told =
            if now > since { Some(self.tell_missing(read, &answers, told, out)) } else { None };
        for member in self.config.members.iter().filter(|member| member.name != self.name) {
            send(out, member.address, Message::FenceRead(FenceRead { start: since }));
        }
        let again = now.after(self.config.refresh);
        self.phase = Phase::Reading { since, again, read, answers, told };
        // In a cluster of one there is nobody to wait for.
        self.conclude(now, out);
    }

    /// Who has not answered yet, and who has nothing to tell: said once until it changes.
    fn tell_missing(
        &self,
        read: Read,
        answers: &BTreeMap<usize, Known>,
        told: Option<Missing>,
        out: &mut Out,
    ) -> Missing {
        let own = self.config.position(&self.name).into_iter().collect();
        let answered = answers.keys().copied().collect();
        let nothing = answers.iter().filter(|(_, known)| !known.recall.is_whole());
        let missing = Missing {
            read,
            led: self.led || answers.values().any(Known::knows_a_leader),
            silent: self.config.quorums.everyone().minus(own).minus(answered),
            unfounded: nothing.map(|(member, _)| *member).collect(),
        };
        if told != Some(missing) {
            let silent = self.config.named(missing.silent);
            let unfounded = self.config.named(missing.unfounded);
            let (founding, led) = (read == Read::Founding, missing.led);
            emit(out, None, OwnEvent::RecoveryWaits { founding, led, silent, unfounded });
        }
        missing
    }

    /// Only the answer of a grantor whose own memory is whole bounds anything. The others say
    /// that theirs is not, for those who found a cluster, and for people.
    pub(super) fn on_fence_read(&self, from: &Sender, start: Time, out: &mut Out) {
        let whole = if self.led { Recall::Led } else { Recall::Unled };
        let recall = match &self.phase {
            Phase::Serving | Phase::Quarantine { read: Read::Nothing, .. } => whole,
            // What it remembers may still be on its way from the disk.
            Phase::Unborn
            | Phase::Opening { read: Read::Nothing, .. }
            | Phase::Unwritten { read: Read::Nothing, .. } => return,
            Phase::Opening { .. }
            | Phase::Unwritten { .. }
            | Phase::Quarantine { .. }
            | Phase::Reading { .. }
            | Phase::Storing { .. }
            | Phase::Unstored { .. } => {
                if !ruling(Rule::RecoveringSilent) {
                    whole
                } else if self.led {
                    Recall::Lost
                } else {
                    Recall::Unfounded
                }
            }
        };
        // All elections are asked only where a rule is broken: this is answered in one step.
        let seen = if ruling(Rule::AnswerHasFloor) {
            self.fences.highest()
        } else {
            self.elections.values().map(|state| state.fence_seen).max().unwrap_or(Fence::NONE)
        };
        let (asker, delta_max) = (from.who.inc, self.delta_max);
        let answer = FenceSeen { asker, start, seen, delta_max, recall };
        send(out, from.address, Message::FenceSeen(answer));
    }

    pub(super) fn on_fence_seen(
        &mut self,
        now: Time,
        from: &Sender,
        seen: &FenceSeen,
        out: &mut Out,
    ) {
        let member = self.config.members.iter().position(|m| m.name == from.who.name);
        let own = from.who.name == self.name;
        let Phase::Reading { since, answers, .. } = &mut self.phase else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let Some(member) = member.filter(|_| !own && *since == seen.start) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let FenceSeen { seen, delta_max, recall, .. } = *seen;
        let delta_max = delta_max.min(Config::DELTA_MAX_MAX);
        let known = Known { seen, delta_max, recall };
        let knows = known.knows_a_leader();
        answers.insert(member, known);
        if knows && ruling(Rule::FoundingRefused) {
            self.not_founded(now, &from.who.name, out);
        }
        self.conclude(now, out);
    }

    /// Somebody leads, or did: this cluster is not new.
    pub(super) fn hear_of_leader(&mut self, now: Time, leader: &Who, out: &mut Out) {
        self.led = true;
        self.not_founded(now, &leader.name, out);
    }

    /// The cluster is not new, says `by`, so this memory was lost, and others may have been.
    fn not_founded(&mut self, now: Time, by: &NodeName, out: &mut Out) {
        let read = self.phase.read_mut().filter(|read| **read == Read::Founding);
        let asks = read.map(|read| *read = Read::Fences).is_some();
        // What was answered is being written down, or cannot be: nothing is granted by it yet.
        let stores = matches!(
            self.phase,
            Phase::Storing { read: Read::Founding, .. }
                | Phase::Unstored { read: Read::Founding, .. }
        ) && ruling(Rule::FoundingUntilGrant);
        if asks || stores {
            emit(out, None, OwnEvent::NotFounded { by: by.clone() });
        }
        if stores {
            self.read_fences(now, Read::Fences, out);
        }
    }

    /// Ends the read when enough members have answered.
    fn conclude(&mut self, now: Time, out: &mut Out) {
        let Phase::Reading { since, read, answers, .. } = &self.phase else { return };
        let (since, read) = (*since, *read);
        let counts = |known: &Known| known.recall.is_whole() || read == Read::Founding;
        let counted = || answers.iter().filter(|(_, known)| counts(known));
        if !self.is_enough(read, counted().map(|(member, _)| *member).collect()) {
            return;
        }
        let fences = counted().map(|(_, known)| known.seen);
        let highest = if ruling(Rule::ReadMaximum) { fences.max() } else { fences.min() };
        let others = counted().map(|(_, known)| known.delta_max).max();
        let longest = others.filter(|_| ruling(Rule::DeltaMaxOfOthers)).unwrap_or_default();
        let until = self.ended(longest.max(self.delta_max));
        if until > since && ruling(Rule::ReadAfterQuarantine) && ruling(Rule::Quarantine) {
            // A lease that was forgotten may still be live: read again when it is not.
            emit(out, None, OwnEvent::Quarantined { until: until.max(now) });
            self.phase = Phase::Quarantine { until, read };
            return self.on_incarnation_due(now, out);
        }
        self.fences.raise_floor(highest.unwrap_or(Fence::NONE));
        // A release may have opened elections since the start, at the floor of that moment.
        for state in self.elections.values_mut().filter(|_| ruling(Rule::ReadRaisesAll)) {
            state.raise_fence(self.fences.floor());
        }
        // The first reserve says that the read is done: until it is durable, every start reads
        // again.
        let flush = self.reserve(now, self.fences.floor(), out);
        self.phase = Phase::Storing { flush, read };
    }

    /// Whether the answers of `answered` are enough: a quorum of others meets every quorum that
    /// this grantor may have been part of. Where the others are none, in a cluster of one or two,
    /// those who found it need the answers of all of them.
    fn is_enough(&self, read: Read, mut answered: MemberSet) -> bool {
        let quorums = &self.config.quorums;
        let own = self.config.position(&self.name).into_iter().collect();
        let others = quorums.everyone().minus(own);
        let few = read == Read::Founding && !quorums.is_quorum(others);
        if !ruling(Rule::ReadOthers) {
            answered = answered.or(own);
        }
        quorums.is_quorum(answered)
            || (few && others.minus(answered).is_empty())
            || (read == Read::Founding && !ruling(Rule::FoundingByQuorum))
    }
}
