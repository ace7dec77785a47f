//! The grantor: state `A` and `F` of each election, and the rest of its state.
//!
//! The grantor's steps of OQwBD are in [`oqwbd`](super::oqwbd). This file has the checks of a
//! request on arrival and after waiting, and the bounds on elections and waiting requests.
//! `ARCHITECTURE.md` lists the other files by their decisions.

mod admissions;
mod changes;
mod disk;
mod documents;
mod election;
mod fences;
mod finding;
mod flush;
mod founding;
mod founding_votes;
mod inherited;
pub(super) mod inventory;
mod joining;
mod left_behind;
pub(super) mod listing;
mod longer_leases;
mod lost_memory;
mod memories;
mod memory_reports;
mod order;
mod partial;
mod phase;
mod proposals;
mod query;
mod shared_names;
mod start;
mod supervision;
mod votes;
mod writes;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use self::admissions::Admissions;
use self::changes::Changes;
use self::documents::Documents;
pub(super) use self::election::{ElectionState, Grant, ParkedRequest, holder_rank};
use self::fences::Fences;
pub(super) use self::fences::REACH;
use self::inherited::Inherited;
use self::joining::Joining;
use self::longer_leases::Raise;
use self::lost_memory::Recorded;
use self::memories::Memories;
pub(super) use self::phase::Phase;
use self::proposals::Proposals;
use self::shared_names::{Incarnations, Meeting};
use self::supervision::Supervision;
use self::votes::Votes;
pub(super) use self::writes::Entry;
use self::writes::Writes;
use super::body::{Refusal, Refused, Request, Service};
use super::config::Checked;
use super::epoch::{Membership, Vote};
use super::event::{Ignored, OwnEvent};
use super::identity::{Boot, Inc, Instance, Stamp, Who};
use super::message::{Sender, ToGrantor};
use super::record::Record;
use super::timer::Timer;
use super::words::{Out, emit, send};
use crate::clocks::BothClocks;
use crate::contract::Ticket;
use crate::deadlines::Deadlines;
use crate::draw::Draw;
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Grantor {
    pub(super) config: Checked,
    /// The members of the epoch in which this grantor grants.
    pub(super) membership: Arc<Membership>,
    /// The previous epoch, while its leases may last.
    before: Option<Arc<Membership>>,
    /// The decided epoch that does not name this memory: the grantor no longer grants.
    removed: Option<Arc<Membership>>,
    who: Who,
    draw: Draw,
    pub(super) instance: Instance,
    pub(super) boot: Boot,
    delta_max: Duration,
    /// A larger `delta_max` that the grantor does not give yet.
    raise: Option<Raise>,
    started: Time,
    /// Time of the next question for the epochs of the others.
    ask_epoch_at: Time,
    /// Latest time until which a leader that sent requests to this incarnation may lead.
    leader_until: Time,
    /// Whether the grantor's memory was lost or is new, and no member relies on the present memory
    /// yet.
    joins: bool,
    /// Whether this start writes down the members of the settings as those of the memory.
    enters: bool,
    /// Whether the memory has entered no epoch.
    blank: bool,
    /// Whether this node takes its own clock to be wrong.
    pub(super) has_wrong_clock: bool,
    /// Clock of the machine at the start, in milliseconds since 1970, if the memory outlives its
    /// process.
    wall: Option<u64>,
    /// Whether the grantor reports its memory as soon as it serves.
    says_memory: bool,
    /// Whether the grantor asks members to write its memory down. The grantor asks for this once
    /// enough members have answered its first questions.
    records: bool,
    /// The instant since which enough members have written its memory down. From this instant the
    /// grantor waits for leases of an earlier memory to end.
    recorded: Option<Recorded>,
    memories: Memories,
    /// The last instant at which a newer memory of some member was heard of.
    news_at: Time,
    votes: Votes,
    proposals: Proposals,
    changes: Changes,
    admissions: Admissions,
    joining: Option<Joining>,
    pub(super) inherited: Inherited,
    documents: Documents,
    /// Time before which the grantor does not ask again which epoch others have entered.
    suspect_at: Time,
    /// Whether the epochs of this grantor have changed with this input.
    is_news: bool,
    /// Whether the first record of a grant needs a new table.
    needs_table: bool,
    /// The latest end of a grant in this epoch.
    pub(super) last_finish: Time,
    pub(super) phase: Phase,
    serving_since: Time,
    pub(super) fences: Fences,
    /// Boxed, because a B-tree leaves about a third of its room empty.
    pub(super) elections: BTreeMap<ElectionName, Box<ElectionState>>,
    /// Elections that a release opened and no grant has used. Their number is bounded, because any
    /// sender can name elections.
    pub(super) early: BTreeSet<ElectionName>,
    pub(super) deadlines: Deadlines,
    listing: Listing,
    incarnations: Incarnations,
    supervision: Supervision,
    pub(super) last_stamp: Stamp,
    last_ticket: Ticket,
    pub(super) writes: Writes,
    /// Both clocks for the present input, with a bound on skew.
    pub(super) clocks: Option<BothClocks>,
}

/// The names of all elections with a live grant, at one instant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Listing {
    collected_at: Option<Time>,
    names: Vec<ElectionName>,
}

impl Grantor {
    pub(super) fn new(config: Checked, membership: Arc<Membership>, who: Who, draw: Draw) -> Self {
        Self {
            delta_max: config.delta_max,
            raise: None,
            started: Time::ZERO,
            ask_epoch_at: Time::ZERO,
            leader_until: Time::ZERO,
            joins: false,
            enters: false,
            blank: true,
            has_wrong_clock: false,
            wall: None,
            says_memory: false,
            records: false,
            recorded: None,
            memories: Memories::default(),
            news_at: Time::ZERO,
            config,
            membership,
            before: None,
            removed: None,
            who,
            draw,
            votes: Votes::new(Vote::NONE),
            proposals: Proposals::default(),
            changes: Changes::default(),
            admissions: Admissions::default(),
            joining: None,
            inherited: Inherited::default(),
            documents: Documents::default(),
            suspect_at: Time::ZERO,
            is_news: false,
            needs_table: false,
            last_finish: Time::ZERO,
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
            supervision: Supervision::default(),
            last_stamp: Stamp { boot: Boot(0), clock: Time::ZERO, counter: 0 },
            last_ticket: Ticket(0),
            writes: Writes::default(),
            clocks: None,
        }
    }

    pub(super) fn on_message(
        &mut self,
        now: Time,
        from: &Sender,
        message: ToGrantor,
        out: &mut Out,
    ) {
        self.records_written(out);
        match message {
            ToGrantor::Request(request) if self.supervision.is_gone(from) => {
                emit(out, Some(request.election), OwnEvent::Ignored(Ignored::Gone));
            }
            ToGrantor::Request(request) => self.on_request(now, from, request, out),
            ToGrantor::Release(release) => self.on_release(now, from, &release, out),
            ToGrantor::Leaving(leaving) => self.on_leaving(now, from, &leaving, out),
            ToGrantor::Query(query) => self.on_query(now, from, &query, out),
            ToGrantor::List(list) => self.on_list(now, from, &list, out),
            ToGrantor::Elections(asked) => self.on_elections(now, from, &asked, out),
            ToGrantor::Candidates(asked) => self.on_candidates(now, from, &asked, out),
            ToGrantor::Order(order) => self.on_order(now, from, &order, out),
            ToGrantor::FenceRead(read) => self.on_fence_read(now, from, &read, out),
            ToGrantor::Where(asked) => self.say_epoch(now, from, asked.start, out),
            ToGrantor::DocumentRead(read) => self.on_document_read(from, &read, out),
            ToGrantor::Prepare(asked) => self.on_prepare(now, from, &asked, out),
            ToGrantor::Accept(asked) => self.on_accept(now, from, &asked, out),
            ToGrantor::RestsRead(read) => self.on_rests_read(now, from, &read, out),
            ToGrantor::Decided(decided) => self.on_decided(now, from, &decided, out),
            ToGrantor::ReadyRead(read) => self.on_ready_read(now, from, &read, out),
            ToGrantor::Change(change) => self.on_change(now, from, &change, out),
            ToGrantor::Admit(asked) => self.on_admit(now, from, &asked, out),
            // The node answers pings.
            ToGrantor::Ping(_) => {}
            ToGrantor::Supervisor(supervisor) => self.on_supervisor(from, supervisor),
            ToGrantor::Gone(gone) => self.on_gone(now, from, &gone, out),
            ToGrantor::Found(asked) => self.on_found(now, from, &asked, out),
        }
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Out) {
        self.records_written(out);
        self.on_incarnation_due(now, out);
        self.on_memories_due(now, out);
        self.on_raise_due(now, out);
        self.on_hang_due(now, out);
        self.on_vote_due(now, out);
        self.on_documents_due(now, out);
        self.on_admissions_due(now, out);
        self.on_ask_epoch_due(now, out);
        self.on_changes_due(now, out);
        self.on_proposals_due(now, out);
        self.on_joining_due(now, out);
        self.begin_table(out);
        for election in self.deadlines.take_due(now) {
            self.handle_waiting(now, &election, out);
            self.forget_if_over(now, &election, out);
            self.schedule(&election);
        }
        // Write again last, because a failed write drops every effect after it.
        self.write_again(now, out);
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let state = self.deadlines.first().map(|at| Timer::GrantEnd.at(at));
        let raise = self.raise.as_ref().and_then(Raise::due);
        let (memories, writes) = (self.memories.due(), self.writes.due());
        let all = [self.phase.due(), memories, raise, state, writes, self.hang_due()];
        let epochs = [self.votes.due(), Some(self.proposals_due()), self.joining_due()];
        let all = all.into_iter().chain(epochs).chain(self.asking_due()).flatten();
        // A deadline of `Time::MAX` never comes.
        all.filter(|due| due.at < Time::MAX).min_by_key(|due| due.at)
    }

    /// The deadlines of questions for documents, for the memories of new members, for lost members,
    /// and for the epochs of the others.
    fn asking_due(&self) -> [Option<Deadline>; 4] {
        let document = self.documents.due().map(|at| Timer::ReadDocument.at(at));
        let admission = self.admissions_due().map(|at| Timer::Admit.at(at));
        let change = self.changes.due().map(|at| Timer::Propose.at(at));
        [document, change, admission, self.ask_epoch_due()]
    }

    /// The latest epoch that this grantor knows to be decided, or its own.
    pub(super) fn latest(&self) -> &Arc<Membership> {
        let joining = self.joining.as_ref().map(|joining| &joining.heritage.into);
        joining.or(self.removed.as_ref()).unwrap_or(&self.membership)
    }

    /// The epochs from whose members messages may come: the grantor's own, the next epoch, and the
    /// previous epoch while its leases may last. For a blank there is also the epoch that it wants
    /// to enter.
    pub(super) fn epochs(&self) -> impl Iterator<Item = &Arc<Membership>> {
        let proposed = self.proposals.running.as_ref().map(|proposal| &proposal.own);
        let accepted = self.votes.vote.accepted.as_ref().map(|(_, next)| next);
        let latest = Some(self.latest()).filter(|latest| latest.id() != self.membership.id());
        let next = latest.or(proposed).or(accepted);
        [Some(&self.membership), next, self.before.as_ref(), self.outside()].into_iter().flatten()
    }

    /// Whether the epochs have changed since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.is_news)
    }

    pub(super) fn service(&self, now: Time) -> Service {
        if self.removed.is_some() {
            return Service::Removed;
        }
        if self.is_wedged() && !self.blank {
            return Service::Wedged;
        }
        let mut service = self.phase.service(now);
        if let Service::Recovering { known } = &mut service {
            // A founder has forgotten nothing, whatever other members remember.
            *known &= !self.memories.names_founder(self.own_position(), self.instance);
        }
        if self.has_wrong_clock && service == Service::Serving {
            return Service::WrongClock;
        }
        let fails =
            self.writes.hangs() || (service == Service::Serving && self.writes.is_failing());
        if fails { Service::Failing } else { service }
    }

    /// Checks that hold for a request whenever the grantor handles it, on arrival or after waiting.
    pub(super) fn inadmissible(
        &self,
        now: Time,
        request: &Request,
        state: Option<&ElectionState>,
    ) -> Option<Refusal> {
        if let Some(removed) = &self.removed {
            return Some(Refusal::Removed { epoch: removed.id().number });
        }
        if let Some((_, next)) = self.votes.vote.accepted.as_ref().filter(|_| !self.blank) {
            return Some(Refusal::Wedged { next: next.id().number });
        }
        match self.phase.service(now) {
            Service::Serving if self.has_wrong_clock => return Some(Refusal::WrongClock),
            Service::Serving => {}
            // Refuse the renewals of a leader, too (restart 1): otherwise two candidates could
            // lead.
            Service::Quarantine { remaining } => return Some(Refusal::Quarantine { remaining }),
            Service::Starting if !self.writes.hangs() => return Some(Refusal::Starting),
            Service::Starting => return Some(Refusal::Disk),
            Service::Recovering { known } => return Some(Refusal::Recovering { known }),
            Service::Replaced => return Some(Refusal::Replaced),
            // A phase never reports `Wedged`, `Removed` or `WrongClock`.
            Service::Failing | Service::Wedged | Service::Removed | Service::WrongClock => {
                return Some(Refusal::Disk);
            }
        }
        // A first lease is short. A candidate that cannot get a full lease afterwards must not
        // lead.
        let (lease, delta_max) = (request.delta.max(request.lease), self.longest());
        if lease > delta_max {
            return Some(Refusal::TooLong { lease, delta_max });
        }
        if let Some(fault) = self.clock_fault(request) {
            return Some(fault.into());
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

    /// Whether a waiting request must be refused now: its Start is released, or it is inadmissible.
    pub(super) fn refuses_parked(&self, now: Time, parked: &ParkedRequest) -> bool {
        let ParkedRequest { who, address, request, .. } = parked;
        let state = self.state(&request.election);
        let released = |state: &ElectionState| state.is_released(who, *address, request.start);
        state.is_some_and(released) || self.inadmissible(now, request, state).is_some()
    }

    /// Whether one more election may be granted. Elections that only a release opened have room of
    /// their own.
    fn has_room_for(&self, election: &ElectionName, state: Option<&ElectionState>) -> bool {
        let known = state.is_some() && !self.early.contains(election);
        known || self.elections.len() - self.early.len() < self.config.limits.elections
    }

    /// Answers a repeated request: sends the same ok again, without extending F.
    pub(super) fn repeat(&mut self, at: Time, election: &ElectionName, out: &mut Out) {
        // After a restart the term on the wall clock is unknown: the next Start brings a new term.
        let has_term = |grant: &Grant| grant.wall.is_some() || self.config.clock_skew_max.is_none();
        if self.state(election).is_some_and(|state| state.live(at).is_some_and(has_term)) {
            self.answer(at, election, Entry::Renewed, out);
        } else {
            emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Stale));
        }
    }

    /// Refuses a request, which waits here until the holder that `refusal` names has left.
    pub(super) fn park(
        &mut self,
        at: Time,
        from: &Sender,
        request: Request,
        refusal: Refusal,
        shared: Option<SocketAddr>,
        out: &mut Out,
    ) {
        let (election, start) = (request.election.clone(), request.start);
        let term = self.term(at, &request);
        let Some(state) = self.elections.get_mut(&election) else { return };
        state.drop_expired(at);
        let parked = state.park(from, request, term, &self.config);
        state.book(&election, &self.config, &mut self.deadlines);
        let (seen, asker, name_shared) = (state.fence_seen, from.who.inc, shared);
        let refusal = match refusal {
            Refusal::Held { holder, .. } => Refusal::Held { holder, parked },
            other => other,
        };
        let refused = Refused { election, asker, start, refusal, seen, name_shared };
        send(out, from, refused);
    }

    pub(super) fn refuse(
        &self,
        from: &Sender,
        (election, start): (&ElectionName, Time),
        refusal: Refusal,
        name_shared: Option<SocketAddr>,
        out: &mut Out,
    ) {
        Self::say_wrong_clock(from, &refusal, out);
        let seen = self.fences.seen(self.state(election));
        let (election, asker) = (election.clone(), from.who.inc);
        let refused = Refused { election, asker, start, refusal, seen, name_shared };
        send(out, from, refused);
    }

    /// Remembers a release for an unknown election; false without room. Such releases have little
    /// room of their own, so that strangers cannot fill the room of elections.
    pub(super) fn remember_early(&mut self, election: &ElectionName) -> bool {
        let few = self.early.len() < self.config.limits.watermarks;
        few && self.early.insert(election.clone())
    }

    /// Remembers that `rival` uses the name of `from` in one election. Returns the address of an
    /// incarnation that uses the name there at the same time; one name in two elections is no
    /// conflict.
    pub(super) fn meet(
        &mut self,
        now: Time,
        from: &Sender,
        request: &Request,
        rival: (Inc, SocketAddr),
        out: &mut Out,
    ) -> Option<SocketAddr> {
        let election = &request.election;
        let lasts = request.lease.max(self.config.parked_for());
        let bound = self.config.limits.names;
        match self.incarnations.meet(now, (election, from), rival, lasts, bound) {
            Meeting::Alone => None,
            Meeting::Shared { other, is_back } => {
                if is_back {
                    let mut addresses = [from.address, other];
                    addresses.sort_unstable();
                    let name = from.who.name.clone();
                    emit(out, None, OwnEvent::NameContested { name, addresses });
                }
                Some(other)
            }
        }
    }

    /// Drops an election that no longer matters; the floor keeps its fences.
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

    pub(super) fn schedule(&mut self, election: &ElectionName) {
        let Some(state) = self.elections.get_mut(election) else { return };
        state.book(election, &self.config, &mut self.deadlines);
    }

    pub(super) fn state(&self, election: &ElectionName) -> Option<&ElectionState> {
        self.elections.get(election).map(|state| &**state)
    }
}
