//! Finding the leader by asking the grantors (section 10.4).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::body::{Holder, Query, Service, State};
use super::by_member::ByMember;
use super::context::Context;
use super::event::Event;
use super::identity::{Instance, Mark};
use super::named_leader::{LiveGrant, leadership};
use super::quorum::{MemberSet, Quorums};
use super::roster::replaced;
use super::words::{Effect, Out, send};
use crate::deadlines::{Booking, Deadlines};
use crate::name::ElectionName;
use crate::time::Time;
use crate::view::{LeaderView, View};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observer {
    election: ElectionName,
    every: Duration,
    next_at: Time,
    last_start: Time,
    answers: ByMember<GrantorReport>,
    view: Option<View>,
    began: Time,
    /// Time since which an incarnation holds a quorum of grants and has not announced its fence.
    won_since: Option<Time>,
    /// Time of the last change of epochs, until the view agrees with answers of the new epoch.
    switched: Option<Time>,
    booking: Booking,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct GrantorReport {
    start: Time,
    /// Latest possible time at which the grant became free; `None` if the grant is held, or the
    /// answer is ignored.
    free_since: Option<Time>,
    holder: Option<(Time, Box<Holder>)>,
    /// Approximate end of the promise that delays the release, if the holder no longer leads.
    leaving: Option<Time>,
    /// Memory of the grantor, and the memories that it knows.
    instance: Instance,
    memories: Vec<Mark>,
}

/// A grant of one member that is believed to be live.
struct BelievedGrant<'a> {
    member: usize,
    /// Time of the question whose answer names the grant.
    asked: Time,
    until: Time,
    holder: &'a Holder,
    leaving: Option<Time>,
}

impl BelievedGrant<'_> {
    const fn grant(&self) -> LiveGrant<'_> {
        let Holder { who, fence, .. } = self.holder;
        LiveGrant { member: self.member, until: self.until, who, fence: *fence }
    }
}

impl Observer {
    pub(super) fn new(election: ElectionName, every: Duration, now: Time) -> Self {
        Self {
            election,
            every: every.max(Duration::from_millis(1)),
            next_at: now,
            last_start: Time::ZERO,
            answers: ByMember::default(),
            view: None,
            began: now,
            won_since: None,
            switched: None,
            booking: Booking::default(),
        }
    }

    /// Asks the grantors when due, and reports a view that has changed with time alone.
    pub(super) fn run_due(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        if now >= self.next_at && now > self.last_start {
            self.last_start = now;
            context.asked = Some(now);
            for member in context.membership.everyone().iter() {
                let query = Query { election: self.election.clone(), start: now };
                send(out, context.membership.to(member), query);
            }
            self.next_at = now.after(self.every);
        }
        self.tell(now, context, out);
    }

    /// Asks the members of another epoch. Answers of the earlier members are ignored; the view
    /// stays until the new members have had time to answer.
    pub(super) fn switch(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        self.answers.clear();
        self.won_since = None;
        self.switched = Some(now);
        self.next_at = now;
        self.run_due(now, context, out);
    }

    pub(super) fn on_state(
        &mut self,
        now: Time,
        member: usize,
        state: State,
        context: &mut Context,
        out: &mut Out,
    ) {
        let newer = |known: &GrantorReport| known.start < state.start;
        if state.start <= self.last_start && self.answers.get(member).is_none_or(newer) {
            // The rest of a lease is measured from the question (readings).
            let start = state.start;
            let free = state.service == Service::Serving && state.holder.is_none();
            let drift = context.config.drift;
            let here = |span| drift.shrink(drift.real_at_least(span));
            let free_since = free.then(|| now.before(here(state.free_for)));
            let until = |holder: &Holder| start.after(here(holder.remaining));
            let holder = state.holder.map(|holder| (until(&holder), holder));
            let leaves = |(_, holder): &(Time, Box<Holder>)| holder.leaving;
            let leaving = holder.as_ref().and_then(leaves).map(|held| now.after(here(held)));
            let (instance, memories) = (state.instance, state.memories);
            let heard = GrantorReport { start, free_since, holder, leaving, instance, memories };
            self.answers.insert(member, heard);
        }
        self.run_due(now, context, out);
    }

    pub(super) fn book(&mut self, deadlines: &mut Deadlines) {
        let due = Some(self.due());
        deadlines.set(&mut self.booking, &self.election, due);
    }

    pub(super) fn cancel(&mut self, deadlines: &mut Deadlines) {
        deadlines.set(&mut self.booking, &self.election, None);
    }

    fn due(&self) -> Time {
        let ask = self.next_at.max(self.last_start.next());
        match &self.view {
            Some(View::Leader(LeaderView { until: Some(until), .. })) => ask.min(*until),
            _ => ask,
        }
    }

    fn tell(&mut self, now: Time, context: &Context, out: &mut Out) {
        let live: Vec<BelievedGrant<'_>> = self.live(now, context).collect();
        let seen = self.look(now, &live, context);
        let holds = seen.is_none() && holds_quorum(&live, context.membership.quorums());
        let is_won = holds && self.is_won(now, context);
        if !holds {
            self.won_since = None;
        }
        if seen.is_some() {
            self.switched = None;
        }
        let mut view = match (seen, &self.view) {
            (Some(view), _) => view,
            (None, Some(View::Unknown { since })) => View::Unknown { since: *since },
            // The leader has given up, its grants have moved, or other members answer: wait for the
            // answers to the next question.
            (None, Some(View::Leader(LeaderView { until: Some(until), .. })))
                if now < *until
                    && (is_won
                        || self.has_switched(now, context)
                        || self.are_free(now, context)) =>
            {
                return;
            }
            (None, Some(View::Vacant)) if is_won => return,
            // Report nothing before the first answers could have come.
            (None, None) if is_won || now < self.began.after(self.patience(context)) => return,
            (None, _) => View::Unknown { since: now },
        };
        // An answer that only confirms the view is no news.
        let heard = if let View::Leader(leader) = &mut view { leader.heard.take() } else { None };
        if self.view.as_ref() != Some(&view) {
            self.view = Some(view.clone());
            if let View::Leader(leader) = &mut view {
                leader.heard = heard;
            }
            let (election, event) = (Some(self.election.clone()), Event::View(view.into()));
            out.push(Effect::Emit { election, event });
        }
    }

    /// Whether the observer has entered another epoch so recently that answers of its members may
    /// still be on the way.
    fn has_switched(&self, now: Time, context: &Context) -> bool {
        self.switched.is_some_and(|at| now < at.after(self.patience(context)))
    }

    /// The age up to which a grantor's answer counts: the time of three questions and some round
    /// trips, but at most a lease.
    fn patience(&self, context: &Context) -> Duration {
        let round_trips = context.config.round_trip.saturating_mul(4);
        self.every.saturating_mul(3).saturating_add(round_trips).min(context.config.lease)
    }

    /// The answers that still count. An answer is ignored if another member knows a later memory of
    /// the grantor that answered.
    fn fresh(
        &self,
        now: Time,
        context: &Context,
    ) -> impl Iterator<Item = &(usize, GrantorReport)> + Clone {
        let patience = self.patience(context);
        let fresh = self.answers.iter().filter(move |(_, heard)| now.since(heard.start) < patience);
        let words = fresh.clone().map(|(member, heard)| {
            let known: &[Mark] = &heard.memories;
            (*member, heard.instance, known)
        });
        let replaced = replaced(words).map_or(MemberSet::EMPTY, |(members, _)| members);
        fresh.filter(move |(member, _)| !replaced.contains(*member))
    }

    /// Whether each grantor of a quorum was free at some time not long ago.
    fn are_free(&self, now: Time, context: &Context) -> bool {
        let free = self.fresh(now, context).filter(|(_, heard)| heard.free_since.is_some());
        context.membership.quorums().is_quorum(free.map(|(member, _)| *member).collect())
    }

    /// Whether a quorum of grantors was free at one instant, not long ago. A separate instant for
    /// each grantor is not enough: a leader may have moved from one grantor to another in between.
    fn is_vacant(&self, now: Time, context: &Context) -> bool {
        let fresh = self.fresh(now, context);
        let free = fresh.clone().filter_map(|(member, heard)| {
            let since = heard.free_since?;
            Some((*member, since, heard.start))
        });
        // Usually the election has a leader, and there is nothing to compare.
        free.clone().next().is_some()
            && fresh.clone().any(|(_, GrantorReport { start: at, .. })| {
                let was_free = |(_, since, start): &(usize, Time, Time)| since <= at && at <= start;
                let free = free.clone().filter(was_free).map(|(member, ..)| member);
                context.membership.quorums().is_quorum(free.collect())
            })
    }

    /// The view on which a quorum of grantors agrees, if any.
    fn look(&self, now: Time, live: &[BelievedGrant<'_>], context: &Context) -> Option<View> {
        if self.is_vacant(now, context) {
            return Some(View::Vacant);
        }
        let quorums = context.membership.quorums();
        let (who, fence, until) = leadership(live.iter().map(BelievedGrant::grant), quorums)?;
        let alike = live.iter().filter(|named| named.grant().is_of(who, fence));
        let latest = alike.clone().map(|grant| grant.holder).max_by_key(|holder| holder.start)?;
        Some(View::Leader(LeaderView {
            id: who.name.clone().into(),
            value: latest.value.clone().into(),
            fence: Some(fence),
            until: Some(until),
            incarnation: Some(who.inc.0),
            address: Some(latest.address),
            // The report of a single grantor suffices, because a fence belongs to one leadership.
            leaving: alike.clone().filter_map(|grant| grant.leaving).max(),
            heard: alike.map(|grant| grant.asked).min(),
        }))
    }

    fn live(&self, now: Time, context: &Context) -> impl Iterator<Item = BelievedGrant<'_>> {
        self.fresh(now, context).filter_map(move |(member, heard)| {
            let (until, holder) = heard.holder.as_ref()?;
            let (until, leaving) = (*until, heard.leaving);
            let (member, asked) = (*member, heard.start);
            (now < until).then_some(BelievedGrant { member, asked, until, holder, leaving })
        })
    }

    /// Whether an incarnation holds a quorum of grants, but some of them without an announced
    /// fence: the holder is about to lead, or leads and announces the fence with its next request.
    /// The observer asks again one round trip later, but only for `patience`, because the holder
    /// may never lead.
    fn is_won(&mut self, now: Time, context: &Context) -> bool {
        let since = *self.won_since.get_or_insert_with(|| {
            let soon = context.config.round_trip.saturating_mul(2).max(Duration::from_millis(1));
            self.next_at = self.next_at.min(now.after(soon));
            now
        });
        now < since.after(self.patience(context))
    }
}

fn holds_quorum(grants: &[BelievedGrant<'_>], quorums: &Quorums) -> bool {
    grants.iter().any(|one| {
        let its = grants.iter().filter(|other| other.holder.who == one.holder.who);
        quorums.is_quorum(its.map(|grant| grant.member).collect())
    })
}
