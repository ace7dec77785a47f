//! The start of a grantor: up to its first grant, and up to its first lease that is longer than the
//! grantor's earlier `delta_max`.

use alloc::boxed::Box;
use core::time::Duration;

use super::super::epoch::Vote;
use super::super::event::OwnEvent;
use super::super::identity::Boot;
use super::super::memory::{Kept, Memory};
use super::super::record::Record;
use super::super::roster::Roster;
use super::super::words::{Effect, Out, emit};
use super::Grantor;
use super::election::ElectionState;
use super::fences::Fences;
use super::flush::{Flush, REWRITE};
use super::longer_leases::{Raise, Stage};
use super::memories::Memories;
use super::phase::{Phase, Read};
use super::proposals::Proposals;
use super::votes::Votes;
use crate::contract::Ticket;
use crate::fence::Fence;
use crate::time::Time;

impl Grantor {
    /// Begins an incarnation with the memory of earlier incarnations. The driver sampled `now`
    /// after it had locked the state directory; the quarantine is measured from `now`.
    pub(in super::super) fn on_start(&mut self, now: Time, memory: Memory, out: &mut Out) {
        self.instance = memory.instance;
        self.boot = Boot(memory.boot.0 + 1);
        self.delta_max = self.config.delta_max.max(memory.delta_max);
        self.started = now;
        self.raise = Raise::begin(now, &memory.kept, memory.delta_max, &self.config);
        self.fences = Fences::new(memory.reserve);
        // Leave out the marks of epoch 0 in later epochs, in which they would deny the memory of
        // each member that was replaced since (2.9.2). The marks stay on the disk.
        let kept = if self.is_upgraded() { memory.roster.as_slice() } else { &[] };
        self.memories = Memories::new(Roster::of(&self.membership, kept));
        self.joins = memory.kept == Kept::Nothing;
        self.enters = memory.enters;
        self.blank = memory.membership.is_none() && !memory.enters;
        self.wall = memory.wall;
        // At a very first start no member has seen another memory, and the documents of later
        // epochs name the memories. Then a memory needs no reports.
        self.says_memory = memory.kept != Kept::New && self.is_upgraded();
        let read = if self.joins { Read::Fences } else { Read::Nothing };
        // A grantor that asks others counts its wait from the instant at which enough members have
        // written down its memory.
        let forgets = memory.kept == Kept::Reserve;
        let inherited = now.after(memory.inherited);
        let quarantine = forgets.then(|| self.ended(self.delta_max).max(inherited));
        self.needs_table = forgets && !self.is_upgraded();
        self.votes = Votes::new(memory.vote);
        if let Some((_, next)) = self.votes.vote.accepted.as_ref().filter(|_| !self.blank) {
            emit(out, None, OwnEvent::Wedged { next: next.id().number });
        }
        self.await_decision(now);
        if let Kept::Grants(grants) = memory.kept {
            self.inherited.until = memory.rests_until;
            for record in grants {
                let election = record.election.clone();
                self.fences.note(record.fence_seen);
                self.last_finish = self.last_finish.max(record.finish);
                let state = Box::new(ElectionState::restore(record));
                self.elections.insert(election.clone(), state);
                self.schedule(&election);
            }
        }
        if let Some(until) = quarantine {
            emit(out, None, OwnEvent::Quarantined { until });
        }
        self.write_boot(now, quarantine, read, out);
    }

    /// The time at which all earlier leases of at most `delta_max` of this member have ended:
    /// leases from before this incarnation or, with a new memory, from before others wrote the new
    /// memory down.
    pub(super) fn ended(&self, delta_max: Duration) -> Time {
        let since = self.recorded.map_or(self.started, |recorded| recorded.since);
        since.after(self.outlasts(delta_max))
    }

    /// The longest time of a lease of `delta_max`, on this grantor's clock.
    pub(super) fn outlasts(&self, delta_max: Duration) -> Duration {
        self.config.clock_bound().outlasts(delta_max)
    }

    pub(super) fn write_boot(
        &mut self,
        now: Time,
        quarantine: Option<Time>,
        read: Read,
        out: &mut Out,
    ) {
        let allowed = self.raise.as_ref().map_or(self.delta_max, Raise::before);
        let flush = self.write_identity(now, allowed, out);
        self.phase = Phase::Opening { flush, quarantine, read };
    }

    /// Writes down this grantor's identity, and that it may give leases up to `delta_max`. If the
    /// memory names no members, the record names those of the settings: among these members the
    /// memory made its promises.
    pub(super) fn write_identity(
        &mut self,
        now: Time,
        delta_max: Duration,
        out: &mut Out,
    ) -> Flush {
        let flush = self.begin_flush(now);
        let (instance, boot) = (self.instance, self.boot);
        let enters = self.membership.record().filter(|_| self.enters);
        let identity = Record::Identity { instance, boot, delta_max, enters };
        out.push(Effect::Flush(flush.ticket, identity));
        flush
    }

    fn on_boot_written(&mut self, now: Time, quarantine: Option<Time>, read: Read, out: &mut Out) {
        let until = quarantine.unwrap_or(now);
        self.phase = Phase::Quarantine { until, read };
        self.on_incarnation_due(now, out);
    }

    pub(in super::super) fn on_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        self.records_written(out);
        if let Some(news) = self.writes.flushed(now, flushed, written) {
            emit(out, None, news);
        }
        match self.phase {
            Phase::Opening { flush, quarantine, read } if flush.ticket == flushed => {
                if written {
                    self.on_boot_written(now, quarantine, read, out);
                } else {
                    self.phase = Phase::Unwritten { at: now.after(REWRITE), quarantine, read };
                }
            }
            Phase::Storing { flush } if flush.ticket == flushed => {
                self.fences.settled(flushed, written);
                if written {
                    self.blank = false;
                    // Unless this memory is a founder's, a lost memory of this member may have
                    // voted here.
                    let vote = if self.is_founder() { Vote::NONE } else { Vote::BARRED };
                    self.votes = Votes::new(vote);
                    self.serve(now, out);
                } else {
                    self.phase = Phase::Unstored { at: now.after(REWRITE) };
                }
            }
            _ => self.fences.settled(flushed, written),
        }
        if written && self.phase == Phase::Serving {
            let wanted = self.fences.take_wanted();
            self.reserve_if_short(now, wanted, out);
        }
        self.raise_flushed(now, flushed, written, out);
        self.memories_flushed(now, flushed, written, out);
        self.vote_flushed(now, flushed, written, out);
        // The entry and the table come last, because each may write a record, and a failed record
        // drops every later effect.
        self.entry_flushed(now, flushed, written, out);
        self.begin_table(out);
    }

    pub(super) fn on_incarnation_due(&mut self, now: Time, out: &mut Out) {
        match self.phase {
            Phase::Quarantine { until, read } if now >= until => {
                if read != Read::Nothing {
                    emit(out, None, OwnEvent::Recovering);
                    self.read_fences(now, out);
                } else {
                    self.serve(now, out);
                }
            }
            Phase::Reading { again, .. } if now >= again => self.read_fences(now, out),
            Phase::Unstored { at } if now >= at => {
                self.store(now, out);
            }
            Phase::Unwritten { at, quarantine, read } if now >= at => {
                self.write_boot(now, quarantine, read, out);
            }
            _ => {}
        }
    }

    fn serve(&mut self, now: Time, out: &mut Out) {
        self.phase = Phase::Serving;
        self.serving_since = now;
        self.joins = false;
        if !self.is_wedged() {
            emit(out, None, OwnEvent::Serving);
        }
        self.tell_raise(out);
        self.reserve_if_short(now, self.fences.floor(), out);
        if self.says_memory {
            self.say_memory(now, out);
        } else {
            self.begin_to_say_memory(now);
        }
    }

    /// Begins the table of grants that a wait has made necessary. Call this before every grant, and
    /// after every flush of the same input, because a failed record drops every later effect.
    pub(super) fn begin_table(&mut self, out: &mut Out) {
        if self.phase == Phase::Serving && core::mem::take(&mut self.needs_table) {
            // The wait covered the leases of earlier epochs as well.
            self.put_table(Time::ZERO, out);
        }
    }

    /// Begins a table of grants of this epoch; leases of earlier epochs may last until `until`.
    pub(super) fn put_table(&mut self, until: Time, out: &mut Out) {
        self.writes.put_table();
        let epoch = self.membership.id();
        out.push(Effect::Persist(Record::Table { epoch, until }));
    }

    pub(in crate::nerio) fn reserve_if_short(&mut self, now: Time, highest: Fence, out: &mut Out) {
        if self.fences.is_short(highest) {
            self.reserve(now, highest, out);
        }
    }

    pub(super) fn reserve(&mut self, now: Time, highest: Fence, out: &mut Out) -> Flush {
        let flush = self.begin_flush(now);
        let high = self.fences.reserve_above(highest, flush, self.writes.any_now());
        out.push(Effect::Flush(flush.ticket, Record::Reserve { high }));
        flush
    }

    /// Writes the members of the epoch and the first reserve of fences, once the other members have
    /// told their fences. Until the record is durable, every start asks for them again.
    pub(super) fn store(&mut self, now: Time, out: &mut Out) {
        self.proposals = Proposals::default();
        let flush = self.begin_flush(now);
        let behind = self.writes.any_now();
        let floor = self.fences.reserve_above(self.fences.floor(), flush, behind);
        let record = match self.membership.record() {
            Some(document) => {
                // A memory that is no founder's replaces a lost memory, which may have voted here.
                let (inherited, votes) = (Duration::ZERO, self.is_founder());
                Record::Entered { document, floor, inherited, votes }
            }
            // The document is too long for the disk, so each start takes the document of the
            // settings.
            None => Record::Reserve { high: floor },
        };
        out.push(Effect::Flush(flush.ticket, record));
        self.phase = Phase::Storing { flush };
    }

    pub(super) fn longest(&self) -> Duration {
        self.raise.as_ref().map_or(self.config.delta_max, Raise::before)
    }

    pub(super) fn tell_raise(&self, out: &mut Out) {
        let Some(raise) = &self.raise else { return };
        if let Stage::Waiting { until } = raise.stage {
            let (before, delta_max) = (raise.before, self.delta_max);
            emit(out, None, OwnEvent::RaiseWaits { before, delta_max, until });
        }
    }

    pub(super) fn on_raise_due(&mut self, now: Time, out: &mut Out) {
        let due = self.raise.as_ref().and_then(Raise::due);
        if due.is_none_or(|due| now < due.at) {
            return;
        }
        let flush = self.write_identity(now, self.delta_max, out);
        if let Some(raise) = &mut self.raise {
            raise.stage = Stage::Writing { flush };
        }
    }

    pub(super) fn raise_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        let Some(raise) = &mut self.raise else { return };
        if raise.flush().is_none_or(|flush| flush.ticket != flushed) {
            return;
        }
        if written {
            self.raise = None;
            emit(out, None, OwnEvent::Raised { delta_max: self.delta_max });
        } else {
            raise.stage = Stage::Waiting { until: now.after(REWRITE) };
        }
    }
}
