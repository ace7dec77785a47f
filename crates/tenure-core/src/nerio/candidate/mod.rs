//! The candidate: steps 1 to 3 and 7 to 9 of OQwBD, with state `Start`, `E`, `QT`.
//!
//! One for each election of a node. It contends, leads, renews, yields, hands over and gives
//! up; the grantors decide.

mod answers;
mod hindrance;
mod instance;
mod orders;
mod reach;
mod release;

use alloc::vec::Vec;
use core::time::Duration;

use self::hindrance::Hindrances;
use self::instance::{Answer, Sent};
use self::orders::Orders;
use self::reach::Reach;
use self::release::PendingRelease;
use super::body::{Remainder, Verify};
use super::by_member::ByMember;
use super::config::Checked;
use super::event::{Event, Ignored, OwnEvent};
use super::identity::Who;
use super::message::Sender;
use super::quorum::MemberSet;
use super::rank::Rank;
use super::timer::Timer;
use super::timestamp::QuorumTimestamp;
use super::trips::RoundTrips;
use super::words::{Effect, Out, To, emit, send};
use crate::deadlines::{Booking, Deadlines};
use crate::draw::Draw;
use crate::event::{End, Loss, TransferFailure};
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::standing::Standing;
use crate::time::Time;
use crate::waiting::Waiting;

/// What all candidates of a node share.
pub(super) struct Context<'a> {
    pub(super) config: &'a Checked,
    pub(super) who: &'a Who,
    pub(super) draw: Draw,
    pub(super) trips: &'a mut RoundTrips,
}

impl Context<'_> {
    fn round_trip(&self) -> Duration {
        self.trips.high(self.config.round_trip)
    }

    fn retry(&self) -> Duration {
        self.config.retry_after(self.round_trip())
    }
}

/// One election, seen by one who wants it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Candidate {
    election: ElectionName,
    campaign: Option<Campaign>,
    pending: Option<PendingRelease>,
    /// The highest fence heard of, so that the next proposal is accepted at once.
    best: Fence,
    /// Every Start is above the one before: (p, Start) names an instance.
    last_start: Time,
    /// The latest instant until which a verification answer said that this node leads.
    promise: Time,
    draws: u64,
    booking: Booking,
}

/// From the wish to lead to the end of leading.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Campaign {
    value: Value,
    priority: u8,
    /// The first Start of this attempt: names the leadership it may become.
    first: Option<Time>,
    /// The fence proposed for it.
    fence: Fence,
    /// The Start of the last request when a grantor first refused a fence as too far ahead.
    too_far: Option<Time>,
    /// Rounds since the lease was obtained without the fence being accepted by all.
    fence_rounds: u32,
    /// Requests since the last completion, the oldest first.
    sent: Vec<Sent>,
    /// Of each member: answers to Starts up to this are dropped for ever.
    floors: Vec<Time>,
    oks: ByMember<Answer>,
    refusals: ByMember<Rival>,
    /// Members that are not asked before then, because their grant was yielded to this rival.
    held_off: ByMember<(Who, Time)>,
    /// Who answers, as long as it does not lead.
    reach: Reach,
    /// What it waits for, as long as it does not lead.
    hindrances: Hindrances,
    /// Members whose last word was that they give no lease as long as this one's.
    too_long: MemberSet,
    lease: Option<Lease>,
    transfer: Option<Transfer>,
    /// The first of those who wait, and when a grantor last named it.
    waiting: Option<(NodeName, Time)>,
    /// The orders to end its leadership that were reported.
    orders: Orders,
    /// When to send the next request.
    next_at: Time,
}

/// `E`, and what was won with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lease {
    until: Time,
    /// Set once the fence was accepted by all of a completing quorum; only then is it announced.
    office: Option<(Fence, QuorumTimestamp)>,
    /// Whether a lease of full length was obtained.
    settled: bool,
}

/// Somebody who holds a grant that we want.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rival {
    /// Which request of ours was refused.
    start: Time,
    who: Who,
    rank: Rank,
    until: Time,
    /// The highest Start of its own that was granted there.
    granted: Time,
    /// The last request of ours whose refusal showed that it had renewed since the one before.
    renewed: Time,
}

/// A hand-over that waits for a quorum to say that the successor waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Transfer {
    to: NodeName,
    probe: bool,
    /// Only answers to requests after this Start speak of this successor.
    since: Time,
    until: Time,
    waits: MemberSet,
}

impl Candidate {
    pub(super) fn new(election: ElectionName) -> Self {
        Self {
            election,
            campaign: None,
            pending: None,
            best: Fence::NONE,
            last_start: Time::ZERO,
            promise: Time::ZERO,
            draws: 0,
            booking: Booking::default(),
        }
    }

    /// Whether nothing of it matters any more at `now` but the fence it has heard of: another
    /// candidate in its place could neither send a Start again nor break a promise.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let idle = self.campaign.is_none() && self.pending.is_none();
        idle && now > self.last_start && now >= self.promise
    }

    /// Somebody told how high the fences are.
    pub(super) fn hear_fence(&mut self, seen: Fence) {
        self.best = self.best.max(seen);
    }

    /// The claim at `now`, computed at the question.
    pub(super) fn standing(&self, now: Time) -> Standing {
        let lease = self.campaign.as_ref().and_then(|campaign| campaign.lease.as_ref());
        match lease {
            Some(Lease { until, office: Some((fence, _)), .. }) if now < *until => {
                Standing::Leading { until: *until, fence: Some(*fence) }
            }
            Some(_) | None => Standing::NotLeading,
        }
    }

    /// Begins to contend.
    pub(super) fn contend(
        &mut self,
        now: Time,
        (value, priority): (Value, u8),
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        if self.campaign.is_some() {
            return self.emit(OwnEvent::Ignored(Ignored::Command), out);
        }
        let begin = self.pending.as_ref().map_or(now, |pending| pending.not_before().max(now));
        self.campaign = Some(Campaign {
            value,
            priority,
            first: None,
            fence: Fence::NONE,
            too_far: None,
            fence_rounds: 0,
            sent: Vec::new(),
            floors: alloc::vec![self.last_start; context.config.members.len()],
            oks: ByMember::default(),
            refusals: ByMember::default(),
            held_off: ByMember::default(),
            reach: Reach::default(),
            hindrances: Hindrances::default(),
            too_long: MemberSet::EMPTY,
            lease: None,
            transfer: None,
            waiting: None,
            orders: Orders::default(),
            next_at: begin,
        });
        self.say_what_was_promised(now, context, out);
        self.work(now, context, out);
    }

    /// Does whatever is due at `now`. Called with every input, so that nothing that comes late
    /// is ever mistaken for being in time.
    pub(super) fn work(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        self.end_lapsed(now, context, out);
        self.end_transfer(now, out);
        self.give_up_due(now, context, out);
        if self.campaign.as_ref().is_some_and(|campaign| now >= campaign.next_at) {
            self.request(now, context, out);
        }
    }

    /// Puts down when there is something to do.
    pub(super) fn book(&mut self, deadlines: &mut Deadlines) {
        let due = self.due().map(|(at, _)| at);
        deadlines.set(&mut self.booking, &self.election, due);
    }

    fn due(&self) -> Option<(Time, Timer)> {
        let pending = self.pending.as_ref().map(|pending| (pending.due(), Timer::Release));
        let Some(campaign) = &self.campaign else { return pending };
        let lease = campaign.lease.as_ref().map(|lease| (lease.until, Timer::LeaseEnd));
        let transfer = campaign.transfer.as_ref();
        let transfer = transfer.map(|transfer| (transfer.until, Timer::TransferEnd));
        let leads = campaign.lease.as_ref().is_some_and(|lease| lease.office.is_some());
        let ask = (campaign.next_at, if leads { Timer::Renewal } else { Timer::Attempt });
        let all = [pending, lease, transfer, Some(ask)];
        all.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// What it waits for.
    pub(super) fn timer(&self) -> Option<Timer> {
        self.due().map(|(_, timer)| timer)
    }

    /// A lease that ran out is over for ever: a renewal that completes later belongs to another
    /// leadership with another fence, even if nobody led in between.
    fn end_lapsed(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some(lease) = &campaign.lease else { return };
        if now < lease.until {
            return;
        }
        if lease.office.is_some() {
            self.end(now, End::Lost(Loss::Expired), None, context, out);
        } else {
            campaign.begin_anew(self.last_start, now);
        }
    }

    /// Stops contending or leading.
    pub(super) fn resign(&mut self, now: Time, context: &mut Context<'_>, out: &mut Out) {
        let Some(campaign) = &self.campaign else {
            return self.emit(OwnEvent::Ignored(Ignored::Command), out);
        };
        let led = campaign.lease.as_ref().is_some_and(|lease| lease.office.is_some());
        let end = if led { End::Lost(Loss::Resigned) } else { End::Withdrawn };
        let next = campaign.successor(now, context.config).cloned();
        self.end(now, end, next, context, out);
    }

    /// Section 6: first the claim is lowered, then the release is sent, never the other way.
    fn end(
        &mut self,
        now: Time,
        end: End,
        next: Option<NodeName>,
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        let Some(campaign) = self.campaign.take() else { return };
        if campaign.lease.is_some_and(|lease| lease.office.is_some()) {
            out.push(Effect::Lower { election: self.election.clone() });
        }
        let mut held = None;
        if campaign.first.is_some() {
            // What was promised is kept: the release waits for it (erratum 2).
            let hold = self.promise;
            let next = (next, end != End::Lost(Loss::Expired));
            self.pending = Some(PendingRelease::new(now, hold, self.last_start, next, context));
            held = Some(hold).filter(|hold| now < *hold);
            self.give_up_due(now, context, out);
            if held.is_some() {
                self.say_that_it_leaves(now, context, out);
            }
        }
        if let Some(Transfer { to, .. }) = campaign.transfer
            && end != End::Lost(Loss::Transferred)
        {
            let why = TransferFailure::NotLeading;
            self.emit(Event::TransferFailed { to, why }, out);
        }
        if let Some(until) = held {
            self.emit(OwnEvent::Held { until }, out);
        }
        self.emit(Event::Ended(end), out);
    }

    /// Hands over to `to`, once a quorum of grantors says that it waits.
    pub(super) fn transfer(
        &mut self,
        now: Time,
        (to, probe): (NodeName, bool),
        context: &mut Context<'_>,
        out: &mut Out,
    ) {
        let leads = self.standing(now).is_leading();
        let Some(campaign) = self.campaign.as_mut().filter(|_| leads) else {
            let why = TransferFailure::NotLeading;
            return self.emit(Event::TransferFailed { to, why }, out);
        };
        let patience = context.config.heard_within() + context.round_trip().saturating_mul(2);
        let (since, until) = (self.last_start, now.after(patience));
        let same = to.clone();
        let transfer = Transfer { to, probe, since, until, waits: MemberSet::EMPTY };
        let before = campaign.transfer.replace(transfer);
        campaign.next_at = now;
        if let Some(Transfer { to, .. }) = before.filter(|before| before.to != same) {
            let why = TransferFailure::Replaced;
            self.emit(Event::TransferFailed { to, why }, out);
        }
        self.work(now, context, out);
    }

    fn end_transfer(&mut self, now: Time, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        if let Some(transfer) = campaign.transfer.take_if(|transfer| now >= transfer.until) {
            let why = TransferFailure::NotWaiting;
            self.emit(Event::TransferFailed { to: transfer.to, why }, out);
        }
    }

    /// Section 10.5, steps 3 and 4, made sound: the promise is remembered before the answer
    /// leaves, and is never more than what is left.
    pub(super) fn on_verify(
        &mut self,
        now: Time,
        from: &Sender,
        verify: &Verify,
        context: &Context<'_>,
        out: &mut Out,
    ) {
        let (left, fence) = match self.standing(now) {
            Standing::Leading { until, fence } => (until.since(now), fence),
            Standing::NotLeading => (Duration::ZERO, None),
        };
        let left = left.min(context.config.verify_max);
        self.promise = self.promise.max(now.after(left));
        // The least real time that is left, whatever this clock is like (erratum 1).
        let remaining = context.config.drift.real_at_least(left);
        let remainder = Remainder {
            election: self.election.clone(),
            start: verify.start,
            asker: from.who.inc,
            remaining,
            fence,
        };
        send(out, from.address, remainder);
    }

    fn draw(&mut self, bound: Duration, purpose: &'static str, context: &Context<'_>) -> Duration {
        self.draws += 1;
        context.draw.span(bound, self.election.as_str(), purpose, self.draws)
    }

    fn emit(&self, event: impl Into<Event>, out: &mut Out) {
        emit(out, Some(self.election.clone()), event);
    }
}

impl Campaign {
    /// Those that keep every quorum from a lease as long as this candidate asks for: members that
    /// give no such lease, and members that nobody can wait for. Until that is over it asks only
    /// these, and keeps nobody else from the others.
    fn too_long_for(&self, now: Time, config: &Checked) -> Option<MemberSet> {
        let unable = self.too_long.or(self.reach.lost(now, config.parked_for()));
        let asks = self.lease.is_none() && !self.too_long.is_empty();
        let hopeless = asks && !config.quorums.is_possible(unable);
        hopeless.then_some(unable)
    }

    /// The first of those who wait, if a grantor has named it lately: it may have died since.
    fn successor(&self, now: Time, config: &Checked) -> Option<&NodeName> {
        let (name, named_at) = self.waiting.as_ref()?;
        let lately = now.since(*named_at) < config.heard_within();
        lately.then_some(name)
    }

    /// Another attempt, which would be another leadership: nothing of the last one counts.
    fn begin_anew(&mut self, last_start: Time, at: Time) {
        self.first = None;
        self.fence_rounds = 0;
        self.lease = None;
        self.abort(last_start);
        self.next_at = at;
    }

    /// Answers to anything sent so far are dropped for ever.
    fn abort(&mut self, last_start: Time) {
        self.sent.clear();
        self.reach = Reach::default();
        self.oks.clear();
        self.floors.fill(last_start);
    }
}
