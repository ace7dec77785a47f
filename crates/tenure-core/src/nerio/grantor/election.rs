//! An election at a grantor: its holder, its waiting candidates, its released Starts.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;

use super::super::body::{Holder, Refusal, Request};
use super::super::config::Checked;
use super::super::identity::{Inc, Who};
use super::super::inventory::CandidateHere;
use super::super::message::Sender;
use super::super::oqwbs::{Term, WallTerm};
use super::super::rank::Rank;
use super::super::record::{GrantRecord, Tenancy};
use crate::deadlines::{Booking, Deadlines};
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// `A` and `F` of the paper, and the fields that our extensions add.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Grant {
    /// The part of the grant that is written before an ok leaves. The record is not flushed: it
    /// must survive a crash of this process, and need not survive a crash of the machine.
    pub(in crate::nerio) record: GrantRecord,
    /// Highest fence seen before the grant, for a repeated ok.
    pub(in crate::nerio) seen_before: Fence,
    pub(in crate::nerio) waited: bool,
    /// Candidate that the holder named as the next.
    pub(in crate::nerio) next: Option<NodeName>,
    /// Whether the previous leader had named the holder as the next.
    pub(in crate::nerio) was_next: bool,
    /// Approximate time of the release, if the holder no longer leads.
    pub(in crate::nerio) leaves_at: Option<Time>,
    /// Length of the holder's leases, as last requested. Zero after a restart, until the holder
    /// renews.
    pub(in crate::nerio) lease: Duration,
    /// F and the rest on wall clocks, with a bound on skew; `None` after a restart and a release.
    pub(in crate::nerio) wall: Option<WallTerm>,
}

impl Grant {
    pub(in crate::nerio) fn new(
        record: GrantRecord,
        lease: Duration,
        seen_before: Fence,
        waited: bool,
    ) -> Self {
        let (next, was_next, leaves_at, wall) = (None, false, None, None);
        Self { record, seen_before, waited, next, was_next, leaves_at, lease, wall }
    }

    /// γ: whether the lease is granted at `at` (section 2).
    pub(in crate::nerio) fn is_live(&self, at: Time) -> bool {
        at < self.record.finish
    }

    pub(in crate::nerio) fn is_held_by(&self, who: &Who) -> bool {
        self.record.holder == *who
    }

    pub(in crate::nerio) fn describe(&self, at: Time) -> Holder {
        Holder { value: self.record.value.clone(), lease: self.lease, ..self.rival(at) }
    }

    pub(in crate::nerio) fn refusal(&self, at: Time) -> Refusal {
        Refusal::Held { holder: Box::new(self.rival(at)), parked: false }
    }

    /// The holder as a refusal describes it to waiting candidates.
    pub(in crate::nerio) fn rival(&self, at: Time) -> Holder {
        let record = &self.record;
        Holder {
            who: record.holder.clone(),
            address: record.address,
            value: Value::default(),
            remaining: record.finish.since(at),
            start: record.start,
            priority: record.priority,
            leading: record.leading,
            next: self.was_next,
            fence: record.announced,
            leaving: self.leaves_at.map(|leaves_at| leaves_at.since(at)),
            lease: Duration::ZERO,
        }
    }
}

/// A request that waits for the grant to end. The safety argument treats a parked request like a
/// request on a slow network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct ParkedRequest {
    pub(in crate::nerio) who: Who,
    pub(in crate::nerio) address: SocketAddr,
    pub(in crate::nerio) request: Request,
    pub(in crate::nerio) term: Term,
    /// Time since which the candidate has waited here without a break.
    since: ReportedTime,
    /// Time at which the request expires: its lease would be over, or its candidate has stopped
    /// refreshing it.
    expires_at: Time,
}

impl ParkedRequest {
    pub(in crate::nerio) fn new(
        from: &Sender,
        term: Term,
        request: Request,
        config: &Checked,
    ) -> Self {
        let (who, address) = (from.who.clone(), from.address);
        let expires_at = Self::expiry(&term, config);
        Self { who, address, request, term, since: ReportedTime(term.arrival), expires_at }
    }

    fn renew(&mut self, request: Request, term: Term, config: &Checked) {
        self.expires_at = Self::expiry(&term, config);
        (self.request, self.term) = (request, term);
    }

    fn expiry(term: &Term, config: &Checked) -> Time {
        let silent = term.arrival.after(config.parked_for());
        term.finish.min(silent)
    }

    pub(in crate::nerio) fn describe(&self, at: Time) -> CandidateHere {
        CandidateHere {
            who: self.who.clone(),
            priority: self.request.priority,
            leading: self.request.leading,
            waited: at.since(self.since.0),
        }
    }

    fn rank(&self, next: Option<&NodeName>) -> Rank {
        let named = next == Some(&self.who.name);
        let Request { election, priority, leading, .. } = &self.request;
        Rank::of(election, &self.who, *priority, *leading, named)
    }
}

/// A time that is only reported: states that differ in this time alone compare as equal.
#[derive(Clone, Copy, Debug)]
struct ReportedTime(Time);

impl PartialEq for ReportedTime {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReportedTime {}

impl Hash for ReportedTime {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct ElectionState {
    pub(in crate::nerio) grant: Option<Grant>,
    pub(in crate::nerio) fence_seen: Fence,
    pub(in crate::nerio) fence_owner: Option<Tenancy>,
    parked: Vec<ParkedRequest>,
    /// Highest Start that each incarnation has released or let lapse; the oldest entry first.
    watermarks: Vec<Watermark>,
    /// Time at which a watermark was last raised. The grantor keeps the election while requests
    /// from before this time may still arrive.
    raised_at: Time,
    /// Time before which leases of earlier epochs keep all waiting requests out.
    pub(in crate::nerio) held_until: Time,
    booking: Booking,
}

/// An incarnation gave up every Start up to `start`. A watermark counts only for requests from the
/// same address, so that no other process can keep the candidate from a grant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watermark {
    who: Who,
    address: SocketAddr,
    start: Time,
}

impl Watermark {
    fn is_of(&self, who: &Who, address: SocketAddr) -> bool {
        self.who == *who && self.address == address
    }
}

impl ElectionState {
    /// The state of `election`, made if there is none. The fences of an unknown election may be
    /// anywhere up to `floor`.
    pub(in crate::nerio) fn of<'a>(
        election: &ElectionName,
        all: &'a mut BTreeMap<ElectionName, Box<Self>>,
        floor: Fence,
    ) -> &'a mut Self {
        let vacant = || Box::new(Self { fence_seen: floor, ..Self::default() });
        all.entry(election.clone()).or_insert_with(vacant)
    }

    /// The state from a record that was written since the machine last booted.
    pub(in crate::nerio) fn restore(record: GrantRecord) -> Self {
        let seen_before = record.fence_seen;
        let grant = Grant::new(record, Duration::ZERO, seen_before, true);
        Self {
            fence_seen: grant.record.fence_seen,
            fence_owner: grant.record.fence_owner.clone(),
            grant: Some(grant),
            ..Self::default()
        }
    }

    pub(in crate::nerio) fn live(&self, at: Time) -> Option<&Grant> {
        self.grant.as_ref().filter(|grant| grant.is_live(at))
    }

    /// Raises the seen fence: others have seen fences up to `seen`, possibly of this election.
    pub(in crate::nerio) fn raise_fence(&mut self, seen: Fence) {
        if self.fence_seen < seen {
            (self.fence_seen, self.fence_owner) = (seen, None);
        }
    }

    pub(in crate::nerio) fn waiting(&self) -> usize {
        self.parked.len()
    }

    pub(in crate::nerio) fn waiters(&self, at: Time) -> impl Iterator<Item = &ParkedRequest> {
        self.parked.iter().filter(move |parked| at < parked.expires_at)
    }

    /// Whether `name` waits with a request that is still fresh.
    pub(in crate::nerio) fn waits(&self, name: &NodeName, at: Time) -> bool {
        self.parked.iter().any(|p| p.who.name == *name && at < p.expires_at)
    }

    /// Another incarnation with the name of `who`, if it holds the grant or waits at the instant
    /// `at`.
    pub(in crate::nerio) fn namesake(&self, who: &Who, at: Time) -> Option<(Inc, SocketAddr)> {
        let holder = self.live(at).map(|grant| (&grant.record.holder, grant.record.address));
        let waiting = self.waiters(at).map(|parked| (&parked.who, parked.address));
        let mut all = holder.into_iter().chain(waiting);
        let is_other =
            |(other, _): &(&Who, SocketAddr)| other.inc != who.inc && other.name == who.name;
        all.find(is_other).map(|(other, address)| (other.inc, address))
    }

    /// The first of the waiting candidates, if its request was refreshed within two refresh
    /// intervals.
    pub(in crate::nerio) fn first_waiting(&self, at: Time, config: &Checked) -> Option<&NodeName> {
        let lately = config.heard_within();
        let heard = |p: &&ParkedRequest| at.since(p.term.arrival) < lately;
        let best = self.parked.iter().filter(heard).max_by_key(|p| p.rank(None))?;
        Some(&best.who.name)
    }

    /// Parks a request until the grant ends; true if there was room. The queue keeps one request
    /// for each incarnation, from the address that came first; a higher Start replaces a lower one.
    /// Beyond the bound the grantor evicts the request that ranks lowest.
    pub(in crate::nerio) fn park(
        &mut self,
        from: &Sender,
        request: Request,
        term: Term,
        config: &Checked,
    ) -> bool {
        match self.parked.iter_mut().find(|other| other.who == from.who) {
            Some(other) if other.address != from.address => false,
            Some(other) => {
                if other.request.start < request.start {
                    other.renew(request, term, config);
                }
                true
            }
            None => {
                self.parked.push(ParkedRequest::new(from, term, request, config));
                if self.parked.len() <= config.limits.parked {
                    return true;
                }
                let next = self.grant.as_ref().and_then(|grant| grant.next.clone());
                let ranked = self.parked.iter().enumerate();
                let lowest = ranked.min_by_key(|(_, p)| p.rank(next.as_ref())).map(|(at, _)| at);
                lowest.is_none_or(|lowest| self.parked.swap_remove(lowest).who != from.who)
            }
        }
    }

    pub(in crate::nerio) fn unpark(&mut self, who: &Who) {
        self.parked.retain(|p| p.who != *who);
    }

    /// Drops the request of `who` from `address`; true if there was one.
    pub(in crate::nerio) fn unpark_from(&mut self, who: &Who, address: SocketAddr) -> bool {
        let waited = self.parked.len();
        self.parked.retain(|p| p.who != *who || p.address != address);
        self.parked.len() < waited
    }

    /// Ends the grant at `at`, whatever its Start, if `who` holds it from `address`.
    pub(in crate::nerio) fn end_grant(&mut self, at: Time, who: &Who, address: SocketAddr) -> bool {
        let its = |grant: &&mut Grant| {
            grant.is_live(at) && grant.is_held_by(who) && grant.record.address == address
        };
        let Some(grant) = self.grant.as_mut().filter(its) else { return false };
        (grant.record.finish, grant.wall) = (at, None);
        true
    }

    /// Drops requests that can no longer be granted; true if any of them waited.
    pub(in crate::nerio) fn drop_expired(&mut self, at: Time) -> bool {
        let waited = self.parked.len();
        self.parked.retain(|p| at < p.expires_at);
        self.parked.len() < waited
    }

    /// Takes the request that ranks first among the candidates that `is_free` admits out of the
    /// queue. Forgets the candidate that the holder named as `next`.
    pub(in crate::nerio) fn take_first(
        &mut self,
        is_free: impl Fn(&Who) -> bool,
    ) -> Option<(ParkedRequest, bool)> {
        let next = self.grant.as_mut().and_then(|grant| grant.next.take());
        let waiting = self.parked.iter().enumerate().filter(|(_, p)| is_free(&p.who));
        let ranked = waiting.map(|(at, p)| (at, p.rank(next.as_ref())));
        let (at, rank) = ranked.max_by_key(|(_, rank)| *rank)?;
        Some((self.parked.swap_remove(at), rank.next))
    }

    /// Notes that `who`, speaking from `address`, gave up every Start up to `start`; true if such a
    /// request waited here.
    pub(in crate::nerio) fn raise_watermark(
        &mut self,
        at: Time,
        (who, address): (&Who, SocketAddr),
        start: Time,
        bound: usize,
    ) -> bool {
        self.raised_at = self.raised_at.max(at);
        match self.watermarks.iter_mut().find(|mark| mark.is_of(who, address)) {
            Some(mark) => mark.start = mark.start.max(start),
            None => {
                if self.watermarks.len() >= bound {
                    self.watermarks.remove(0);
                }
                self.watermarks.push(Watermark { who: who.clone(), address, start });
            }
        }
        let waited = self.parked.len();
        let other = |p: &ParkedRequest| p.who != *who || p.address != address;
        self.parked.retain(|p| other(p) || p.request.start > start);
        self.parked.len() < waited
    }

    pub(in crate::nerio) fn is_released(
        &self,
        who: &Who,
        address: SocketAddr,
        start: Time,
    ) -> bool {
        let given_up = |mark: &Watermark| mark.is_of(who, address) && start <= mark.start;
        self.watermarks.iter().any(given_up)
    }

    pub(in crate::nerio) fn book(
        &mut self,
        name: &ElectionName,
        config: &Checked,
        deadlines: &mut Deadlines,
    ) {
        let due = Some(self.due(config));
        deadlines.set(&mut self.booking, name, due);
    }

    /// The earliest of: the end of the grant if candidates wait, the end of a waiting request, and
    /// the time at which the grantor may forget the election.
    fn due(&self, config: &Checked) -> Time {
        let finish = self.grant.as_ref().map_or(Time::ZERO, |grant| grant.record.finish);
        let finish = finish.max(self.held_until);
        match self.parked.iter().map(|p| p.expires_at).min() {
            Some(expiry) => finish.min(expiry),
            None => self.forgettable_at(config),
        }
    }

    /// The time after which every message that could matter to this election has lapsed.
    pub(in crate::nerio) fn forgettable_at(&self, config: &Checked) -> Time {
        let finish = self.grant.as_ref().map_or(Time::ZERO, |grant| grant.record.finish);
        finish.max(self.raised_at).after(config.quarantine())
    }

    /// Whether neither the grant nor a waiting request matters any more.
    pub(in crate::nerio) fn is_forgettable(&self, at: Time, config: &Checked) -> bool {
        self.parked.is_empty() && at >= self.forgettable_at(config)
    }
}

/// The rank of the holder that a refusal names. The refused candidate computes the same rank.
pub(in crate::nerio) fn holder_rank(election: &ElectionName, holder: &Holder) -> Rank {
    Rank::of(election, &holder.who, holder.priority, holder.leading, holder.next)
}
