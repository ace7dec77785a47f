//! Reports of memories among the members: a grantor writes down the memories of others, reports its
//! own, and stops granting once a later memory of its member is known.

use alloc::vec::Vec;

use super::super::body::{FenceRead, FenceSeen};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::{Boot, Mark};
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::record::Record;
use super::super::roster::{Entry, Roster};
use super::super::words::{Effect, Out, emit, send};
use super::Grantor;
use super::flush::{Flush, REWRITE};
use super::phase::Phase;
use crate::contract::Ticket;
use crate::time::Time;

/// Refresh intervals between two reports of a serving grantor's memory to members that have not
/// written it down.
const REFRESHES: u32 = 8;
/// Refresh intervals between two reports once all members have written this memory down. The
/// reports go on, because the answers tell of a later memory.
const REFRESHES_KNOWN: u32 = 64;

impl Grantor {
    pub(super) fn own_position(&self) -> usize {
        self.membership.position(&self.who.name).unwrap_or(usize::MAX)
    }

    /// This grantor's position; empty if it is no member.
    fn own(&self) -> MemberSet {
        self.membership.position(&self.who.name).into_iter().collect()
    }

    pub(super) fn others(&self) -> MemberSet {
        self.membership.everyone().minus(self.own())
    }

    /// The other member that sent a message. A sender that names itself as a member and is not
    /// recognized is ignored.
    pub(super) fn other_member(&self, from: &Sender) -> Option<usize> {
        let named = self.membership.position(&from.who.name)?;
        (from.proved && from.who.name != self.who.name).then_some(named)
    }

    pub(super) fn roster(&self) -> Roster {
        let mut roster = self.memories.durable.clone();
        let own = roster.at(self.own_position()).filter(|entry| entry.instance == self.instance);
        roster.set(self.own_position(), own.unwrap_or(Entry::new(self.instance)));
        roster
    }

    /// The marks of the memories that this grantor has written down, which its oks carry.
    pub(in crate::nerio) fn marks(&self) -> Vec<Mark> {
        self.memories.durable.marks()
    }

    /// Notes a sender that asks for fences, for whichever epoch: the sender may be a blank.
    pub(in crate::nerio) fn hear_blank(&mut self, now: Time, from: &Sender) {
        self.changes.hear(now, from);
    }

    /// Handles a member's report of its memory: answers once the reported memory is durable.
    pub(super) fn on_fence_read(
        &mut self,
        now: Time,
        from: &Sender,
        read: &FenceRead,
        out: &mut Out,
    ) {
        self.hear_blank(now, from);
        if !self.is_upgraded() || self.is_wedged() {
            // Do not answer while wedged: the answer could let a member that has lost its memory
            // serve again. The member might then vote or grant against the successor that its lost
            // memory had accepted.
            return emit(out, None, OwnEvent::Ignored(Ignored::NotServing));
        }
        let Some(member) = self.other_member(from).filter(|_| read.record) else {
            return self.answer_read(now, from, read.start, out);
        };
        let is_news = self.memories.add(member, Entry::new(read.instance));
        self.note_news(now, is_news);
        if self.memories.has_written(member) {
            return self.answer_read(now, from, read.start, out);
        }
        self.memories.asked.insert(member, (from.clone(), read.start));
        self.write_memories(now, out);
    }

    /// Writes down the memories heard of, if no such write is under way.
    pub(super) fn write_memories(&mut self, now: Time, out: &mut Out) {
        let waits = self.memories.pending.is_some() || self.memories.write_at.is_some();
        if waits || self.memories.is_written() || self.boot == Boot(0) {
            return;
        }
        let flush = self.begin_flush(now);
        let record = Record::Roster(self.memories.heard.named(&self.membership));
        self.memories.pending = Some((flush, self.memories.heard.clone()));
        out.push(Effect::Flush(flush.ticket, record));
    }

    pub(super) fn memories_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        let this = |(flush, _): &mut (Flush, Roster)| flush.ticket == flushed;
        let Some((_, roster)) = self.memories.pending.take_if(this) else { return };
        if !written {
            self.memories.write_at = Some(now.after(REWRITE));
            return;
        }
        let was = self.is_founder();
        self.memories.durable = roster;
        if self.is_founder() && !was {
            emit(out, None, OwnEvent::Founded);
        }
        self.begin_to_say_memory(now);
        for (member, (from, start)) in core::mem::take(&mut self.memories.asked).iter() {
            // If the member asked while another write was under way, its own memory is not durable
            // yet.
            if self.memories.has_written(*member) {
                self.answer_read(now, from, *start, out);
            } else {
                self.memories.asked.insert(*member, (from.clone(), *start));
            }
        }
        self.write_memories(now, out);
        self.try_to_serve_again(now, out);
    }

    pub(super) fn on_memories_due(&mut self, now: Time, out: &mut Out) {
        if self.memories.write_at.take_if(|at| now >= *at).is_some() {
            self.write_memories(now, out);
        }
        if self.memories.say_at.is_some_and(|at| now >= at) {
            self.say_memory(now, out);
        }
    }

    /// Reports this grantor's memory to members that have not written it down. Once all members
    /// have written it down, reports it to all, less often. The answer of a member names a later
    /// memory of this member, if there is one. The oks of that member keep this grantor out of
    /// quorums.
    pub(super) fn say_memory(&mut self, now: Time, out: &mut Out) {
        let missing = self.others().minus(self.memories.confirmed);
        self.memories.say_at = None;
        let is_told = self.is_upgraded() && !self.is_wedged();
        if self.others().is_empty() || self.phase != Phase::Serving || !is_told {
            return;
        }
        let (to, refreshes) = match missing.is_empty() {
            true => (self.others(), REFRESHES_KNOWN),
            false => (missing, REFRESHES),
        };
        self.say_again(now, refreshes);
        for member in to.iter() {
            let read = FenceRead { start: now, instance: self.instance, record: true };
            send(out, self.membership.to(member), read);
        }
    }

    /// A grantor of a new cluster begins to report its memory once it has written down another
    /// member's memory. Only the answers to its reports tell whether that member has a later memory
    /// by now. Until this grantor learns that, its oks name the earlier memory, and so keep that
    /// member out of quorums.
    pub(super) fn begin_to_say_memory(&mut self, now: Time) {
        let knows = self.memories.durable().entries().next().is_some();
        if knows && self.phase == Phase::Serving && self.memories.say_at.is_none() {
            self.say_again(now, REFRESHES_KNOWN);
        }
    }

    /// Schedules the next report of this grantor's memory, after so many refresh intervals.
    fn say_again(&mut self, now: Time, refreshes: u32) {
        let period = self.config.refresh.saturating_mul(refreshes);
        self.memories.say_at = Some(now.after(period)).filter(|at| *at < Time::MAX);
    }

    /// Takes the memories that `member` has written down, from its answer.
    pub(super) fn hear_roster(
        &mut self,
        now: Time,
        member: usize,
        seen: &FenceSeen,
        out: &mut Out,
    ) {
        let own = seen.roster.at(self.own_position());
        let mut roster = seen.roster.clone();
        if !seen.whole {
            // Do not write down the new memory of the member that answers: its directory may only
            // be missing for now. The member itself asks for the write when it is needed.
            roster.clear(member);
        }
        let is_news = self.memories.hear(&roster);
        self.note_news(now, is_news);
        match own.map(|entry| entry.instance.cmp(&self.instance)) {
            Some(core::cmp::Ordering::Equal) => {
                self.memories.confirmed = self.memories.confirmed.with(member);
            }
            Some(core::cmp::Ordering::Greater) if !self.joins => self.replaced(out),
            Some(_) | None => {}
        }
        self.write_memories(now, out);
    }

    /// Notes that a newer memory was heard of: earlier answers to the present questions may be
    /// older than that memory.
    const fn note_news(&mut self, now: Time, is_news: bool) {
        if is_news {
            self.news_at = now;
        }
        if let Phase::Reading { news, .. } = &mut self.phase {
            *news |= is_news;
        }
    }

    /// Whether a later memory of this member is known.
    pub(super) const fn is_replaced(&self) -> bool {
        matches!(self.phase, Phase::Replaced)
    }

    /// Stops granting for good: a later memory of this member is known, so no candidate counts oks
    /// of this memory.
    fn replaced(&mut self, out: &mut Out) {
        if !self.is_replaced() {
            self.phase = Phase::Replaced;
            emit(out, None, OwnEvent::Replaced);
        }
    }

    /// Gives this grantor's memory a later number, if no member relies on the memory yet and others
    /// know a later memory of this member. A memory that has accepted a founding keeps its number,
    /// as the founding names it. A promise of the memory stays in force under the later number.
    pub(super) fn becomes_later(&mut self) -> bool {
        if self.has_accepted_founding() {
            return false;
        }
        let Some(known) = self.memories.heard.at(self.own_position()) else { return false };
        let earlier = known.instance > self.instance;
        let Some(later) = self.instance.after(known.instance).filter(|_| earlier) else {
            return false;
        };
        self.instance = later;
        self.memories.confirmed = MemberSet::EMPTY;
        true
    }
}
