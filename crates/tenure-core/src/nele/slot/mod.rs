//! One partition, and the roles that it decides on.

mod claim;
mod lead;
mod waits;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use claim::{Bid, Held};
pub(super) use lead::{Campaign, Phase};

use super::context::Context;
use super::event::{Event, Ignored, OwnEvent, Void};
use super::identity::{Partition, Reading, RebalanceId, Role};
use super::message::{Entry, Kind, Record, Said};
use super::reads::Reads;
use super::words::emit;
use crate::event::Loss;
use crate::fence::Fence;
use crate::standing::Standing;
use crate::time::Time;

/// One partition: whether it is this process's, what was read of it, and its roles for which this
/// process stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Slot {
    partition: Partition,
    /// Since when it belongs to this process, if it does.
    assigned: Option<Time>,
    reads: Option<Reads>,
    /// V: when something was read of it last (`at_least_one`).
    news: Option<Time>,
    bid: Bid,
    held: Option<Held>,
    /// When the last own record was sent that was read back (`at_most_one`).
    own: Option<Time>,
    /// Why the last claim had no fence.
    fenceless: Option<(Option<u32>, u64)>,
    /// Why it cannot be read, as it was told last.
    trouble: Option<Arc<str>>,
    /// Why what was led ends, once it does.
    loss: Loss,
    pub(super) campaigns: BTreeMap<Role, Campaign>,
    /// When something is due here, as it was put down.
    pub(super) booked: Option<Time>,
}

/// Until when a partition is led.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub(super) until: Time,
    pub(super) fence: Option<Fence>,
}

impl Slot {
    pub(super) fn new(partition: Partition) -> Self {
        Self {
            partition,
            assigned: None,
            reads: None,
            news: None,
            bid: Bid::Idle,
            held: None,
            own: None,
            fenceless: None,
            trouble: None,
            loss: Loss::Expired,
            campaigns: BTreeMap::new(),
            booked: None,
        }
    }

    pub(super) const fn is_assigned(&self) -> bool {
        self.assigned.is_some()
    }

    /// Whether it is read, or about to be.
    pub(super) const fn is_read(&self) -> bool {
        self.reads.is_some()
    }

    /// That of its claim.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.held.as_ref().map(Held::fence)
    }

    /// How it is read.
    pub(super) const fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    /// Whether nothing is left of it.
    pub(super) fn is_idle(&self) -> bool {
        let free = self.assigned.is_none() && self.reads.is_none() && self.news.is_none();
        let bare = self.held.is_none() && !matches!(self.bid, Bid::Asked { .. });
        free && bare && self.campaigns.is_empty()
    }

    /// It belongs to this process from now on (rulings 1 to 3).
    pub(super) fn assign(&mut self, by: RebalanceId, context: &mut Context<'_>) {
        self.assigned = Some(context.now);
        self.reads = Some(Reads::begin(self.partition, by, context));
        self.release();
        emit(None, OwnEvent::Assigned { partition: self.partition }, context.out);
    }

    /// It belongs to this process no more.
    pub(super) fn unassign(&mut self, lost: bool, context: &mut Context<'_>) {
        if self.assigned.take().is_none() {
            return;
        }
        self.reads = None;
        // What is led is led on until V + T (ruling 1).
        if !self.campaigns.values().any(Campaign::leads) {
            self.news = None;
        }
        self.release();
        self.loss = if context.leaves { Loss::Resigned } else { Loss::Reassigned };
        emit(None, OwnEvent::Unassigned { partition: self.partition, lost }, context.out);
    }

    /// The end of the partition was found, or was not.
    pub(super) fn on_position(
        &mut self,
        reading: Reading,
        end: Result<u64, Arc<str>>,
        context: &mut Context<'_>,
    ) {
        let Some(reads) = &mut self.reads else { return old_reading(context) };
        let waited = match &end {
            Ok(end) => reads.found(reading, *end, context.now),
            Err(_) => reads.missed(reading, context),
        };
        match end {
            _ if !waited => old_reading(context),
            Ok(_) => {}
            Err(why) => self.trouble(why, context),
        }
    }

    /// It cannot be read on from where it was: what came next may have been a claim.
    pub(super) fn on_broken(&mut self, reading: Reading, why: Arc<str>, context: &mut Context<'_>) {
        let Some(reads) = self.reads.as_mut().filter(|reads| reads.reading == reading) else {
            return old_reading(context);
        };
        reads.seek(context);
        self.trouble(why.clone(), context);
        self.void(Void::Broken { why }, context);
        self.drop_kept();
        if self.bid == Bid::Idle && context.by_claims() {
            self.pause(context);
        }
    }

    /// What was written is there, and is not read: something stands in the way.
    fn is_stuck(&mut self, what: &str, context: &mut Context<'_>) {
        let why = format!("{what} for {:?}", context.config.takeover);
        if let Some(reading) = self.reads.as_ref().map(|reads| reads.reading) {
            self.on_broken(reading, why.into(), context);
        }
    }

    /// What is the same as before, and nothing was read since, is not told again.
    fn trouble(&mut self, why: Arc<str>, context: &mut Context<'_>) {
        if self.trouble.as_ref() == Some(&why) {
            return;
        }
        self.trouble = Some(why.clone());
        emit(None, OwnEvent::Trouble { partition: self.partition, why }, context.out);
    }

    /// Records were read. Says whether they count.
    pub(super) fn on_records(
        &mut self,
        reading: Reading,
        records: &Vec<Record>,
        context: &mut Context<'_>,
    ) -> bool {
        // What was read under an earlier assignment is dropped (ruling 2).
        let current = |reads: &&mut Reads| reads.is_open() && reads.reading == reading;
        let Some(reads) = self.reads.as_mut().filter(current) else {
            old_reading(context);
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
                // Somebody writes, of whichever group: V is now (rulings 1, 3 and 9).
                self.news = Some(context.now);
            }
        }
        true
    }

    /// What a record means for a claim (ruling 1).
    fn weigh(&mut self, record: &Record, next: u64, reading: Reading, context: &mut Context<'_>) {
        if record.offset != next {
            // What is missing may be a claim.
            self.void(Void::Jump { next, came: record.offset }, context);
        }
        if let Some(held) = &mut self.held {
            // Where the log was truncated, who has led meanwhile is not in it any more (ruling 10).
            held.spent |= held.epoch != record.epoch;
        }
        match &record.said {
            Said::Nothing => {}
            Said::Entry(entry) if entry.sender == *context.me => {
                self.weigh_own(record, entry, reading, context);
            }
            Said::Entry(entry) if entry.is_formed() => {
                let Entry { election, group, .. } = entry;
                // Of another group, or election, it shares only the topic (rulings 5 and 9).
                let ours = *election == context.config.election && *group == context.config.group;
                if entry.kind == Kind::Claim && ours {
                    self.void(Void::Claimed { by: Some(entry.sender.clone()) }, context);
                }
            }
            // It may be a claim.
            Said::Entry(_) | Said::Unreadable => self.void(Void::Claimed { by: None }, context),
        }
    }

    /// What time brings, and what follows from what has just happened: who leads is settled, and a
    /// claim is made if one is due.
    pub(super) fn work(&mut self, context: &mut Context<'_>) {
        if self.silent(context).is_some_and(|since| since <= context.now) {
            self.is_stuck("nothing of it was read", context);
        }
        if let Some(reads) = &mut self.reads {
            reads.work(context);
        }
        self.settle(context);
        self.bid(context);
        self.tell_waiting(context);
    }

    /// When it is read anew, because nothing is read of it: as every member writes to every
    /// partition, a reader that is told nothing may not come beyond something that it cannot read.
    /// With campaigns a claim, or what it leads by, is not read back, and shows that sooner
    /// (`at_most_one`), but where a claim is not made before something is read.
    fn silent(&self, context: &Context<'_>) -> Option<Time> {
        let claims = context.by_claims() && !self.campaigns.is_empty();
        let claims = claims && !self.has_slept(context);
        let heard = self.reads.as_ref().filter(|_| !claims)?;
        // Who was stopped has not been told nothing: it did not listen.
        let listens = context.woke.map_or(Time::ZERO, |woke| woke.after(context.config.silence()));
        Some(heard.heard()?.after(context.config.takeover).max(listens))
    }

    /// When something is due.
    pub(super) fn due(&self, context: &Context<'_>) -> Option<Time> {
        let seek = self.reads.as_ref().and_then(|reads| reads.due());
        let silent = self.silent(context);
        let hold = self.until(context);
        let begins = self.held.as_ref().map(Held::begins);
        let dues = [seek, silent, hold, begins, self.bid.due()];
        dues.into_iter().flatten().filter(|due| *due > context.now && *due < Time::MAX).min()
    }

    /// Whether this process leads a role.
    pub(super) fn standing(&self, role: Role, now: Time) -> Standing {
        match self.campaigns.get(&role).map(|campaign| &campaign.phase) {
            Some(Phase::Leading { until, fence, .. }) if now < *until => {
                Standing::Leading { until: *until, fence: *fence }
            }
            _ => Standing::NotLeading,
        }
    }

    fn emit(&self, role: Role, event: impl Into<Event>, context: &mut Context<'_>) {
        let election = context.config.election_of(role);
        emit(Some(&election), event, context.out);
    }
}

fn old_reading(context: &mut Context<'_>) {
    emit(None, OwnEvent::Ignored(Ignored::OldReading), context.out);
}
