//! `Slot`: its parts, and the questions that need several of them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::campaign::{Campaign, Phase};
use super::claim::{Bid, SlotClaim};
use crate::event::{End, Loss};
use crate::fence::Fence;
use crate::nele::context::Context;
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::identity::{EntryNumber, Partition, Reading, Role};
use crate::nele::reader::Reader;
use crate::nele::words::{Effect, emit};
use crate::standing::Standing;
use crate::time::Time;

/// A partition, and its roles for which this process stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) struct Slot {
    pub(in crate::nele) partition: Partition,
    /// The partition is assigned to this process since this time, if it is.
    pub(in crate::nele) assigned: Option<Time>,
    pub(in crate::nele) reads: Option<Reader>,
    /// V: the time of the last record that was read (`at_least_one`).
    pub(in crate::nele) news: Option<Time>,
    pub(in crate::nele) claim: SlotClaim,
    /// The reason for which the partition cannot be read, as it was reported last.
    pub(in crate::nele) trouble: Option<Arc<str>>,
    /// The reason of the end of its leaderships, once they end.
    pub(in crate::nele) loss: Loss,
    pub(in crate::nele) campaigns: BTreeMap<Role, Campaign>,
    /// The deadline as the node keeps it.
    pub(in crate::nele) booked: Option<Time>,
}

/// The lead of a partition: its end, and its fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::nele) struct Hold {
    pub(in crate::nele) until: Time,
    pub(in crate::nele) fence: Option<Fence>,
}

impl Slot {
    pub(in crate::nele) fn new(partition: Partition) -> Self {
        Self {
            partition,
            assigned: None,
            reads: None,
            news: None,
            claim: SlotClaim::default(),
            trouble: None,
            loss: Loss::Expired,
            campaigns: BTreeMap::new(),
            booked: None,
        }
    }

    pub(in crate::nele) const fn is_assigned(&self) -> bool {
        self.assigned.is_some()
    }

    pub(in crate::nele) const fn is_read(&self) -> bool {
        self.reads.is_some()
    }

    pub(in crate::nele) fn fence(&self) -> Option<Fence> {
        self.claim.held.map(|held| held.fence)
    }

    pub(in crate::nele) const fn reads(&self) -> Option<&Reader> {
        self.reads.as_ref()
    }

    pub(in crate::nele) fn is_idle(&self) -> bool {
        let free = self.assigned.is_none() && self.reads.is_none() && self.news.is_none();
        let bare = self.claim.held.is_none() && !matches!(self.claim.bid, Bid::UnderWay { .. });
        free && bare && self.campaigns.is_empty()
    }

    pub(in crate::nele) fn on_position(
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

    /// Reports a trouble, unless it is the same as before without a record since.
    pub(in crate::nele) fn trouble(&mut self, why: Arc<str>, context: &mut Context<'_>) {
        if self.trouble.as_ref() == Some(&why) {
            return;
        }
        self.trouble = Some(why.clone());
        emit(None, OwnEvent::Trouble { partition: self.partition, why }, context.out);
    }

    /// The ledger has acknowledged a claim at this offset, or has not.
    pub(in crate::nele) fn on_published(
        &mut self,
        claim: EntryNumber,
        offset: Option<u64>,
        context: &Context<'_>,
    ) {
        let Bid::UnderWay { number, reading, .. } = self.claim.bid else { return };
        if number != claim {
            return;
        }
        let reads = self.reads.as_ref().filter(|reads| reads.reading == reading);
        let next = reads.and_then(Reader::next);
        // The process reads the claim back if it lies ahead of the reading (ruling 3).
        let comes = offset.is_some_and(|offset| next.is_some_and(|next| offset >= next));
        if let Bid::UnderWay { kept, .. } = &mut self.claim.bid {
            *kept = comes;
        }
        if comes {
            return;
        }
        self.claim.bid = Bid::Idle;
        // A claim from before a new assignment needs no pause after it.
        if next.is_some() {
            self.pause(context);
        }
    }

    /// Whether this process was stopped while the partition was assigned to it, and has not read
    /// back a record that it wrote after that: the log may hold a claim of another process before
    /// this record.
    pub(in crate::nele) fn has_slept(&self, context: &Context<'_>) -> bool {
        self.assigned.zip(context.woke).is_some_and(|(assigned, woke)| {
            assigned < woke && self.claim.own.is_none_or(|sent| sent < woke)
        })
    }

    /// The time at which the partition is read anew, because no record comes: as every member
    /// writes to every partition, the reader may be stuck. With campaigns, in `at_most_one`, a
    /// claim or evidence that is not read back shows that sooner, unless a claim has to wait for a
    /// record.
    pub(in crate::nele) fn reads_anew_at(&self, context: &Context<'_>) -> Option<Time> {
        let claims = context.by_claims() && !self.campaigns.is_empty();
        let claims = claims && !self.has_slept(context);
        let heard = self.reads.as_ref().filter(|_| !claims)?;
        // A process that was stopped did not listen.
        let listens = context.woke.map_or(Time::ZERO, |woke| woke.after(context.config.silence()));
        Some(heard.heard()?.after(context.config.takeover).max(listens))
    }

    /// Makes the next claim after a pause, unless a claim is under way.
    pub(in crate::nele) fn pause(&mut self, context: &Context<'_>) {
        if !matches!(self.claim.bid, Bid::UnderWay { .. }) {
            // Two processes that both believe to own the partition do not claim in one step (ruling
            // 1).
            self.claim.bid = Bid::Due(context.spaced(context.config.publish_interval, "claim"));
        }
    }

    /// The assignment of the partition has ended or changed: its claim counts no more. A claim that
    /// is under way is waited for.
    pub(in crate::nele) fn drop_claim(&mut self) {
        self.claim.held = None;
        self.claim.fenceless = None;
        match self.claim.bid {
            Bid::Due(_) => self.claim.bid = Bid::Idle,
            Bid::Idle | Bid::UnderWay { .. } => self.drop_kept(),
        }
    }

    /// Stops waiting for a claim that was appended and will not be read any more.
    pub(in crate::nele) fn drop_kept(&mut self) {
        if matches!(self.claim.bid, Bid::UnderWay { kept: true, .. }) {
            self.claim.bid = Bid::Idle;
        }
    }

    /// A campaign or a leadership is over. Returns whether it led.
    pub(in crate::nele) fn finish(
        &mut self,
        role: Role,
        end: End,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(campaign) = self.campaigns.remove(&role) else { return false };
        let led = campaign.leads();
        if led {
            let election = context.config.election_of(role);
            context.out.push(Effect::Lower { election });
            if let Some(held) = &mut self.claim.held {
                held.spent = true;
            }
        }
        self.emit(role, Event::Ended(end), context);
        led
    }

    pub(in crate::nele) fn tell_settled(&mut self, role: Role, context: &mut Context<'_>) {
        let Some(campaign) = self.campaigns.get_mut(&role) else { return };
        let Phase::Leading { until, full, .. } = &mut campaign.phase else { return };
        if full.take_if(|full| *until >= *full).is_some() {
            self.emit(role, Event::Settled, context);
        }
    }

    /// The time until which the partition could be led by the present news, whether or not the lead
    /// has begun.
    pub(in crate::nele) fn until(&self, context: &Context<'_>) -> Option<Time> {
        if context.by_claims() {
            return self.claim.held.and_then(|held| held.until(context));
        }
        self.news_until(context)
    }

    /// T after the latest news.
    pub(in crate::nele) fn news_until(&self, context: &Context<'_>) -> Option<Time> {
        Some(self.news?.after(context.config.takeover))
    }

    pub(in crate::nele) fn due(&self, context: &Context<'_>) -> Option<Time> {
        let seek = self.reads.as_ref().and_then(|reads| reads.due());
        let read = self.reads_anew_at(context);
        let hold = self.until(context);
        let begins = self.claim.held.map(|held| held.begins);
        let dues = [seek, read, hold, begins, self.claim.bid.due()];
        dues.into_iter().flatten().filter(|due| *due > context.now && *due < Time::MAX).min()
    }

    pub(in crate::nele) fn standing(&self, role: Role, now: Time) -> Standing {
        match self.campaigns.get(&role).map(|campaign| &campaign.phase) {
            Some(Phase::Leading { until, fence, .. }) if now < *until => {
                Standing::Leading { until: *until, fence: *fence }
            }
            _ => Standing::NotLeading,
        }
    }

    pub(in crate::nele) fn emit(
        &self,
        role: Role,
        event: impl Into<Event>,
        context: &mut Context<'_>,
    ) {
        let election = context.config.election_of(role);
        emit(Some(&election), event, context.out);
    }
}

fn old_reading(context: &mut Context<'_>) {
    emit(None, OwnEvent::Ignored(Ignored::OldReading), context.out);
}
