//! How leaders emerge, from top to bottom. Each section begins with the sentences of the text that
//! it carries out. The [module document](super) has the rulings, N1 to N7, T (`takeover`) and G
//! (the grace period after a claim).
//!
//! A process joins the group of its topic, and is assigned partitions. The process writes to every
//! partition again and again, and reads its own partitions from their ends. In `at_least_one` the
//! process leads a partition for T after the last record that it has read. In `at_most_one` the
//! process claims the partition first, and leads by records of its own that it reads back after the
//! claim. The roles of a partition are won and lost together.
//!
//! Beside this file, `node/` handles reports of the ledger and serves observers, and `slot/` keeps
//! the state of a partition.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::config::Config;
use super::context::Context;
use super::event::{Event, Ignored, OwnEvent, Void};
use super::identity::{Membership, Partition, Reading, RebalanceId, Role};
use super::message::{Change, Entry, Kind, Rebalance, Record, Request, Said, Target};
use super::node::{Group, GroupPhase, Nele};
use super::reader::Reader;
use super::slot::{Bid, Campaign, HeldClaim, Hold, Phase, Slot};
use super::words::{Effect, Out, emit};
use crate::event::{End, Loss};
use crate::time::Time;

// # Partitions and roles
//
// "To determine whether p is a leader for role Rj, p will compute k = j mod size(M)": the campaign
// for a role is kept with its partition.
impl Nele {
    /// Applies an input to a partition, handles its consequences and books the next deadline. Every
    /// input of a partition goes through here.
    pub(super) fn with_slot(
        &mut self,
        partition: Partition,
        out: &mut Out,
        act: impl FnOnce(&mut Slot, &mut Context<'_>),
    ) {
        let (slots, mut context) = self.context(out);
        let Some(slot) = slots.get_mut(&partition) else { return };
        let lately = context.now.before(context.config.silence());
        let read = slot.reads().map(|reads| reads.hearing(lately));
        let effects = context.out.len();
        act(slot, &mut context);
        slot.run_due(&mut context);
        let over = slot.is_idle();
        let based = slot.fence().map_or(0, Config::base_of);
        let due = slot.due(&context).filter(|_| !over);
        // A claim whose end moved is no news for observers.
        let news = |effect: &Effect| matches!(effect, Effect::Emit { .. });
        let changed = context.out.get(effects..).is_some_and(|new| new.iter().any(news));
        let booked = core::mem::replace(&mut slot.booked, due);
        let reads_on = slot.reads().map(|reads| reads.hearing(lately)) == read;
        if over {
            slots.remove(&partition);
        }
        if !reads_on {
            self.sight.look_for_gaps();
        }
        self.changed |= changed;
        self.log.based = self.log.based.max(based);
        self.slots.book(partition, booked, due);
    }

    pub(super) fn each_slot(
        &mut self,
        out: &mut Out,
        mut act: impl FnMut(&mut Slot, &mut Context<'_>),
    ) {
        let partitions: Vec<_> = self.slots.all.keys().copied().collect();
        for partition in partitions {
            self.with_slot(partition, out, &mut act);
        }
    }

    /// Ends a campaign or a leadership. After its last leadership the process leaves the group, and
    /// then reports the leadership as released. After any other end the process reports the release
    /// at once, because it keeps the partition.
    pub(super) fn finish(&mut self, role: Role, end: Option<End>, out: &mut Out) {
        let partition = self.config.partition_of(role);
        let mut led = false;
        self.with_slot(partition, out, |slot, context| {
            let Some(campaign) = slot.campaigns.get(&role) else { return };
            let own = if campaign.leads() { End::Lost(Loss::Resigned) } else { End::Withdrawn };
            let end = end.unwrap_or(own);
            led = slot.finish(role, end, context);
            if !led {
                emit(Some(&context.config.election_of(role)), Event::Released, context.out);
            }
        });
        if led {
            self.releases.insert(role);
        }
    }
}

// # The group
//
// "Each process p in P subscribes to C within a common, predefined consumer group. As per Kafka's
// partition assignment rules, a partition will be assigned to at most one consumer." (ruling 2)
impl Nele {
    /// Joins the group if a campaign waits, and leaves the group once there is no campaign.
    pub(super) fn group_work(&mut self, out: &mut Out) {
        if let GroupPhase::Leaving { until } = self.group.phase
            && until <= self.now
        {
            self.end_leaving(out);
        }
        let waiting = self.campaigns().any(|(_, campaign)| !campaign.leads());
        let none = self.campaigns().next().is_none();
        // Linger: an application that lost a role campaigns again once its work has ended.
        let linger = self.config.grace.saturating_add(self.config.publish_interval);
        let idle = none.then(|| self.group.idle.unwrap_or(self.now.after(linger)));
        self.group.idle = idle;
        match self.group.phase {
            GroupPhase::Out if waiting => self.join(out),
            GroupPhase::In { .. } if self.group.quits && none => self.depart(out),
            GroupPhase::In { .. } if idle.is_some_and(|idle| idle <= self.now) => self.depart(out),
            // Report releases at once: a member keeps the partition of an ended role, and a process
            // outside the group has no partition.
            GroupPhase::Out | GroupPhase::In { .. } => self.release(out),
            GroupPhase::Leaving { .. } => {}
        }
    }

    fn join(&mut self, out: &mut Out) {
        let membership = Membership(self.group.membership.0.saturating_add(1));
        self.group = Group {
            membership,
            phase: GroupPhase::In { heard: false },
            rebalance: self.group.rebalance,
            leaves: false,
            quits: false,
            idle: None,
        };
        self.log.beat.get_or_insert(self.now);
        self.context(out).1.request(Request::Join(membership));
    }

    pub(super) fn on_rebalance(&mut self, rebalance: Rebalance, out: &mut Out) {
        let Rebalance { membership, id, change, partitions } = rebalance;
        let ours = membership == self.group.membership && self.group.has_joined();
        if id <= self.group.rebalance || !ours {
            // Give back partitions of an earlier membership, too: no role depends on them.
            if change == Change::Revoked && id > self.group.rebalance {
                self.context(out).1.request(Request::GiveBack(id));
            }
            return emit(None, OwnEvent::Ignored(Ignored::OldRebalance), out);
        }
        self.group.rebalance = id;
        if let GroupPhase::In { heard } = &mut self.group.phase {
            *heard = true;
        }
        self.changed = true;
        for partition in partitions {
            self.change(partition, change, id, out);
        }
        // Leaderships that must end before partitions are given back have ended by now (rulings 2
        // and 11).
        if change == Change::Revoked {
            self.context(out).1.request(Request::GiveBack(id));
        }
    }

    fn change(&mut self, partition: Partition, change: Change, id: RebalanceId, out: &mut Out) {
        if partition.0 >= self.config.partitions {
            return emit(None, OwnEvent::Ignored(Ignored::NoPartition), out);
        }
        if change == Change::Assigned {
            self.slots.enter(partition);
        }
        let act = |slot: &mut Slot, context: &mut Context<'_>| match change {
            Change::Assigned => slot.assign(id, context),
            Change::Revoked => slot.unassign(false, context),
            Change::Lost => slot.unassign(true, context),
        };
        self.with_slot(partition, out, act);
    }
}

impl Slot {
    /// Takes the partition over, and reads it from its end (rulings 1 to 3).
    fn assign(&mut self, by: RebalanceId, context: &mut Context<'_>) {
        self.assigned = Some(context.now);
        self.reads = Some(Reader::begin(self.partition, by, context));
        self.drop_claim();
        emit(None, OwnEvent::Assigned { partition: self.partition }, context.out);
    }

    fn unassign(&mut self, lost: bool, context: &mut Context<'_>) {
        if self.assigned.take().is_none() {
            return;
        }
        self.reads = None;
        // Keep V, the time of the last record, for a leader: the leadership lasts until V + T
        // (ruling 1).
        if !self.campaigns.values().any(Campaign::leads) {
            self.news = None;
        }
        self.drop_claim();
        self.loss = if context.leaves { Loss::Resigned } else { Loss::Reassigned };
        emit(None, OwnEvent::Unassigned { partition: self.partition, lost }, context.out);
    }
}

// # Records
//
// "Each process in P continually publishes a message on all partitions in M. […] Crucial to the
// protocol is that no partition may 'dry up'."
impl Nele {
    /// Writes to every partition, if a beat is due and this process is a member or leads.
    pub(super) fn beat(&mut self, out: &mut Out) {
        let leads = self.campaigns().any(|(_, campaign)| campaign.leads());
        if self.group.is_out() && !leads {
            self.log.beat = None;
            return;
        }
        let due = *self.log.beat.get_or_insert(self.now);
        if due > self.now {
            return;
        }
        let next = due.after(self.config.publish_interval);
        let late = next <= self.now;
        let next = if late { self.now.after(self.config.publish_interval) } else { next };
        self.log.beat = Some(next);
        let stands = self.stands();
        let leads = self.leads();
        self.context(out).1.publish(Target::Every, Kind::Beat, stands, leads);
    }
}

// "Upon receival of a message m from C, p will assign the current machine time as observed by p to
// the vector element at the index corresponding to m's partition index."
impl Slot {
    /// Handles records of a reading. Returns whether they count: records of an earlier assignment
    /// are dropped (ruling 2).
    pub(super) fn on_records(
        &mut self,
        reading: Reading,
        records: &Vec<Record>,
        context: &mut Context<'_>,
    ) -> bool {
        let current = |reads: &&mut Reader| reads.is_open() && reads.reading == reading;
        let Some(reads) = self.reads.as_mut().filter(current) else {
            emit(None, OwnEvent::Ignored(Ignored::OldReading), context.out);
            return false;
        };
        reads.hears(context.now);
        if reads.repeats(records) {
            emit(None, OwnEvent::Ignored(Ignored::Repeated), context.out);
            return false;
        }
        self.trouble = None;
        for record in records {
            let next = self.reads.as_mut().map_or(0, |reads| reads.pass(record.offset));
            if context.by_claims() {
                self.weigh(record, next, reading, context);
            } else if record.offset >= next {
                // Any group's record refreshes V, the time of the last record (rulings 1, 3 and 9).
                self.news = Some(context.now);
            }
        }
        true
    }

    /// Handles an interrupted reading: a missed record may have been a claim.
    pub(super) fn on_broken(&mut self, reading: Reading, why: Arc<str>, context: &mut Context<'_>) {
        let Some(reads) = self.reads.as_mut().filter(|reads| reads.reading == reading) else {
            return emit(None, OwnEvent::Ignored(Ignored::OldReading), context.out);
        };
        reads.seek(context);
        self.trouble(why.clone(), context);
        self.void(Void::Broken { why }, context);
        self.drop_kept();
        if self.claim.bid == Bid::Idle && context.by_claims() {
            self.pause(context);
        }
    }

    /// Handles a reading that brings no records although records were written.
    fn on_stuck(&mut self, what: &str, context: &mut Context<'_>) {
        let why = format!("{what} for {:?}", context.config.takeover);
        if let Some(reading) = self.reads.as_ref().map(|reads| reads.reading) {
            self.on_broken(reading, why.into(), context);
        }
    }

    /// Runs expired timers, wins and loses roles, and publishes a due claim.
    pub(super) fn run_due(&mut self, context: &mut Context<'_>) {
        if self.reads_anew_at(context).is_some_and(|since| since <= context.now) {
            self.on_stuck("no record of it was read", context);
        }
        if let Some(reads) = &mut self.reads {
            reads.run_due(context);
        }
        self.win_and_lose_roles(context);
        self.bid(context);
        self.tell_waiting(context);
    }
}

// # Claims
//
// The text has no claims. In `at_most_one` the log decides, and the group only nominates (ruling
// 1): an owner claims the partition, and a later claim of another process of the group voids the
// owner's claim.
impl Slot {
    fn bid(&mut self, context: &mut Context<'_>) {
        if !context.by_claims() {
            return;
        }
        if let Bid::UnderWay { until, kept, reading, .. } = self.claim.bid
            && until <= context.now
        {
            self.claim.bid = Bid::Idle;
            // Claim again after a pause: another process may own the partition by now.
            self.pause(context);
            let reads = self.reads.as_ref();
            if kept && reads.is_some_and(|reads| reads.is_open() && reads.reading == reading) {
                self.on_stuck("its claim was written, and was not read back", context);
            }
        }
        if let Bid::Due(at) = self.claim.bid
            && at <= context.now
        {
            self.claim.bid = Bid::Idle;
        }
        if self.claim.bid != Bid::Idle || self.has_slept(context) {
            return;
        }
        let Some(reading) = self.wants(context) else { return };
        let number = context.claim(self.partition);
        let until = context.now.after(context.config.takeover);
        self.claim.bid = Bid::UnderWay { number, reading, until, kept: false };
    }

    /// Returns the reading through which this process would read its claim back, if the process
    /// should claim now. The partition must be assigned, be read from a known end, and have a role
    /// that is not won (N5).
    fn wants(&self, context: &Context<'_>) -> Option<Reading> {
        self.assigned?;
        let reads = self.reads.as_ref().filter(|reads| reads.is_open())?;
        let waiting = self.campaigns.values().any(|campaign| !campaign.leads());
        let needed = self.claim.held.is_none_or(|held| held.spent || held.is_barren(context));
        (waiting && needed && context.now < Time::MAX).then_some(reads.reading)
    }

    /// Checks a record against the claim of this process.
    fn weigh(&mut self, record: &Record, next: u64, reading: Reading, context: &mut Context<'_>) {
        if record.offset != next {
            // A missing record may be a claim.
            self.void(Void::Jump { next, came: record.offset }, context);
        }
        if let Some(held) = &mut self.claim.held {
            // A truncated log no longer shows the leaders of the earlier epoch (ruling 10).
            held.spent |= held.epoch != record.epoch;
        }
        match &record.said {
            Said::Nothing => {}
            Said::Entry(entry) if entry.sender == *context.me => {
                self.weigh_own(record, entry, reading, context);
            }
            Said::Entry(entry) if entry.is_formed() => {
                let Entry { election, group, .. } = entry;
                // Another group or election only shares the topic (rulings 5 and 9).
                let ours = *election == context.config.election && *group == context.config.group;
                if entry.kind == Kind::Claim && ours {
                    self.void(Void::Claimed { by: Some(entry.sender.clone()) }, context);
                }
            }
            Said::Entry(_) | Said::Unreadable => self.void(Void::Claimed { by: None }, context),
        }
    }

    /// Handles a record of this process that was read back. A record of this incarnation proves
    /// that no other process has claimed since this process did. The proof holds for T from the
    /// send of the record (ruling 1).
    fn weigh_own(
        &mut self,
        record: &Record,
        entry: &Entry,
        reading: Reading,
        context: &mut Context<'_>,
    ) {
        let sent = context.sent.at(entry.number);
        self.claim.own = self.claim.own.max(sent);
        // The first copy of the claim ends the bid. A later copy counts as a beat.
        if entry.kind == Kind::Claim && self.claim.bid.is(entry.number, reading) {
            return self.read_back(record, context);
        }
        if let Some(held) = &mut self.claim.held {
            held.evidence = held.evidence.max(sent);
        }
    }

    /// Handles the claim of this process, read back: its offset and the leader epoch of its batch
    /// make the fence (ruling 10).
    fn read_back(&mut self, record: &Record, context: &mut Context<'_>) {
        self.claim.bid = Bid::Idle;
        let Record { offset, epoch, .. } = *record;
        let Some(fence) = context.config.fence(epoch, offset) else {
            self.pause(context);
            if self.claim.fenceless.replace((epoch, offset)).is_none() {
                let partition = self.partition;
                emit(None, OwnEvent::NoFence { partition, epoch, offset }, context.out);
            }
            return;
        };
        self.claim.fenceless = None;
        self.claim.held = Some(match self.claim.held {
            // No other process has claimed since the first claim: only the fence changes.
            Some(held) if held.epoch == epoch => HeldClaim { fence, epoch, spent: false, ..held },
            // Another process may have lost its claim with the truncated epoch, and may lead by
            // that claim for T.
            Some(held) => {
                let renewed = context.now;
                let begins = held.begins.max(context.now.after(held.grace));
                HeldClaim { fence, epoch, renewed, begins, spent: false, ..held }
            }
            None => {
                let since = context.now;
                let grace = context.config.grace_period();
                HeldClaim {
                    since,
                    grace,
                    renewed: context.now,
                    begins: since.after(grace),
                    fence,
                    epoch,
                    evidence: None,
                    spent: false,
                }
            }
        });
        if self.claim.held.is_some_and(|held| held.is_barren(context)) {
            // Claim again only after another record of this process was read back.
            self.pause(context);
        }
    }

    /// Voids the claim, if there is one. After a claim of another process, pauses before the next
    /// claim: the partition may be assigned to that process already.
    pub(super) fn void(&mut self, why: Void, context: &mut Context<'_>) {
        let Some(held) = self.claim.held.take() else {
            if matches!(why, Void::Claimed { by: Some(_) }) {
                self.pause(context);
            }
            return;
        };
        let over = held.until(context).is_none_or(|until| until <= context.now);
        self.loss = match &why {
            Void::Claimed { .. } => Loss::Reassigned,
            Void::Jump { .. } | Void::Broken { .. } if over => Loss::Expired,
            Void::Jump { .. } | Void::Broken { .. } => Loss::Reset,
        };
        self.pause(context);
        emit(None, OwnEvent::ClaimVoid { partition: self.partition, why }, context.out);
    }
}

// # Leaders
//
// "If the timestamp at any of vector element i is current — in other words, it is more recent than
// some predefined constant threshold T that lags the current time — then p is a leader for Mi."
//
// With claims a role is won from `HeldClaim::begins` on, else with the first record. A lead ends T
// (`takeover`) after its last record, or after the evidence of its claim: `Slot::until`,
// `HeldClaim::until`. The end needs no answer of the broker.
impl Slot {
    /// End and fence of this process's lead over the partition, if it leads now.
    fn current_hold(&self, context: &Context<'_>) -> Option<Hold> {
        if context.by_claims() {
            self.assigned?;
            let held = self.claim.held?;
            return Some(Hold { until: held.leads(context)?, fence: Some(held.fence) });
        }
        let until = self.until(context).filter(|until| context.now < *until)?;
        Some(Hold { until, fence: None })
    }

    /// Wins roles, extends leaderships, and ends them when the partition is lost.
    fn win_and_lose_roles(&mut self, context: &mut Context<'_>) {
        self.drop_old_news(context);
        if let Some(held) = &mut self.claim.held {
            held.wait_for_all(context);
        }
        let hold = self.current_hold(context);
        let waits = self.claim.held.is_some_and(|held| held.begins > context.now);
        let roles: Vec<Role> = self.campaigns.keys().copied().collect();
        for role in roles {
            let spent = self.claim.held.is_some_and(|held| held.spent);
            let Some(campaign) = self.campaigns.get_mut(&role) else { continue };
            match (&mut campaign.phase, hold) {
                (Phase::Waiting, Some(_)) if waits => {}
                (Phase::Waiting, Some(hold)) if !spent => {
                    // Without an assignment, leaders go on to their end, and no leadership begins.
                    if self.assigned.is_some() {
                        self.win(role, hold, context);
                    }
                }
                (Phase::Leading { until, fence, .. }, Some(hold)) if hold.until > *until => {
                    *until = hold.until;
                    let until = *until;
                    let fence = *fence;
                    let election = context.config.election_of(role);
                    context.out.push(Effect::Raise { election, until, fence });
                    self.tell_settled(role, context);
                }
                (Phase::Leading { .. }, None) => {
                    // The lease has run out: no other process has to confirm this end.
                    self.finish(role, End::Lost(self.loss), context);
                    self.emit(role, Event::Released, context);
                }
                (Phase::Waiting | Phase::Leading { .. }, _) => {}
            }
        }
    }

    /// Drops V, the time of the last record, once it is older than T.
    fn drop_old_news(&mut self, context: &mut Context<'_>) {
        let over = self.until(context).is_some_and(|until| until <= context.now);
        if !over {
            return;
        }
        if self.news_until(context).is_some_and(|until| until <= context.now) {
            self.news = None;
            self.loss = match self.assigned {
                Some(_) => Loss::Expired,
                None if context.leaves => Loss::Resigned,
                None => Loss::Reassigned,
            };
        }
        let ends = self.campaigns.values().any(Campaign::leads);
        if context.by_claims() && ends {
            // Claim after a pause: a process that was stopped first reads the records that came
            // meanwhile.
            self.pause(context);
            self.loss = Loss::Expired;
        }
    }

    fn win(&mut self, role: Role, hold: Hold, context: &mut Context<'_>) {
        let Hold { until, fence } = hold;
        let Some(campaign) = self.campaigns.get_mut(&role) else { return };
        // The leadership is settled with a lease of T less two beats. The first lease may be
        // shorter: it may rest on an old record.
        let beats = context.config.publish_interval.saturating_mul(2);
        let full = Some(context.now.after(context.config.takeover.saturating_sub(beats)));
        campaign.phase = Phase::Leading { until, fence, full };
        campaign.waits = None;
        let election = context.config.election_of(role);
        context.out.push(Effect::Raise { election, until, fence });
        let id = context.config.id.clone().into();
        self.emit(role, Event::Elected { id, fence }, context);
        self.tell_settled(role, context);
    }
}

// # Departure
//
// "Processes and roles may be added and removed without reconfiguration of the group." (ruling 11)
impl Nele {
    /// Leaves the group and gives up all partitions.
    pub(super) fn depart(&mut self, out: &mut Out) {
        let leave = Request::Leave(self.group.membership);
        self.group.leaves = true;
        self.each_slot(out, |slot, context| slot.unassign(false, context));
        // Write now, so that others learn at once that this process no longer leads.
        self.log.beat = Some(self.now);
        let until = self.now.after(self.config.max_poll_interval);
        self.group.phase = GroupPhase::Leaving { until };
        self.context(out).1.request(leave);
    }

    /// Handles the answer to a departure, or its timeout.
    pub(super) fn on_left(&mut self, membership: Membership, out: &mut Out) {
        let leaving = matches!(self.group.phase, GroupPhase::Leaving { .. });
        if leaving && membership == self.group.membership {
            self.end_leaving(out);
        } else {
            emit(None, OwnEvent::Ignored(Ignored::Repeated), out);
        }
    }

    fn end_leaving(&mut self, out: &mut Out) {
        self.group.phase = GroupPhase::Out;
        self.release(out);
    }

    /// Reports that others know of the ended leaderships.
    fn release(&mut self, out: &mut Out) {
        for role in core::mem::take(&mut self.releases) {
            emit(Some(&self.config.election_of(role)), Event::Released, out);
        }
    }
}
