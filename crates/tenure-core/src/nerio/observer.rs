//! Finding the leader by asking the grantors (section 10.4).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::body::{Holder, Query, Service, State};
use super::by_member::ByMember;
use super::config::Checked;
use super::event::Event;
use super::identity::{Instance, Mark};
use super::named_leader::{LiveGrant, leadership};
use super::quorum::{MemberSet, Quorums};
use super::roster::replaced;
use super::words::{Effect, Out, To, send};
use crate::deadlines::{Booking, Deadlines};
use crate::name::ElectionName;
use crate::time::Time;
use crate::view::{LeaderView, View};

/// Follows one election from outside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observer {
    election: ElectionName,
    every: Duration,
    next_at: Time,
    last_start: Time,
    answers: ByMember<Heard>,
    view: Option<View>,
    began: Time,
    /// Since when somebody holds a quorum of grants and has not announced its fence.
    won_since: Option<Time>,
    booking: Booking,
}

/// The latest word of one grantor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Heard {
    start: Time,
    /// Since when nobody holds its grant, at the latest, if nobody does and its word counts.
    free_since: Option<Time>,
    /// Until when at least its grant lasts, and who holds it.
    holder: Option<(Time, Box<Holder>)>,
    /// Until about when that one is held up by a promise, if it leads no more.
    leaving: Option<Time>,
    /// Which memory says so, and which ones it knows.
    instance: Instance,
    memories: Vec<Mark>,
}

/// The grant of one member, as it is still believed in.
struct Named<'a> {
    member: usize,
    until: Time,
    holder: &'a Holder,
    leaving: Option<Time>,
}

impl Named<'_> {
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
            booking: Booking::default(),
        }
    }

    /// Asks the grantors if it is time, and tells if what is known has changed with time alone.
    pub(super) fn run_due(&mut self, now: Time, config: &Checked, out: &mut Out) {
        if now >= self.next_at && now > self.last_start {
            self.last_start = now;
            for member in 0..config.members.len() {
                let query = Query { election: self.election.clone(), start: now };
                send(out, To::Member(member), query);
            }
            self.next_at = now.after(self.every);
        }
        self.tell(now, config, out);
    }

    /// A grantor answered.
    pub(super) fn on_state(
        &mut self,
        now: Time,
        member: usize,
        state: State,
        config: &Checked,
        out: &mut Out,
    ) {
        let newer = |known: &Heard| known.start < state.start;
        if state.start <= self.last_start && self.answers.get(member).is_none_or(newer) {
            // What is left of a lease counts from the question (readings).
            let start = state.start;
            let free = state.service == Service::Serving && state.holder.is_none();
            let here = |span| config.drift.shrink(config.drift.real_at_least(span));
            let free_since = free.then(|| now.before(here(state.free_for)));
            let until = |holder: &Holder| start.after(here(holder.remaining));
            let holder = state.holder.map(|holder| (until(&holder), holder));
            let leaves = |(_, holder): &(Time, Box<Holder>)| holder.leaving;
            let leaving = holder.as_ref().and_then(leaves).map(|held| now.after(here(held)));
            let (instance, memories) = (state.instance, state.memories);
            let heard = Heard { start, free_since, holder, leaving, instance, memories };
            self.answers.insert(member, heard);
        }
        self.run_due(now, config, out);
    }

    /// Puts down when to ask again, or when what is known runs out.
    pub(super) fn book(&mut self, deadlines: &mut Deadlines) {
        let due = Some(self.due());
        deadlines.set(&mut self.booking, &self.election, due);
    }

    /// Nothing is due any more.
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

    fn tell(&mut self, now: Time, config: &Checked, out: &mut Out) {
        let live: Vec<Named<'_>> = self.live(now, config).collect();
        let seen = self.look(now, &live, config);
        let holds = seen.is_none() && holds_quorum(&live, &config.quorums);
        let is_won = holds && self.is_won(now, config);
        if !holds {
            self.won_since = None;
        }
        let view = match (seen, &self.view) {
            (Some(view), _) => view,
            (None, Some(View::Unknown { since })) => View::Unknown { since: *since },
            // It has given up, or its grants have moved: the answers to the next question say.
            (None, Some(View::Leader(LeaderView { until: Some(until), .. })))
                if now < *until && (is_won || self.are_free(now, config)) =>
            {
                return;
            }
            (None, Some(View::Vacant)) if is_won => return,
            // Before the first answers could have come there is nothing to tell.
            (None, None) if is_won || now < self.began.after(self.patience(config)) => return,
            (None, _) => View::Unknown { since: now },
        };
        if self.view.as_ref() != Some(&view) {
            self.view = Some(view.clone());
            let (election, event) = (Some(self.election.clone()), Event::View(view.into()));
            out.push(Effect::Emit { election, event });
        }
    }

    /// How old a grantor's word may be before it no longer counts.
    fn patience(&self, config: &Checked) -> Duration {
        self.every.saturating_mul(3).saturating_add(config.round_trip.saturating_mul(4))
    }

    /// The words that still count: not those of a memory of which another member knows a later one.
    fn fresh(&self, now: Time, config: &Checked) -> impl Iterator<Item = &(usize, Heard)> + Clone {
        let patience = self.patience(config);
        let fresh = self.answers.iter().filter(move |(_, heard)| now.since(heard.start) < patience);
        let words = fresh.clone().map(|(member, heard)| {
            let known: &[Mark] = &heard.memories;
            (*member, heard.instance, known)
        });
        let replaced = replaced(words, config).map_or(MemberSet::EMPTY, |(members, _)| members);
        fresh.filter(move |(member, _)| !replaced.contains(*member))
    }

    /// Whether a quorum of grantors was free, each at some time not long ago.
    fn are_free(&self, now: Time, config: &Checked) -> bool {
        let free = self.fresh(now, config).filter(|(_, heard)| heard.free_since.is_some());
        config.quorums.is_quorum(free.map(|(member, _)| *member).collect())
    }

    /// Whether at one instant, not long ago, a quorum of grantors was free. That each of them was
    /// free at some time is not enough: a leader may have moved from one to the other.
    fn is_vacant(&self, now: Time, config: &Checked) -> bool {
        let fresh = self.fresh(now, config);
        let free = fresh.clone().filter_map(|(member, heard)| {
            let since = heard.free_since?;
            Some((*member, since, heard.start))
        });
        // Most of the time somebody leads, and there is nothing to compare.
        free.clone().next().is_some()
            && fresh.clone().any(|(_, Heard { start: at, .. })| {
                let was_free = |(_, since, start): &(usize, Time, Time)| since <= at && at <= start;
                let free = free.clone().filter(was_free).map(|(member, ..)| member);
                config.quorums.is_quorum(free.collect())
            })
    }

    /// What a quorum of grantors agrees on, if there is such a thing.
    fn look(&self, now: Time, live: &[Named<'_>], config: &Checked) -> Option<View> {
        if self.is_vacant(now, config) {
            return Some(View::Vacant);
        }
        let (who, fence, until) = leadership(live.iter().map(Named::grant), &config.quorums)?;
        let alike = live.iter().filter(|named| named.grant().is_of(who, fence));
        let latest = alike.clone().map(|grant| grant.holder).max_by_key(|holder| holder.start)?;
        Some(View::Leader(LeaderView {
            id: who.name.clone().into(),
            value: latest.value.clone().into(),
            fence: Some(fence),
            until: Some(until),
            incarnation: Some(who.inc.0),
            address: Some(latest.address),
            // The grantors that were told say so, and of its one fence there is one leadership.
            leaving: alike.filter_map(|grant| grant.leaving).max(),
            heard: None,
        }))
    }

    /// The grants of which is known that they are live.
    fn live(&self, now: Time, config: &Checked) -> impl Iterator<Item = Named<'_>> {
        self.fresh(now, config).filter_map(move |(member, heard)| {
            let (until, holder) = heard.holder.as_ref()?;
            let (until, leaving) = (*until, heard.leaving);
            (now < until).then_some(Named { member: *member, until, holder, leaving })
        })
    }

    /// Whether somebody holds a quorum of grants and has not announced a fence with all of them:
    /// it is about to lead, or leads and its next request says so. One round trip later another
    /// question is asked; one who never leads is believed in for no longer than `patience`.
    fn is_won(&mut self, now: Time, config: &Checked) -> bool {
        let since = *self.won_since.get_or_insert_with(|| {
            let soon = config.round_trip.saturating_mul(2).max(Duration::from_millis(1));
            self.next_at = self.next_at.min(now.after(soon));
            now
        });
        now < since.after(self.patience(config))
    }
}

/// Whether a quorum of grants is held by one incarnation.
fn holds_quorum(grants: &[Named<'_>], quorums: &Quorums) -> bool {
    grants.iter().any(|one| {
        let its = grants.iter().filter(|other| other.holder.who == one.holder.who);
        quorums.is_quorum(its.map(|grant| grant.member).collect())
    })
}
