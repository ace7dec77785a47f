//! The grantor: steps 4 to 6 of OQwBD, with state `A` and `F`. It alone carries the safety
//! argument.

mod election;
mod fences;
mod flush;
mod founding;
mod incarnations;
mod inventory;
mod listing;
mod memories;
mod order;
mod phase;
mod query;
mod raise;
mod reading;
mod recovery;
mod writes;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use core::net::SocketAddr;

pub(super) use self::election::holder_rank;
use self::election::{ElectionState, Grant, Parked};
use self::fences::Fences;
pub(super) use self::fences::REACH;
use self::flush::Flush;
use self::incarnations::Incarnations;
#[cfg(test)]
pub(super) use self::inventory::{CANDIDATES_BYTES, ELECTIONS_BYTES};
use self::listing::Listing;
#[cfg(test)]
pub(super) use self::listing::PAGE_BYTES;
use self::memories::Memories;
use self::phase::Phase;
use self::raise::Raise;
use self::writes::{Entry, Writes};
use super::body::{
    FenceSeen, Granted, Query, Refusal, Refused, Release, Released, Request, Service, State,
};
use super::config::Checked;
use super::event::{Ignored, OwnEvent};
use super::identity::{Boot, Instance, Stamp};
use super::memory::{Kept, Memory};
use super::message::{Sender, ToGrantor};
use super::record::{GrantRecord, Record, Tenancy};
use super::timer::Timer;
use super::words::{Effect, Out, To, emit, send};
use crate::contract::Ticket;
use crate::deadlines::Deadlines;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};
use crate::time::{Deadline, Time};

/// The grantor of a node, for all elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Grantor {
    config: Checked,
    name: NodeName,
    instance: Instance,
    boot: Boot,
    /// The largest lease length ever allowed here.
    delta_max: core::time::Duration,
    /// A larger one than before that is not given yet.
    raise: Option<Raise>,
    /// When this incarnation began.
    started: Time,
    /// Until when a leader that asked this incarnation may lead.
    leader_until: Time,
    /// Whether its memory was lost, or is new, and nobody relies on the present one yet.
    joins: bool,
    /// Whether it says which memory it has when it serves.
    says_memory: bool,
    /// Whether enough others answer for it to serve once they have written its memory down: before
    /// that they are not told to.
    records: bool,
    /// Since when enough that remember have written its memory down.
    remembered: Option<Time>,
    /// Since when enough others have written down that this is its memory: what an earlier one may
    /// have granted is waited out from then on.
    recorded: Option<Time>,
    memories: Memories,
    phase: Phase,
    serving_since: Time,
    fences: Fences,
    elections: BTreeMap<ElectionName, ElectionState>,
    /// Those that a release opened, and no grant since: anybody can name elections.
    early: BTreeSet<ElectionName>,
    deadlines: Deadlines,
    listing: Listing,
    incarnations: Incarnations,
    last_stamp: Stamp,
    last_ticket: Ticket,
    writes: Writes,
}

impl Grantor {
    /// A grantor that has not started yet.
    pub(super) fn new(config: Checked, name: NodeName) -> Self {
        Self {
            delta_max: config.delta_max,
            raise: None,
            started: Time::ZERO,
            leader_until: Time::ZERO,
            joins: false,
            says_memory: false,
            records: false,
            remembered: None,
            recorded: None,
            memories: Memories::default(),
            config,
            name,
            instance: Instance(0),
            boot: Boot(0),
            phase: Phase::Unborn,
            serving_since: Time::ZERO,
            fences: Fences::new(Fence::NONE),
            elections: BTreeMap::new(),
            early: BTreeSet::new(),
            deadlines: Deadlines::default(),
            listing: Listing::default(),
            incarnations: Incarnations::default(),
            last_stamp: Stamp { boot: Boot(0), clock: Time::ZERO, counter: 0 },
            last_ticket: Ticket(0),
            writes: Writes::default(),
        }
    }

    /// Handles a message that is meant for a grantor.
    pub(super) fn on_message(
        &mut self,
        now: Time,
        from: &Sender,
        message: ToGrantor,
        out: &mut Out,
    ) {
        self.settle(out);
        match message {
            ToGrantor::Request(request) => self.on_request(now, from, request, out),
            ToGrantor::Release(release) => self.on_release(now, from, &release, out),
            ToGrantor::Leaving(leaving) => self.on_leaving(now, from, &leaving, out),
            ToGrantor::Query(query) => self.on_query(now, from, &query, out),
            ToGrantor::List(list) => self.on_list(now, from, &list, out),
            ToGrantor::Elections(asked) => self.on_elections(now, from, &asked, out),
            ToGrantor::Candidates(asked) => self.on_candidates(now, from, &asked, out),
            ToGrantor::Order(order) => self.on_order(now, from, &order, out),
            ToGrantor::FenceRead(read) => self.on_fence_read(now, from, &read, out),
        }
    }

    /// Does what is due at `now`.
    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Out) {
        self.settle(out);
        self.on_incarnation_due(now, out);
        self.on_memories_due(now, out);
        self.on_raise_due(now, out);
        self.on_hang_due(now, out);
        for election in self.deadlines.take_due(now) {
            self.handle_waiting(now, &election, out);
            self.forget_if_over(now, &election, out);
            self.schedule(&election);
        }
        // Last, because what follows a write that fails is dropped.
        self.write_again(now, out);
    }

    /// When it wants to be called again.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let state = self.deadlines.first().map(|at| Timer::GrantEnd.at(at));
        let raise = self.raise.as_ref().and_then(Raise::due);
        let (memories, writes) = (self.memories.due(), self.writes.due());
        let all = [self.phase.due(), memories, raise, state, writes, self.hang_due()];
        all.into_iter().fold(None, Deadline::first)
    }

    /// What it says of itself to others.
    pub(super) fn service(&self, now: Time) -> Service {
        let service = self.phase.service(now);
        let fails =
            self.writes.hangs() || (service == Service::Serving && self.writes.is_failing());
        if fails { Service::Failing } else { service }
    }

    /// Step 4: a sample that is strictly greater than every one before it.
    fn sample(&mut self, now: Time) -> Stamp {
        let stamp = Stamp { boot: self.boot, clock: now, counter: 0 };
        let stamp = match self.last_stamp {
            last if last.boot < self.boot || last.clock < now => stamp,
            last => match last.counter.checked_add(1) {
                Some(counter) => Stamp { counter, ..last },
                None => Stamp { clock: last.clock.next(), counter: 0, ..last },
            },
        };
        debug_assert!(stamp > self.last_stamp || now == Time::MAX, "I3: samples increase");
        self.last_stamp = stamp;
        stamp
    }

    fn on_request(&mut self, now: Time, from: &Sender, request: Request, out: &mut Out) {
        let shared = self.meet(now, from, &request, out);
        if request.leading {
            self.hear_of_leader(now, request.lease.max(request.delta));
        }
        let election = &request.election;
        if request.delta.is_zero() {
            return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Empty));
        }
        let released = |o: &ElectionState| o.is_released(&from.who, from.address, request.start);
        let state = self.state(election);
        if state.is_some_and(released) {
            return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Released));
        }
        if let Some(refusal) = self.inadmissible(now, &request, state) {
            return self.refuse(from, (election, request.start), refusal, shared, out);
        }
        // Those who wait go first, even if the timer that should have said so is late: the order
        // of arrival differs from grantor to grantor.
        let others_wait = state.is_some_and(|state| state.waiting() > 0);
        if others_wait && self.handle_waiting(now, election, out) {
            self.schedule(election);
            // The request granted just now may have taken the place of this request's own lease.
            if self.state(election).is_some_and(released) {
                return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Released));
            }
        }
        let stamp = self.sample(now);
        let at = stamp.clock;
        let state = self.state(election);
        match state.and_then(|state| state.grant.as_ref()) {
            Some(grant) if grant.is_held_by(&from.who) => {
                let record = &grant.record;
                if grant.is_live(at) && record.address != from.address {
                    let holder = record.address;
                    let (who, other) = (from.who.clone(), from.address);
                    let event = OwnEvent::AddressContested { who, holder, other };
                    emit(out, Some(election.clone()), event);
                    let refusal = Refusal::OtherAddress { holder };
                    return self.refuse(from, (election, request.start), refusal, shared, out);
                }
                // `gs` is never overwritten by an older duplicate (parked requests 3).
                if request.start < record.start {
                    return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Stale));
                }
                if request.start == record.start {
                    return self.repeat(at, election, out);
                }
            }
            Some(grant) if grant.is_live(at) && !self.is_told(election) => {
                return self.refuse(from, (election, request.start), Refusal::Disk, shared, out);
            }
            Some(grant) if grant.is_live(at) => {
                let holder = Box::new(grant.rival(at));
                return self.park(at, from, request, holder, shared, out);
            }
            Some(_) | None => {}
        }
        let election = election.clone();
        let asked = Parked::new(from, request, at, &self.config);
        self.grant(stamp, asked, None, out);
        self.schedule(&election);
    }

    /// Checks that hold for a request whenever it is handled, on arrival or after waiting.
    fn inadmissible(
        &self,
        now: Time,
        request: &Request,
        state: Option<&ElectionState>,
    ) -> Option<Refusal> {
        match self.phase.service(now) {
            Service::Serving => {}
            // The leader too (restart 1): two could lead otherwise.
            Service::Quarantine { remaining } => return Some(Refusal::Quarantine { remaining }),
            Service::Starting if !self.writes.hangs() => return Some(Refusal::Starting),
            Service::Starting => return Some(Refusal::Disk),
            Service::Recovering { known } => return Some(Refusal::Recovering { known }),
            Service::Replaced => return Some(Refusal::Replaced),
            Service::Failing => return Some(Refusal::Disk),
        }
        // A first lease is short. A candidate that cannot have a full one after it must not lead.
        let (lease, delta_max) = (request.delta.max(request.lease), self.longest());
        if lease > delta_max {
            return Some(Refusal::TooLong { lease, delta_max });
        }
        if self.fences.is_too_far(state, request.fence) {
            return Some(Refusal::FenceTooFar);
        }
        let has_record = state.is_some_and(|state| state.grant.is_some());
        if self.writes.refuses(now, &request.election, has_record) {
            return Some(Refusal::Disk);
        }
        if !self.has_room_for(&request.election, state) {
            return Some(Refusal::Full);
        }
        None
    }

    /// Whether one more election may be granted. Those that only a release opened have room of
    /// their own.
    fn has_room_for(&self, election: &ElectionName, state: Option<&ElectionState>) -> bool {
        let known = state.is_some() && !self.early.contains(election);
        known || self.elections.len() - self.early.len() < self.config.limits.elections
    }

    /// Step 6: grants the lease. `taken` is the sample of the free test and goes into the quorum
    /// timestamp; the lease counts from the arrival of the request, which bounds its Start.
    fn grant(&mut self, taken: Stamp, asked: Parked, waited: Option<bool>, out: &mut Out) {
        let Parked { who, address, request, arrival, .. } = asked;
        self.early.remove(&request.election);
        let floor = self.fences.floor();
        let state = ElectionState::of(&request.election, &mut self.elections, floor);
        let before = state.grant.take();
        let entry = if before.is_none() { Entry::New } else { Entry::Renewed };
        let same = before.as_ref().filter(|grant| grant.record.holder == who);
        let mut finish = arrival.after(self.config.drift.stretch(request.delta));
        if let Some(before) = &before {
            // F never goes back while granted (section 3, step 6.1).
            finish = finish.max(before.record.finish);
            let ended = same.is_some() || !before.is_live(taken.clock);
            debug_assert!(ended, "I1: A changes only when the grant has ended");
            let grows = same.is_none_or(|grant| grant.record.start < request.start);
            debug_assert!(grows, "I4: gs grows with each grant to one holder");
        }
        let was_next = waited == Some(true) || same.is_some_and(|grant| grant.was_next);
        let changed = same.is_none();
        if let Some(before) = before.filter(|_| changed) {
            // A Start that has lapsed is not granted after another held it (parked requests 5).
            let (other, start) = (before.record.holder, before.record.start);
            let (from, bound) = ((&other, before.record.address), self.config.limits.watermarks);
            state.raise_watermark(taken.clock, from, start, bound);
        }
        let (seen_before, highest) = (state.fence_seen, state.fence_seen.max(request.fence));
        let tenancy = Tenancy { who: who.clone(), first: request.first };
        let accepted = self.fences.propose(state, request.fence, &tenancy);
        state.unpark(&who);
        let record = GrantRecord {
            election: request.election.clone(),
            holder: who.clone(),
            address,
            value: request.value,
            start: request.start,
            finish,
            stamp: taken,
            priority: request.priority,
            leading: request.leading,
            announced: request.announced,
            accepted,
            fence_seen: state.fence_seen,
            fence_owner: state.fence_owner.clone(),
        };
        let (waited, next) = (waited.is_some(), request.next);
        let grant = Grant::new(record, request.lease, seen_before, waited);
        state.grant = Some(Grant { next, was_next, ..grant });
        self.answer(taken.clock, &request.election, entry, out);
        if changed {
            // Said when it is written, and after the ok, for which somebody waits.
            emit(out, Some(request.election.clone()), OwnEvent::Granted { to: who });
        }
        self.reserve_if_short(taken.clock, highest, out);
    }

    /// Writes the grant down and sends its ok. Every ok goes this way, a repeated one too, so
    /// that none leaves whose grant could be forgotten.
    fn answer(&mut self, at: Time, election: &ElectionName, entry: Entry, out: &mut Out) {
        self.writes.put(election, entry);
        let Some(state) = self.state(election) else { return };
        let Some(grant) = &state.grant else { return };
        let record = &grant.record;
        let next_waits = grant.next.as_ref().is_some_and(|next| state.waits(next, at));
        let granted = Granted {
            election: election.clone(),
            asker: record.holder.inc,
            start: record.start,
            instance: self.instance,
            memories: self.marks(),
            stamp: record.stamp,
            accepted: record.accepted,
            seen: grant.seen_before,
            waited: grant.waited,
            next_waits,
            waiting: state.first_waiting(at, &self.config).cloned(),
        };
        out.push(Effect::Persist(record.clone().into()));
        send(out, record.address, granted);
    }

    /// A request that was granted before: the same ok again, and F is not extended.
    fn repeat(&mut self, at: Time, election: &ElectionName, out: &mut Out) {
        if self.state(election).is_some_and(|state| state.live(at).is_some()) {
            self.answer(at, election, Entry::Renewed, out);
        } else {
            emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Stale));
        }
    }

    fn park(
        &mut self,
        at: Time,
        from: &Sender,
        request: Request,
        holder: Box<super::body::Holder>,
        shared: Option<SocketAddr>,
        out: &mut Out,
    ) {
        let (election, start) = (request.election.clone(), request.start);
        let Some(state) = self.elections.get_mut(&election) else { return };
        state.drop_expired(at);
        let parked = state.park(from, request, at, &self.config);
        state.book(&election, &self.config, &mut self.deadlines);
        let (seen, asker, name_shared) = (state.fence_seen, from.who.inc, shared);
        let refusal = Refusal::Held { holder, parked };
        let refused = Refused { election, asker, start, refusal, seen, name_shared };
        send(out, from.address, refused);
    }

    fn refuse(
        &self,
        from: &Sender,
        (election, start): (&ElectionName, Time),
        refusal: Refusal,
        name_shared: Option<SocketAddr>,
        out: &mut Out,
    ) {
        let seen = self.fences.seen(self.state(election));
        let (election, asker) = (election.clone(), from.who.inc);
        let refused = Refused { election, asker, start, refusal, seen, name_shared };
        send(out, from.address, refused);
    }

    /// Section 6, with erratum 4: a release ends what it names and nothing else.
    fn on_release(&mut self, now: Time, from: &Sender, release: &Release, out: &mut Out) {
        let election = release.election.clone();
        let serving = self.phase == Phase::Serving;
        let (asker, start) = (from.who.inc, release.start);
        let released = Released { election: election.clone(), asker, start };
        if self.state(&election).is_none() && !self.remember_early(&election) {
            // There is nothing to give up. A request that it overtook may be granted for a while.
            emit(out, Some(election), OwnEvent::Ignored(Ignored::Full));
            return send(out, from.address, released);
        }
        let at = self.sample(now).clock;
        let floor = self.fences.floor();
        let state = ElectionState::of(&election, &mut self.elections, floor);
        let holds = state.live(at).filter(|grant| grant.is_held_by(&from.who));
        if let Some(grant) = holds
            && grant.record.address != from.address
        {
            let (who, holder) = (from.who.clone(), grant.record.address);
            let event = OwnEvent::AddressContested { who, holder, other: from.address };
            return emit(out, Some(election), event);
        }
        let ends = holds.is_some_and(|grant| release.start >= grant.record.start);
        let (by, bound) = ((&from.who, from.address), self.config.limits.watermarks);
        let unparked = state.raise_watermark(at, by, release.start, bound);
        if ends && !serving {
            // A release ends no quarantine (restart 3). Not confirmed, it comes again when it can
            // be carried out.
            self.schedule(&election);
            return emit(out, Some(election), OwnEvent::Ignored(Ignored::NotServing));
        }
        if ends {
            if let Some(grant) = &mut state.grant {
                grant.record.finish = at;
                grant.next = release.next.clone().or(grant.next.take());
            }
            emit(out, Some(election.clone()), OwnEvent::Freed { by: from.who.clone() });
            self.handle_waiting(now, &election, out);
        } else if !unparked {
            emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::NotTheHolder));
        }
        send(out, from.address, released);
        self.schedule(&election);
    }

    /// Whether there is room to remember a release of an election that is not known here. Room of
    /// its own, and little: strangers must not take that of elections.
    fn remember_early(&mut self, election: &ElectionName) -> bool {
        let few = self.early.len() < self.config.limits.watermarks;
        few && self.early.insert(election.clone())
    }

    /// When the grant has ended, handles one waiting request: all checks again, a fresh sample.
    /// Says whether anything has changed with the grant or with those who wait.
    fn handle_waiting(&mut self, now: Time, election: &ElectionName, out: &mut Out) -> bool {
        let taken = self.sample(now);
        let Some(state) = self.elections.get_mut(election) else { return false };
        let mut changed = state.drop_expired(taken.clock);
        if state.live(taken.clock).is_some() {
            return changed;
        }
        while let Some(state) = self.elections.get_mut(election)
            && state.live(taken.clock).is_none()
            && let Some((parked, was_next)) = state.take_first()
        {
            changed = true;
            let start = parked.request.start;
            let refused = state.is_released(&parked.who, parked.address, start)
                || self.inadmissible(now, &parked.request, self.state(election)).is_some();
            if refused {
                continue;
            }
            self.grant(taken, parked, Some(was_next), out);
            break;
        }
        changed
    }

    /// Drops an election of which nothing matters any more; the floor keeps its fences.
    fn forget_if_over(&mut self, now: Time, election: &ElectionName, out: &mut Out) {
        let Some(state) = self.elections.get(election) else { return };
        if state.is_forgettable(now, &self.config) {
            self.fences.raise_floor(state.fence_seen);
            self.elections.remove(election);
            self.early.remove(election);
            let record = Record::Forget(election.clone());
            self.persist(election, record, Entry::Forgotten, out);
        }
    }

    fn schedule(&mut self, election: &ElectionName) {
        let Some(state) = self.elections.get_mut(election) else { return };
        state.book(election, &self.config, &mut self.deadlines);
    }

    fn state(&self, election: &ElectionName) -> Option<&ElectionState> {
        self.elections.get(election)
    }
}
