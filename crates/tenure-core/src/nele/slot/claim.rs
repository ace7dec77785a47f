//! Claims to a partition, and what shows that nobody has claimed it since (`at_most_one`).

use core::time::Duration;

use super::Slot;
use crate::event::Loss;
use crate::fence::Fence;
use crate::nele::config::Mode;
use crate::nele::context::Context;
use crate::nele::event::{OwnEvent, Void};
use crate::nele::identity::{EntryNumber, Reading};
use crate::nele::message::{Entry, Kind, Record};
use crate::nele::rule::{Rule, ruling};
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
        reading: Option<Reading>,
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
        let since = if ruling(Rule::GraceOfEpoch) { self.renewed } else { self.since };
        let grace = context.heard.grace(since, context.config);
        self.begins = self.begins.max(since.after(grace));
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
        over && self.begins() <= context.now && ruling(Rule::SilentReadAnew)
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
        if matches!(self.bid, Bid::Asked { kept: true, .. }) && ruling(Rule::KeptIsKnown) {
            self.bid = Bid::Idle;
        }
    }

    /// The next claim is made after a pause, unless one is under way.
    pub(super) fn pause(&mut self, context: &Context<'_>) {
        if !matches!(self.bid, Bid::Asked { .. }) {
            self.bid = Bid::Due(match ruling(Rule::ClaimsSpaced) {
                true => context.spaced(context.config.publish_interval, "claim"),
                false => context.now,
            });
        }
    }

    /// An own record was read back.
    pub(super) fn weigh_own(
        &mut self,
        record: &Record,
        entry: &Entry,
        reading: Reading,
        context: &mut Context<'_>,
    ) {
        let sent = context.sent.at(entry.number);
        self.own = self.own.max(sent);
        if entry.kind == Kind::Claim && self.is_asked(entry.number, reading) {
            return self.read_back(record, context);
        }
        if let Some(sent) = sent {
            self.evidence(match ruling(Rule::EvidenceFromSent) {
                true => sent,
                false => context.now,
            });
        }
    }

    /// Whether this is the claim that is waited for.
    fn is_asked(&self, claim: EntryNumber, read: Reading) -> bool {
        match self.bid {
            Bid::Asked { number, reading, .. } => {
                number == claim && (reading == Some(read) || !ruling(Rule::ClaimedAnew))
            }
            Bid::Idle | Bid::Due(_) => false,
        }
    }

    /// The own claim was read back.
    fn read_back(&mut self, record: &Record, context: &mut Context<'_>) {
        self.bid = Bid::Idle;
        let Record { offset, epoch, .. } = *record;
        let number = match ruling(Rule::FenceFromLedger) {
            true => epoch,
            false => self.assigned.and_then(|assigned| u32::try_from(assigned.by.0).ok()),
        };
        let Some(fence) = context.config.fence(number, offset) else {
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
            Some(held) if held.epoch == epoch || !ruling(Rule::GraceOfEpoch) => {
                Held { fence, epoch, spent: false, ..held }
            }
            // One whose claim was lost with the epoch before may take office by it for T still.
            Some(held) => {
                let (renewed, begins) = (context.now, context.now.after(held.grace));
                let begins = held.begins.max(begins);
                Held { fence, epoch, renewed, begins, spent: false, ..held }
            }
            None => {
                let assigned = self.assigned.map_or(context.now, |assigned| assigned.at);
                let read = ruling(Rule::GraceFromReadBack);
                let since = if read { context.now } else { assigned };
                let grace = context.config.grace_period();
                let begins = since.after(grace);
                let (renewed, evidence) = (since, None);
                Held { since, grace, renewed, begins, fence, epoch, evidence, spent: false }
            }
        });
        if self.held.is_some_and(|held| held.is_barren(context)) {
            // It is to have what it lacks first.
            self.pause(context);
        }
    }

    /// An own record that was sent then came after the claim.
    pub(super) fn evidence(&mut self, sent: Time) {
        if let Some(held) = &mut self.held {
            held.evidence = held.evidence.max(Some(sent));
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
        let open = self.reads.as_ref().filter(|reads| reads.is_open());
        let next = open.filter(|reads| reading == Some(reads.reading)).and_then(super::Reads::next);
        // It is read back if it comes where reading goes on.
        let comes = offset.is_some_and(|offset| next.is_some_and(|next| offset >= next));
        if let Bid::Asked { kept, .. } = &mut self.bid {
            *kept = comes;
        }
        if comes || !ruling(Rule::ClaimMissed) {
            return;
        }
        self.bid = Bid::Idle;
        // One that was under way when the partition was assigned anew need not be waited for.
        if reading == open.map(|reads| reads.reading) {
            self.pause(context);
        }
    }

    /// Makes a claim, if there is reason and time for one.
    pub(super) fn bid(&mut self, context: &mut Context<'_>) {
        if context.config.mode != Mode::AtMostOne {
            return;
        }
        if let Bid::Asked { until, kept, reading, .. } = self.bid
            && until <= context.now
            && ruling(Rule::ClaimMissed)
        {
            self.bid = Bid::Idle;
            // What it was to replace may have become void just now.
            self.pause(context);
            let open = self.reads.as_ref().filter(|reads| reads.is_open());
            let same = open.is_some_and(|reads| Some(reads.reading) == reading);
            if kept && same && ruling(Rule::SilentReadAnew) {
                self.is_stuck("its claim was written, and was not read back", context);
            }
        }
        if let Bid::Due(at) = self.bid
            && at <= context.now
        {
            self.bid = Bid::Idle;
        }
        if self.bid != Bid::Idle || !self.wants(context) || self.has_slept(context) {
            return;
        }
        let number = context.claim(self.partition);
        let reading = self.reads.as_ref().map(|reads| reads.reading);
        let until = context.now.after(context.config.takeover);
        self.bid = Bid::Asked { number, reading, until, kept: false };
    }

    /// Whether this process was stopped when the partition was its own, and has read nothing since
    /// that it wrote after that: somebody else's claim may lie before it.
    pub(super) fn has_slept(&self, context: &Context<'_>) -> bool {
        let since = context.woke.filter(|_| ruling(Rule::AwakeHearsFirst));
        self.assigned.zip(since).is_some_and(|(assigned, woke)| {
            assigned.at < woke && self.own.is_none_or(|sent| sent < woke)
        })
    }

    /// Whether there is reason for a claim: the partition is this process's, is read from a known
    /// end, and decides on a role that somebody waits for (N5).
    fn wants(&self, context: &Context<'_>) -> bool {
        let assigned = self.assigned.is_some()
            || (!ruling(Rule::ClaimsAssigned) && self.loss == Loss::Reassigned);
        let read = self.reads.as_ref().is_some_and(|reads| reads.is_open())
            || !ruling(Rule::ClaimsAfterPosition)
            || !ruling(Rule::ClaimsAssigned);
        let waiting = self.campaigns.values().any(|campaign| !campaign.leads());
        let spent = |held: &Held| held.spent && ruling(Rule::FenceOnce);
        let needed = self.held.is_none_or(|held| spent(&held) || held.is_barren(context));
        let by_claims = ruling(Rule::TheText) && ruling(Rule::TheLaterNeli);
        assigned && read && waiting && needed && by_claims && context.now < Time::MAX
    }
}
