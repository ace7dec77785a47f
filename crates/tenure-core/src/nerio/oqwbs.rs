//! OQwBS, "Obtain Quorum with Bounded Skew" (section 4), for clusters whose wall clocks differ by
//! at most Δ. The steps are those of [`oqwbd`](super::oqwbd). Two steps compute other ends:
//!
//! ```text
//!  q  6  F := max(F, Start + δ + Δ)   Grantor::term
//!  p  8  E := Start + δ               Context::claim_of
//! ```
//!
//! Start, E and F are wall times, and both sides count by time since boot as well. The ok names the
//! *rest*, `Start + δ + Δ − C` at the arrival:
//!
//! - p leads until its wall clock shows `Start + δ`, and at most `(1 − ρ)·min(δ, rest)` of time
//!   since boot from its Start: the earlier ends the claim.
//! - q grants until its wall clock shows `Start + δ + Δ`, and at least `(1 + ρ)·rest` of time since
//!   boot from the arrival: the later ends the grant.
//!
//! So either bound suffices. With wall clocks within Δ a claim ends before its grants, whatever the
//! rates of clocks. With rates within ρ a claim also ends before its grants, whatever wall clocks
//! show. A late request is granted for the rest of its lease only, which is the point of section 4.
//!
//! A wall time is translated to time since boot at once. When the wall clock has moved against time
//! since boot, claims are shortened and ends of grants translated anew, before anything else.

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::body::{Granted, Refusal, Refused, Request};
use super::candidate::{Campaign, Candidate, Lease, SentRequest};
use super::clock_bound::{ClockBound, Lead};
use super::context::Context;
use super::event::OwnEvent;
use super::grantor::{Grant, Grantor};
use super::message::Sender;
use super::quorum::MemberSet;
use super::words::{Effect, Out, emit};
use crate::clocks::BothClocks;
use crate::name::ElectionName;
use crate::time::{Time, WallTime};

/// The clocks of a candidate in its request, with a bound on skew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WallStart {
    /// Start on the candidate's wall clock.
    pub start: WallTime,
    /// Δ of the candidate.
    pub skew: Duration,
}

/// The clocks of a grantor in its ok, with a bound on skew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WallGrant {
    /// `Start + δ + Δ − C` when the request arrived: the real time for which the grant lasts from
    /// then on.
    pub rest: Duration,
    /// Δ of the grantor.
    pub skew: Duration,
}

/// The reason why two nodes cannot compare their wall clocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ClockFault {
    /// The candidate's clock is ahead of the grantor's by more than Δ.
    Ahead {
        /// Least lead of the candidate's clock with which it could have sent this Start.
        by: Duration,
        skew: Duration,
    },
    /// The candidate's clock is behind the grantor's by more than Δ.
    Behind {
        /// Least lag of the candidate's clock behind the grantor's, given this ok.
        by: Duration,
        skew: Duration,
    },
    /// The request came when its lease was over, or the candidate's clock is behind the grantor's.
    Late {
        /// Time since Start + δ + Δ on the grantor's clock.
        by: Duration,
    },
    /// The two nodes have different bounds on skew, or only one of them has a bound.
    OtherBound { candidate: Option<Duration>, grantor: Option<Duration> },
}

/// The end of a grant, F, by the clocks at the arrival of its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Term {
    pub(super) arrival: Time,
    /// F on the grantor's clock.
    pub(super) finish: Time,
    pub(super) wall: Option<WallTerm>,
}

/// The part of a [`Term`] that depends on the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct WallTerm {
    /// F on the grantor's wall clock.
    pub(super) finish: WallTime,
    /// F by time since boot alone, however the wall clock is set.
    boot: Time,
    rest: Duration,
}

/// The end of a claim that an ok supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClaimEnd {
    pub(super) until: Time,
    /// The end on the candidate's wall clock.
    pub(super) wall: Option<WallTime>,
}

// Steps 4 to 6: a grantor compares clocks, and counts the term.
impl Grantor {
    /// The fault that keeps this grantor from comparing clocks with the sender of `request`.
    pub(super) fn clock_fault(&self, request: &Request) -> Option<ClockFault> {
        let theirs = request.wall.map(|wall| wall.skew);
        let ours = self.config.clock_skew_max;
        let (Some(asked), Some(skew), true) = (request.wall, ours, theirs == ours) else {
            let is_same = theirs.is_none() && ours.is_none();
            let fault = ClockFault::OtherBound { candidate: theirs, grantor: ours };
            return (!is_same).then_some(fault);
        };
        let Some(now) = &self.clocks else { return Some(ClockFault::Late { by: skew }) };
        if asked.start > now.wall.after(skew) {
            return Some(ClockFault::Ahead { by: asked.start.since(now.wall), skew });
        }
        let finish = asked.start.after(request.delta).after(skew);
        (finish <= now.wall).then(|| ClockFault::Late { by: now.wall.since(finish) })
    }

    /// Step 6: F of a request that arrives at `at`.
    pub(super) fn term(&self, at: Time, request: &Request) -> Term {
        let bound = self.config.clock_bound();
        let (Some(asked), Some(skew), Some(now)) = (request.wall, bound.skew, &self.clocks) else {
            let finish = bound.grant_ends(at, request.delta);
            return Term { arrival: at, finish, wall: None };
        };
        let finish = asked.start.after(request.delta).after(skew);
        let boot = bound.grant_ends_at(finish, now).max(at);
        let wall = WallTerm { finish, boot, rest: finish.since(now.wall) };
        Term { arrival: at, finish: boot, wall: Some(wall) }
    }

    /// Translates F of live grants anew after the wall clock has moved against time since boot. A
    /// grant that has ended stays over.
    pub(super) fn follow_wall(&mut self, now: &BothClocks) {
        let bound = self.config.clock_bound();
        for (election, state) in &mut self.elections {
            let Some(grant) = &mut state.grant else { continue };
            let Some(wall) = &grant.wall else { continue };
            if !grant.is_live(now.boot) {
                continue;
            }
            let finish = wall.ends(bound, now);
            grant.record.finish = finish;
            self.last_finish = self.last_finish.max(finish);
            state.book(election, &self.config, &mut self.deadlines);
        }
    }

    /// Reports a Start from the future, which proves that a clock is wrong.
    pub(super) fn say_wrong_clock(from: &Sender, refusal: &Refusal, out: &mut Out) {
        if let Refusal::Clock(fault @ ClockFault::Ahead { .. }) = refusal {
            let who = from.who.name.clone();
            emit(out, None, OwnEvent::ClocksApart { who, fault: fault.clone().into() });
        }
    }
}

impl Term {
    /// Lengthens the term to that of the grant `before`: F never goes back while granted.
    pub(super) fn cover(&mut self, before: &Grant) {
        let boot = before.wall.map_or(before.record.finish, |wall| wall.boot);
        self.finish = self.finish.max(boot);
        if let (Some(wall), Some(before)) = (&mut self.wall, &before.wall) {
            wall.finish = wall.finish.max(before.finish);
        }
    }

    /// F by both clocks at the time of the grant: the request may have waited since its arrival.
    pub(super) fn close(&mut self, bound: ClockBound, now: Option<&BothClocks>) -> Time {
        let (Some(wall), Some(now)) = (&mut self.wall, now) else { return self.finish };
        wall.boot = self.finish;
        wall.ends(bound, now)
    }
}

impl WallTerm {
    /// F: the later of both ends. The end on the wall clock moves with that clock.
    fn ends(&self, bound: ClockBound, now: &BothClocks) -> Time {
        self.boot.max(bound.grant_ends_at(self.finish, now))
    }
}

impl Grant {
    /// The clocks of the grantor in the ok.
    pub(super) fn told(&self, skew: Option<Duration>) -> Option<WallGrant> {
        Some(WallGrant { rest: self.wall?.rest, skew: skew? })
    }
}

// Steps 1 to 3 and 7 to 9: a candidate samples Start, and counts its claim.
impl Context {
    /// Step 1: Start on the wall clock.
    pub(super) fn wall_start(&self) -> Option<WallStart> {
        let (skew, clocks) = (self.config.clock_skew_max?, self.clocks.as_ref()?);
        Some(WallStart { start: clocks.wall, skew })
    }

    /// Step 8: E by an ok to the request `sent`; an error if the clocks are not within their
    /// bounds.
    pub(super) fn claim_of(
        &self,
        sent: &SentRequest,
        granted: &Granted,
    ) -> Result<ClaimEnd, ClockFault> {
        let bound = self.config.clock_bound();
        let theirs = granted.wall.map(|wall| wall.skew);
        if theirs != bound.skew {
            return Err(ClockFault::OtherBound { candidate: bound.skew, grantor: theirs });
        }
        let (Some(skew), Some(told)) = (bound.skew, granted.wall) else {
            return Ok(ClaimEnd { until: bound.claim_ends(sent.start, sent.delta), wall: None });
        };
        let (Some(asked), Some(now)) = (sent.wall, &self.clocks) else {
            return Err(ClockFault::Late { by: Duration::ZERO });
        };
        let ends = asked.start.after(sent.delta);
        let theirs = ends.after(skew).before(told.rest);
        if theirs > now.wall.after(skew) {
            return Err(ClockFault::Behind { by: theirs.since(now.wall), skew });
        }
        let until = bound.claim_ends(sent.start, sent.delta.min(told.rest));
        let until = until.min(bound.claim_ends_at(ends, now));
        Ok(ClaimEnd { until, wall: Some(ends) })
    }
}

impl Candidate {
    /// Handles an ok that does not count, because the clocks are not within their bounds, like a
    /// refusal.
    pub(super) fn on_wrong_clock(
        &mut self,
        now: Time,
        member: usize,
        (granted, fault): (&Granted, ClockFault),
        context: &mut Context,
        out: &mut Out,
    ) {
        if let ClockFault::Behind { .. } = &fault {
            let who = context.membership.name(member).clone();
            emit(out, None, OwnEvent::ClocksApart { who, fault: fault.clone().into() });
        }
        self.give_back_useless(now, member, context, out);
        let refused = Refused {
            election: granted.election.clone(),
            asker: granted.asker,
            start: granted.start,
            refusal: Refusal::Clock(fault),
            seen: granted.seen,
            name_shared: None,
        };
        self.on_refused(now, member, &refused, context, out);
    }

    /// Shortens claims after the wall clock has moved ahead against time since boot.
    pub(super) fn follow_wall(&mut self, now: &BothClocks, context: &Context) {
        let Some(campaign) = &mut self.campaign else { return };
        let bound = context.config.clock_bound();
        let shorten = |until: &mut Time, wall: Option<WallTime>| {
            if let Some(wall) = wall {
                *until = (*until).min(bound.claim_ends_at(wall, now));
            }
        };
        for ok in campaign.answers.oks.values_mut() {
            shorten(&mut ok.good_until, ok.wall_until);
        }
        if let Some(lease) = &mut campaign.lease {
            shorten(&mut lease.until, lease.wall_until);
        }
    }
}

impl Campaign {
    /// The end, on the wall clock, of a claim that rests on the oks of these members.
    pub(super) fn wall_until(&self, members: MemberSet) -> Option<WallTime> {
        members.iter().filter_map(|member| self.answers.oks.get(member)?.wall_until).min()
    }
}

impl Lease {
    /// The effect that gives handles the claim's end on the wall clock. Emitted before the claim is
    /// raised.
    pub(super) fn bound(&self, election: &ElectionName) -> Option<Effect> {
        Some(Effect::Bound { election: election.clone(), wall: self.wall_until? })
    }
}

/// The lead of time since boot over the wall clock at the last translation of deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct WallClock(Option<Lead>);

impl WallClock {
    /// Notes a reading; true if the wall clock has moved against time since boot.
    pub(super) fn see(&mut self, now: &BothClocks) -> bool {
        let lead = Lead::of(now);
        let moved = self.0.is_none_or(|before| lead.has_moved(before));
        if moved {
            self.0 = Some(lead);
        }
        moved
    }
}

impl From<ClockFault> for Refusal {
    fn from(fault: ClockFault) -> Self {
        Self::Clock(fault)
    }
}

impl fmt::Display for ClockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |skew: &Option<Duration>| match skew {
            Some(skew) => alloc::format!("{skew:?}"),
            None => "none".into(),
        };
        match self {
            Self::Ahead { by, skew } => write!(
                f,
                "the candidate's wall clock is ahead of the grantor's by {by:.1?} or more, and \
                 clock-skew-max is {skew:?}: set both clocks right"
            ),
            Self::Behind { by, skew } => write!(
                f,
                "the candidate's wall clock is behind the grantor's by {by:.1?} or more, and \
                 clock-skew-max is {skew:?}: set both clocks right"
            ),
            Self::Late { by } => write!(
                f,
                "the request came {by:.1?} after its lease: the network is slow, or the \
                 candidate's wall clock is behind the grantor's by more than clock-skew-max"
            ),
            Self::OtherBound { candidate, grantor } => write!(
                f,
                "clock-skew-max is {} for the candidate and {} for the grantor: give both the same",
                bound(candidate),
                bound(grantor)
            ),
        }
    }
}
