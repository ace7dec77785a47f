//! The candidate: one for each election of a node, with state `Start`, `E`, `QT`.
//!
//! A candidate contends, leads, renews, yields, hands over and gives up; the grantors decide. Its
//! steps of OQwBD are in [`oqwbd`](super::oqwbd). `ARCHITECTURE.md` lists the files here by their
//! decisions.

mod clock;
mod epoch_answers;
mod held_back;
mod hopeless;
mod oks;
mod orders;
mod pending_release;
mod reach;
mod refusals;
mod release;
mod renewal;
mod silence;
mod transfer;
mod trips;
mod waits;

use alloc::boxed::Box;
use alloc::vec;
use core::time::Duration;

use smallvec::SmallVec;

use self::epoch_answers::EpochAnswers;
pub(super) use self::oks::{Answer, SentRequest};
use self::orders::Orders;
pub(super) use self::pending_release::PendingRelease;
pub(super) use self::silence::LeaderSilence;
use self::waits::Reported;
pub(super) use self::waits::told;
use super::body::{Remainder, Verify};
use super::config::Checked;
use super::context::Context;
use super::event::{Event, Ignored, OwnEvent};
use super::identity::Who;
use super::message::Sender;
use super::quorum::MemberSet;
use super::rank::Rank;
use super::record::Record;
use super::roster::replaced;
use super::timer::Timer;
use super::timestamp::QuorumTimestamp;
use super::words::{Effect, Out, emit, send};
use crate::deadlines::{Booking, Deadlines};
use crate::event::{End, Loss};
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::standing::Standing;
use crate::time::{Time, WallTime};
use crate::waiting::Waiting;

/// The candidate of a node in one election. Rarely used parts are boxed: with thousands of
/// elections, small candidates renew faster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Candidate {
    pub(super) election: ElectionName,
    pub(super) campaign: Option<Campaign>,
    pub(super) pending: Option<Box<PendingRelease>>,
    /// Highest fence heard of. The candidate proposes a higher fence, which grantors accept at
    /// once.
    pub(super) best: Fence,
    /// Latest Start. Each Start is above all earlier ones, so (p, Start) names an instance.
    pub(super) last_start: Time,
    /// Latest instant until which a verification answer promised that this node leads.
    pub(super) promise: Time,
    draws: u64,
    booking: Booking,
}

/// A candidate's attempt to lead, from the command to the end of the leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Campaign {
    pub(super) value: Value,
    pub(super) priority: u8,
    /// First Start of this attempt, which names the leadership.
    pub(super) first: Option<Time>,
    pub(super) fence: Fence,
    /// Latest Start at the time when a grantor first refused a fence as too far ahead.
    too_far: Option<Time>,
    /// Completed rounds since the lease was obtained in which no quorum accepted the fence.
    fence_rounds: u32,
    /// Requests since the last completion, the oldest first.
    pub(super) sent: SmallVec<[SentRequest; 1]>,
    pub(super) answers: EpochAnswers,
    /// The last report of a reason to wait, or not to renew the lease.
    pub(super) reported: Reported,
    pub(super) lease: Option<Lease>,
    pub(super) transfer: Option<Box<Transfer>>,
    /// First of the waiting candidates, and the time at which a grantor last named it.
    pub(super) waiting: Option<(NodeName, Time)>,
    orders: Orders,
    /// Latest time at which this node's own grantor granted to a leader, or the beginning of the
    /// campaign; only [`held_back`] uses it.
    vacant_since: Time,
    pub(super) next_at: Time,
}

/// `E`, and the leadership won with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lease {
    pub(super) until: Time,
    /// E on the wall clock, with a bound on skew.
    pub(super) wall_until: Option<WallTime>,
    /// Latest `until` with which the claim was raised; later than `until` after the wall clock was
    /// set ahead.
    pub(super) shown: Time,
    /// Leadership; `None` until a completing quorum has accepted the fence, which the candidate
    /// then announces.
    pub(super) office: Option<Office>,
    pub(super) settled: bool,
}

/// A leadership, as its first completed instance established it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Office {
    pub(super) fence: Fence,
    pub(super) timestamp: QuorumTimestamp,
    /// Number of the epoch in which the leadership was won.
    pub(super) epoch: u64,
}

/// Another candidate, which holds a grant that this candidate wants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rival {
    /// Start of our refused request.
    start: Time,
    who: Who,
    rank: Rank,
    until: Time,
    /// Highest Start of the rival that the grantor has granted.
    granted: Time,
    /// Start of our last request whose refusal showed a new renewal of the rival.
    renewed: Time,
}

/// A hand-over that waits for a quorum to report the successor as waiting.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Transfer {
    pub(super) to: NodeName,
    probe: bool,
    /// Only answers to requests after this Start speak of this successor.
    since: Time,
    until: Time,
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

    /// Whether the node may drop this candidate at `now` and keep only `best`. A new candidate in
    /// its place then neither reuses a Start nor breaks a promise.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let idle = self.campaign.is_none() && self.pending.is_none();
        idle && now > self.last_start && now >= self.promise
    }

    pub(super) fn hear_fence(&mut self, seen: Fence) {
        self.best = self.best.max(seen);
    }

    /// The claim at `now`, computed anew at each call.
    pub(super) fn standing(&self, now: Time) -> Standing {
        let lease = self.campaign.as_ref().and_then(|campaign| campaign.lease.as_ref());
        match lease {
            Some(Lease { until, office: Some(office), .. }) if now < *until => {
                Standing::Leading { until: *until, fence: Some(office.fence) }
            }
            Some(_) | None => Standing::NotLeading,
        }
    }

    pub(super) fn contend(
        &mut self,
        now: Time,
        (value, priority): (Value, u8),
        context: &mut Context,
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
            sent: SmallVec::new(),
            answers: EpochAnswers::new(&context.membership, self.last_start),
            reported: Reported::default(),
            lease: None,
            transfer: None,
            waiting: None,
            orders: Orders::default(),
            vacant_since: begin,
            next_at: begin,
        });
        self.say_what_was_promised(now, context, out);
        self.run_due(now, context, out);
    }

    /// Does everything due at `now`. Every input calls this method, so that a late event is never
    /// mistaken for a timely one.
    pub(super) fn run_due(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        self.end_lapsed(now, context, out);
        self.end_transfer(now, out);
        self.give_up_due(now, context, out);
        if self.campaign.as_ref().is_some_and(|campaign| now >= campaign.next_at)
            && !self.is_held_back(now, context, out)
        {
            self.request(now, context, out);
        }
    }

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

    pub(super) fn timer(&self) -> Option<Timer> {
        self.due().map(|(_, timer)| timer)
    }

    pub(super) fn resign(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        let Some(campaign) = &self.campaign else {
            return self.emit(OwnEvent::Ignored(Ignored::Command), out);
        };
        let led = campaign.lease.as_ref().is_some_and(|lease| lease.office.is_some());
        let end = if led { End::Lost(Loss::Resigned) } else { End::Withdrawn };
        let next = campaign.successor(now, &context.config).cloned();
        self.end(now, end, next, context, out);
    }

    /// Answers a verification (section 10.5, steps 3 and 4, with errata 1 and 2). Remembers the
    /// promise before the answer leaves. The promise is at most the rest of the lease.
    pub(super) fn on_verify(
        &mut self,
        now: Time,
        from: &Sender,
        verify: &Verify,
        context: &Context,
        out: &mut Out,
    ) {
        let (left, fence) = match self.standing(now) {
            Standing::Leading { until, fence } => (until.since(now), fence),
            Standing::NotLeading => (Duration::ZERO, None),
        };
        let left = left.min(context.config.verify_max);
        self.promise = self.promise.max(now.after(left));
        if context.supervisor.is_some() {
            // Write the promise down, so that the supervisor waits for its end (supervised release
            // 3).
            out.push(Effect::Persist(Record::Promise { until: self.promise }));
        }
        // Promise the least real time left, at any clock rate (erratum 1).
        let remaining = context.config.drift.real_at_least(left);
        let remainder = Remainder {
            election: self.election.clone(),
            start: verify.start,
            asker: from.who.inc,
            remaining,
            fence,
        };
        send(out, from, remainder);
    }

    /// Reports why the campaign waits, or why the lease is not renewed, and whether the lease is
    /// too short for the network.
    pub(super) fn say_reasons(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        if let Some(event) = context.follow_network(now) {
            emit(out, None, event);
        }
        if let Some(event) = context.quorum_trips.news(now, &context.config) {
            emit(out, None, event);
        }
        if self.campaign.as_ref().is_some_and(|campaign| campaign.lease.is_some()) {
            self.say_what_is_missing(now, context, out);
        } else {
            self.say_what_it_waits_for(now, context, out);
        }
    }

    /// Reports the reason why the campaign waits, if the reason has changed. Called at each new
    /// request, when most grantors have answered the previous request.
    fn say_what_it_waits_for(&mut self, now: Time, context: &Context, out: &mut Out) {
        let Some(campaign) = &self.campaign else { return };
        let silent = campaign.answers.reach.silence.silent(now, context.config.parked_for());
        let waiting = match &context.not_let_in {
            Some(why) => Some(Waiting::Refused { obstacles: vec![why.clone()], missing: vec![] }),
            None => campaign.answers.hindrances.waiting(silent, &context.membership),
        };
        if let Some(waiting) = waiting {
            self.say(now, waiting, context, out);
        }
    }

    /// Reports a promise that delays the release, and therefore the next campaign.
    fn say_what_was_promised(&mut self, now: Time, context: &Context, out: &mut Out) {
        let hold = self.pending.as_ref().map(|pending| pending.hold).filter(|hold| now < *hold);
        if let Some(until) = hold {
            let who = context.who.name.clone().into();
            self.say(now, Waiting::Promised { who, until }, context, out);
        }
    }

    /// Reports `waiting` if it has changed since the last report.
    pub(super) fn say(&mut self, now: Time, waiting: Waiting, context: &Context, out: &mut Out) {
        let said = match &mut self.campaign {
            Some(campaign) => campaign.reported.say(now, waiting, context.config.refresh),
            None => Some(waiting),
        };
        if let Some(waiting) = said {
            self.emit(Event::Waiting(waiting), out);
        }
    }

    /// Goes on in another epoch: asks its members, and sends releases to them, too. A claim stays,
    /// because its grants stay. The candidate ignores answers of the previous epoch (2.5.1).
    /// Otherwise an old ok of member a and a new ok of member d would be a quorum of the next epoch
    /// a, d, e.
    pub(super) fn switch(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        if let Some(pending) = &mut self.pending {
            pending.switch(now, &context.membership);
        }
        let begin = self.pending.as_ref().map_or(now, |pending| pending.not_before().max(now));
        // The drawn pause keeps leaders of many elections from renewing in one burst.
        let pause = self.draw(context.config.renew_after() / 8, "switch", context);
        if let Some(campaign) = &mut self.campaign {
            // A leader waits for at most a quarter of its remaining lease, and has the rest for
            // repetitions.
            let left = campaign.lease.as_ref().map(|lease| lease.until.since(now) / 4);
            let pause = left.map_or(Duration::ZERO, |left| pause.min(left));
            campaign.sent.clear();
            campaign.answers = EpochAnswers::new(&context.membership, self.last_start);
            campaign.next_at = begin.after(pause).min(campaign.next_at.max(begin));
        }
        self.run_due(now, context, out);
    }

    fn draw(&mut self, bound: Duration, purpose: &'static str, context: &Context) -> Duration {
        self.draws += 1;
        context.draw.span(bound, self.election.as_str(), purpose, self.draws)
    }

    pub(super) fn emit(&self, event: impl Into<Event>, out: &mut Out) {
        emit(out, Some(self.election.clone()), event);
    }
}

impl Campaign {
    /// The fence with which the claim was raised; `None` before, whatever grants the candidate has.
    pub(super) fn announced(&self) -> Option<Fence> {
        Some(self.lease.as_ref()?.office.as_ref()?.fence)
    }

    /// The stamps of `members`, each with the memory that gave it: a grantor that lost its
    /// directory counts as another grantor (restart: instances).
    pub(super) fn timestamp_of(&self, members: MemberSet) -> QuorumTimestamp {
        QuorumTimestamp::new(members.iter().filter_map(|member| {
            let ok = self.answers.oks.get(member)?;
            Some((ok.instance, ok.stamp))
        }))
    }

    /// The members whose oks do not count: another valid ok names another memory of the member. The
    /// pair is an example: such a member, and the sender of that other ok.
    pub(super) fn replaced(&self, now: Time) -> Option<(MemberSet, (usize, usize))> {
        let live = self.answers.oks.iter().filter(move |(_, ok)| now < ok.good_until);
        replaced(live.map(|(member, ok)| (*member, ok.instance, &ok.memories[..])))
    }

    /// The first of the waiting candidates, if a grantor has named it lately. Otherwise that
    /// candidate may have died.
    pub(super) fn successor(&self, now: Time, config: &Checked) -> Option<&NodeName> {
        let (name, named_at) = self.waiting.as_ref()?;
        let lately = now.since(*named_at) < config.heard_within();
        lately.then_some(name)
    }

    /// Begins another attempt to lead, for which no ok of the last attempt counts.
    pub(super) fn begin_anew(&mut self, last_start: Time, at: Time) {
        self.first = None;
        self.fence_rounds = 0;
        self.lease = None;
        self.abort(last_start);
        self.next_at = at;
    }

    /// Drops answers to all requests so far for ever.
    pub(super) fn abort(&mut self, last_start: Time) {
        self.sent.clear();
        self.answers.abort(last_start);
    }
}
