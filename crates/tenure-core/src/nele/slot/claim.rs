//! Claims to a partition, and what shows that nobody has claimed it since (`at_most_one`).

use core::time::Duration;

use super::Slot;
use crate::event::Loss;
use crate::fence::Fence;
use crate::nele::context::Context;
use crate::nele::event::{OwnEvent, Void};
use crate::nele::identity::{EntryNumber, Reading};
use crate::nele::message::{Entry, Kind, Record};
use crate::nele::words::emit;
use crate::time::Time;

/// A claim that is to be made, or was made and is not read back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Bid {
    /// There is none.
    Idle,
    /// None is made before.
    Due(Time),
    /// One was published.
    Asked {
        number: EntryNumber,
        /// What was read then: it counts only if it is read back by that.
        reading: Reading,
        /// Then it is given up.
        until: Time,
        /// It was appended where it is to be read.
        kept: bool,
    },
}

/// A claim that was read back, and is not void.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Held {
    /// When the first of these claims was read back.
    since: Time,
    /// G: how long it waits from then at least.
    grace: Duration,
    /// When the first of those of the present leader epoch was.
    renewed: Time,
    /// Nobody takes office before: G after that, and longer where others of the group have a longer
    /// T. Who leads already goes on.
    begins: Time,
    /// Of the last one.
    fence: Fence,
    /// The leader epoch of its batch.
    pub(super) epoch: Option<u32>,
    /// When the latest own record was sent that was read back after the claim.
    evidence: Option<Time>,
    /// Nobody takes office by it any more (ruling 10): its fence was used, by one that leads no
    /// more, or something was read of another leader epoch, which may have had another leader.
    pub(super) spent: bool,
}

impl Bid {
    pub(super) const fn due(&self) -> Option<Time> {
        match *self {
            Self::Idle => None,
            Self::Due(at) | Self::Asked { until: at, .. } => Some(at),
        }
    }
}

impl Held {
    /// From when on somebody may take office by it.
    pub(super) const fn begins(&self) -> Time {
        self.begins
    }

    /// Who takes office has waited for all of whom it has heard by then.
    pub(super) fn wait_for_all(&mut self, context: &Context<'_>) {
        let grace = context.heard.grace(self.renewed, context.config);
        self.begins = self.begins.max(self.renewed.after(grace));
    }

    /// Until when it leads by what was read back, from when its grace period is over.
    pub(super) fn until(&self, context: &Context<'_>) -> Option<Time> {
        Some(self.evidence?.after(context.config.takeover))
    }

    /// The same if it leads now, or may.
    pub(super) fn leads(&self, context: &Context<'_>) -> Option<Time> {
        let until = self.until(context)?;
        let waited = self.since.after(self.grace) <= context.now;
        (waited && context.now < until).then_some(until)
    }

    /// Nobody can take office by it as it is: nothing of its own was read back lately.
    fn is_barren(&self, context: &Context<'_>) -> bool {
        let over = self.until(context).is_none_or(|until| until <= context.now);
        over && self.begins() <= context.now
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }
}

impl Slot {
    /// The claim, if there is one, counts no more. Who hears of another's makes none at once: the
    /// partition may be that one's, and this process not know it yet.
    pub(super) fn void(&mut self, why: Void, context: &mut Context<'_>) {
        let Some(held) = self.held.take() else {
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

    /// The partition is this process's no more, or is anew: a claim to it counts no more, and one
    /// that is under way is waited for.
    pub(super) fn release(&mut self) {
        self.held = None;
        self.fenceless = None;
        match self.bid {
            Bid::Due(_) => self.bid = Bid::Idle,
            Bid::Idle | Bid::Asked { .. } => self.drop_kept(),
        }
    }

    /// A claim that was appended, and will not be read any more, is waited for no longer.
    pub(super) fn drop_kept(&mut self) {
        if matches!(self.bid, Bid::Asked { kept: true, .. }) {
            self.bid = Bid::Idle;
        }
    }

    /// The next claim is made after a pause, unless one is under way.
    pub(super) fn pause(&mut self, context: &Context<'_>) {
        if !matches!(self.bid, Bid::Asked { .. }) {
            // Two that hold themselves for the owner do not claim in one step (ruling 1).
            self.bid = Bid::Due(context.spaced(context.config.publish_interval, "claim"));
        }
    }

    /// An own record was read back. Only what this run of the process wrote shows that nobody has
    /// claimed since, and it counts from when it was sent (ruling 1).
    pub(super) fn weigh_own(
        &mut self,
        record: &Record,
        entry: &Entry,
        reading: Reading,
        context: &mut Context<'_>,
    ) {
        let sent = context.sent.at(entry.number);
        self.own = self.own.max(sent);
        // A copy of a claim that was read back before is none.
        if entry.kind == Kind::Claim && self.is_asked(entry.number, reading) {
            return self.read_back(record, context);
        }
        if let Some(held) = &mut self.held {
            held.evidence = held.evidence.max(sent);
        }
    }

    /// Whether this is the claim that is waited for.
    fn is_asked(&self, claim: EntryNumber, read: Reading) -> bool {
        match self.bid {
            Bid::Asked { number, reading, .. } => number == claim && reading == read,
            Bid::Idle | Bid::Due(_) => false,
        }
    }

    /// The own claim was read back.
    fn read_back(&mut self, record: &Record, context: &mut Context<'_>) {
        self.bid = Bid::Idle;
        let Record { offset, epoch, .. } = *record;
        let Some(fence) = context.config.fence(epoch, offset) else {
            self.pause(context);
            if self.fenceless.replace((epoch, offset)).is_none() {
                let partition = self.partition;
                emit(None, OwnEvent::NoFence { partition, epoch, offset }, context.out);
            }
            return;
        };
        self.fenceless = None;
        self.held = Some(match self.held {
            // Nobody else has claimed it since the first one: only the fence is new.
            Some(held) if held.epoch == epoch => Held { fence, epoch, spent: false, ..held },
            // One whose claim was lost with the epoch before may take office by it for T still.
            Some(held) => {
                let (renewed, begins) = (context.now, context.now.after(held.grace));
                let begins = held.begins.max(begins);
                Held { fence, epoch, renewed, begins, spent: false, ..held }
            }
            None => {
                let (since, renewed) = (context.now, context.now);
                let grace = context.config.grace_period();
                let (begins, evidence) = (since.after(grace), None);
                Held { since, grace, renewed, begins, fence, epoch, evidence, spent: false }
            }
        });
        if self.held.is_some_and(|held| held.is_barren(context)) {
            // It is to have what it lacks first.
            self.pause(context);
        }
    }

    /// What became of a claim.
    pub(in crate::nele) fn on_published(
        &mut self,
        claim: EntryNumber,
        offset: Option<u64>,
        context: &Context<'_>,
    ) {
        let Bid::Asked { number, reading, .. } = self.bid else { return };
        if number != claim {
            return;
        }
        let reads = self.reads.as_ref().filter(|reads| reads.reading == reading);
        let next = reads.and_then(super::Reads::next);
        // It is read back if it comes where reading goes on (ruling 3).
        let comes = offset.is_some_and(|offset| next.is_some_and(|next| offset >= next));
        if let Bid::Asked { kept, .. } = &mut self.bid {
            *kept = comes;
        }
        if comes {
            return;
        }
        self.bid = Bid::Idle;
        // One that was under way when the partition was assigned anew need not be waited for.
        if next.is_some() {
            self.pause(context);
        }
    }

    /// Makes a claim, if there is reason and time for one.
    pub(super) fn bid(&mut self, context: &mut Context<'_>) {
        if !context.by_claims() {
            return;
        }
        if let Bid::Asked { until, kept, reading, .. } = self.bid
            && until <= context.now
        {
            self.bid = Bid::Idle;
            // What it was to replace may have become void just now.
            self.pause(context);
            let reads = self.reads.as_ref();
            if kept && reads.is_some_and(|reads| reads.is_open() && reads.reading == reading) {
                self.is_stuck("its claim was written, and was not read back", context);
            }
        }
        if let Bid::Due(at) = self.bid
            && at <= context.now
        {
            self.bid = Bid::Idle;
        }
        if self.bid != Bid::Idle || self.has_slept(context) {
            return;
        }
        let Some(reading) = self.wants(context) else { return };
        let number = context.claim(self.partition);
        let until = context.now.after(context.config.takeover);
        self.bid = Bid::Asked { number, reading, until, kept: false };
    }

    /// Whether this process was stopped when the partition was its own, and has read nothing since
    /// that it wrote after that: somebody else's claim may lie before it.
    pub(super) fn has_slept(&self, context: &Context<'_>) -> bool {
        self.assigned.zip(context.woke).is_some_and(|(assigned, woke)| {
            assigned < woke && self.own.is_none_or(|sent| sent < woke)
        })
    }

    /// By which reading a claim is to be read back, if there is reason for one: the partition is
    /// this process's, is read from a known end, and decides on a role that somebody waits for
    /// (N5).
    fn wants(&self, context: &Context<'_>) -> Option<Reading> {
        self.assigned?;
        let reads = self.reads.as_ref().filter(|reads| reads.is_open())?;
        let waiting = self.campaigns.values().any(|campaign| !campaign.leads());
        let needed = self.held.is_none_or(|held| held.spent || held.is_barren(context));
        (waiting && needed && context.now < Time::MAX).then_some(reads.reading)
    }
}
