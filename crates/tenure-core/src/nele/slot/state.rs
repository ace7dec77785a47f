//! `Slot`: its parts, and the questions that need several of them: claims lost on the way, readers
//! without records, a process that was stopped.

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
    /// The time at which the partition was assigned to this process; `None` while it is not
    /// assigned.
    pub(in crate::nele) assigned: Option<Time>,
    pub(in crate::nele) reads: Option<Reader>,
    /// V, the time of the last record that was read (`at_least_one`).
    pub(in crate::nele) news: Option<Time>,
    pub(in crate::nele) claim: SlotClaim,
    /// The last reported reason why the partition cannot be read.
    pub(in crate::nele) trouble: Option<Arc<str>>,
    /// The reason that is reported when the leaderships of the partition end.
    pub(in crate::nele) loss: Loss,
    pub(in crate::nele) campaigns: BTreeMap<Role, Campaign>,
    /// The deadline that the node has booked for this slot.
    pub(in crate::nele) booked: Option<Time>,
}

/// End and fence of a lead over a partition.
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

    /// Reports a trouble, unless the same trouble was reported since the last record.
    pub(in crate::nele) fn trouble(&mut self, why: Arc<str>, context: &mut Context<'_>) {
        if self.trouble.as_ref() == Some(&why) {
            return;
        }
        self.trouble = Some(why.clone());
        emit(None, OwnEvent::Trouble { partition: self.partition, why }, context.out);
    }

    /// Handles the ledger's answer to a claim: the offset, or `None` after a failure.
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
        // The process will read the claim back if its offset is ahead of the reading (ruling 3).
        let comes = offset.is_some_and(|offset| next.is_some_and(|next| offset >= next));
        if let Bid::UnderWay { kept, .. } = &mut self.claim.bid {
            *kept = comes;
        }
        if comes {
            return;
        }
        self.claim.bid = Bid::Idle;
        // A claim of an earlier assignment needs no pause.
        if next.is_some() {
            self.pause(context);
        }
    }

    /// Whether this process was stopped after the partition was assigned, and has not read back any
    /// record that it wrote later. The log may hold another process's claim ahead of such a record.
    pub(in crate::nele) fn has_slept(&self, context: &Context<'_>) -> bool {
        self.assigned.zip(context.woke).is_some_and(|(assigned, woke)| {
            assigned < woke && self.claim.own.is_none_or(|sent| sent < woke)
        })
    }

    /// The time at which the partition is read anew because no record comes. Every member writes to
    /// every partition, so the reader may be stuck. In `at_most_one` a campaign notices a stuck
    /// reader sooner, by a claim or evidence that is not read back.
    pub(in crate::nele) fn reads_anew_at(&self, context: &Context<'_>) -> Option<Time> {
        let claims = context.by_claims() && !self.campaigns.is_empty();
        let claims = claims && !self.has_slept(context);
        let heard = self.reads.as_ref().filter(|_| !claims)?;
        // A stopped process did not listen.
        let listens = context.woke.map_or(Time::ZERO, |woke| woke.after(context.config.silence()));
        Some(heard.heard()?.after(context.config.takeover).max(listens))
    }

    /// Makes the next claim after a pause, unless a claim is under way.
    pub(in crate::nele) fn pause(&mut self, context: &Context<'_>) {
        if !matches!(self.claim.bid, Bid::UnderWay { .. }) {
            // Draw the pause: two processes that both believe that they own the partition must not
            // claim in step (ruling 1).
            self.claim.bid = Bid::Due(context.spaced(context.config.publish_interval, "claim"));
        }
    }

    /// Drops the claim when the assignment ends or changes, but goes on waiting for a claim under
    /// way.
    pub(in crate::nele) fn drop_claim(&mut self) {
        self.claim.held = None;
        self.claim.fenceless = None;
        match self.claim.bid {
            Bid::Due(_) => self.claim.bid = Bid::Idle,
            Bid::Idle | Bid::UnderWay { .. } => self.drop_kept(),
        }
    }

    /// Stops waiting for a claim that was appended and will never be read.
    pub(in crate::nele) fn drop_kept(&mut self) {
        if matches!(self.claim.bid, Bid::UnderWay { kept: true, .. }) {
            self.claim.bid = Bid::Idle;
        }
    }

    /// Ends a campaign or a leadership. Returns whether the process led.
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

    /// The time until which the present news would let this process lead the partition, whether it
    /// leads yet or not.
    pub(in crate::nele) fn until(&self, context: &Context<'_>) -> Option<Time> {
        if context.by_claims() {
            return self.claim.held.and_then(|held| held.until(context));
        }
        self.news_until(context)
    }

    /// The latest news plus T (`takeover`).
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
