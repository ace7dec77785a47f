//! From the start of a grantor to its first grant.

use alloc::collections::BTreeMap;

use super::super::identity::Boot;
use super::super::message::FenceRead;
use super::super::quorum::MemberSet;
use super::*;

/// How long a grantor that could not write its boot down waits before it tries again.
const REWRITE: core::time::Duration = core::time::Duration::from_secs(1);

impl Grantor {
    /// Begins a life with what is remembered of the ones before. `now` was sampled after the
    /// lock on the state directory was held: the quarantine counts from it.
    pub(in super::super) fn on_start(&mut self, now: Time, memory: Memory, out: &mut Out) {
        self.instance = memory.instance;
        self.boot = Boot(memory.boot.0 + 1);
        let ever =
            if ruling(Rule::DeltaMaxEver) { memory.delta_max } else { self.config.delta_max };
        self.delta_max = self.config.delta_max.max(ever);
        self.fences = Fences::new(memory.reserve);
        let wait = match (ruling(Rule::QuarantineStretches), ruling(Rule::QuarantineNotShrunk)) {
            (true, true) => self.config.drift.stretch(self.delta_max),
            (false, _) => self.delta_max,
            (true, false) => self.config.drift.shrink(self.delta_max),
        };
        let quarantine = (ruling(Rule::Quarantine)
            && matches!(memory.kept, Kept::Reserve | Kept::Nothing))
        .then(|| now.after(wait));
        let must_read = memory.kept == Kept::Nothing && ruling(Rule::FenceRead);
        if let Kept::Grants(grants) = memory.kept {
            for record in grants {
                let election = record.election.clone();
                self.offices.insert(election.clone(), Office::restore(record));
                self.schedule(&election);
            }
        }
        if let Some(until) = quarantine {
            emit(out, None, Event::Quarantined { until });
        }
        self.write_boot(now, quarantine, must_read, out);
    }

    fn write_boot(&mut self, now: Time, quarantine: Option<Time>, must_read: bool, out: &mut Out) {
        let (instance, boot, delta_max) = (self.instance, self.boot, self.delta_max);
        let ticket = self.next_ticket();
        let identity = Record::Identity { instance, boot, delta_max };
        out.push(super::super::node::Effect::Flush(ticket, identity));
        self.life = Life::Opening { ticket, quarantine, must_read };
        if !ruling(Rule::BootDurable) {
            self.open(now, quarantine, must_read, out);
        }
    }

    /// The boot is written down.
    fn open(&mut self, now: Time, quarantine: Option<Time>, must_read: bool, out: &mut Out) {
        let until = quarantine.unwrap_or(now);
        self.life = Life::Quarantine { until, must_read };
        self.on_life_due(now, out);
    }

    /// A flush has ended, well or not.
    pub(in super::super) fn on_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        self.settle(out);
        if self.writes.flushed(now, written) {
            emit(out, None, if written { Event::DiskMended } else { Event::DiskFailed });
        }
        match self.life {
            Life::Opening { ticket, quarantine, must_read } if ticket == flushed => {
                if written {
                    self.open(now, quarantine, must_read, out);
                } else {
                    self.life = Life::Unwritten { at: now.after(REWRITE), quarantine, must_read };
                }
            }
            Life::Storing { ticket } if ticket == flushed => {
                self.fences.settled(flushed, written);
                if written {
                    self.serve(now, out);
                } else {
                    self.life = Life::Unstored { at: now.after(REWRITE) };
                }
            }
            _ => self.fences.settled(flushed, written),
        }
    }

    /// Whatever stage of the start is due at `now`.
    pub(super) fn on_life_due(&mut self, now: Time, out: &mut Out) {
        match self.life {
            Life::Quarantine { until, must_read } if now >= until => {
                if must_read {
                    emit(out, None, Event::Recovering);
                    if !ruling(Rule::ReserveAfterRead) {
                        self.reserve_if_short(self.fences.floor(), out);
                    }
                    self.read_fences(now, out);
                } else {
                    self.serve(now, out);
                }
            }
            Life::Quarantine { must_read: true, .. } if !ruling(Rule::ReadAfterQuarantine) => {
                self.read_fences(now, out);
            }
            Life::Reading { again, .. } if now >= again => self.read_fences(now, out),
            Life::Unstored { at } if now >= at => {
                let ticket = self.reserve(self.fences.floor(), out);
                self.life = Life::Storing { ticket };
            }
            Life::Unwritten { at, quarantine, must_read } if now >= at => {
                self.write_boot(now, quarantine, must_read, out);
            }
            _ => {}
        }
    }

    fn serve(&mut self, now: Time, out: &mut Out) {
        self.life = Life::Serving;
        self.serving_since = now;
        emit(out, None, Event::Serving);
        self.reserve_if_short(self.fences.floor(), out);
    }

    /// Makes the next reserve durable in time.
    pub(super) fn reserve_if_short(&mut self, highest: Fence, out: &mut Out) {
        if self.fences.is_short(highest) {
            self.reserve(highest, out);
        }
    }

    pub(super) fn reserve(&mut self, highest: Fence, out: &mut Out) -> Ticket {
        let ticket = self.next_ticket();
        let record = self.fences.reserve_above(highest, ticket);
        out.push(super::super::node::Effect::Flush(ticket, record));
        ticket
    }

    /// Asks all others for their fences (the scalar fence, rule 4). Answers are kept over
    /// repetitions: whatever was answered after the quarantine ended is good.
    fn read_fences(&mut self, now: Time, out: &mut Out) {
        let (since, answers) = match &mut self.life {
            Life::Reading { since, answers, .. } => (*since, core::mem::take(answers)),
            _ => (now, BTreeMap::new()),
        };
        for member in self.config.members.iter().filter(|member| member.name != self.name) {
            send(out, member.address, Message::FenceRead(FenceRead { start: since }));
        }
        let again = now.after(self.config.refresh);
        self.life = Life::Reading { since, again, answers };
    }

    /// Only a grantor whose own memory is whole may answer.
    pub(super) fn on_fence_read(&self, from: &Sender, start: Time, out: &mut Out) {
        let whole = match &self.life {
            Life::Serving | Life::Quarantine { must_read: false, .. } => true,
            Life::Unborn
            | Life::Opening { .. }
            | Life::Unwritten { .. }
            | Life::Quarantine { .. }
            | Life::Reading { .. }
            | Life::Storing { .. }
            | Life::Unstored { .. } => !ruling(Rule::RecoveringSilent),
        };
        if whole {
            let floor = self.fences.floor();
            let floor = if ruling(Rule::AnswerHasFloor) { floor } else { Fence::NONE };
            let seen =
                self.offices.values().map(|office| office.fence_seen).fold(floor, Fence::max);
            send(
                out,
                from.address,
                Message::FenceSeen(FenceSeen { asker: from.who.inc, start, seen }),
            );
        }
    }

    pub(super) fn on_fence_seen(&mut self, from: &Sender, seen: &FenceSeen, out: &mut Out) {
        let member = self.config.members.iter().position(|m| m.name == from.who.name);
        let own = from.who.name == self.name;
        let Life::Reading { since, answers, .. } = &mut self.life else {
            return emit(out, None, Event::Ignored(Ignored::Unasked));
        };
        let Some(member) = member.filter(|_| !own && *since == seen.start) else {
            return emit(out, None, Event::Ignored(Ignored::Unasked));
        };
        answers.insert(member, seen.seen);
        let mut answered: MemberSet = answers.keys().copied().collect();
        if let Some(own) = self.config.position(&self.name).filter(|_| !ruling(Rule::ReadOthers)) {
            answered = answered.with(own);
        }
        if !self.config.quorums.is_quorum(answered) {
            return;
        }
        let read = answers.values().copied();
        let highest = if ruling(Rule::ReadMaximum) { read.max() } else { read.min() };
        let highest = highest.unwrap_or(Fence::NONE);
        self.fences.raise_floor(highest);
        // A release may have opened offices since the start, at the floor of that moment.
        for office in self.offices.values_mut().filter(|_| ruling(Rule::ReadRaisesAll)) {
            office.raise_fence(self.fences.floor());
        }
        // The first reserve says that the read is done: until it is durable, every start reads
        // again.
        let ticket = self.reserve(self.fences.floor(), out);
        self.life = Life::Storing { ticket };
    }
}
