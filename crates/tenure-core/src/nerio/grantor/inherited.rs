//! Leases of earlier epochs: their holders, and this grantor's answers about them.
//!
//! `epoch/rests.rs` has the rules for answers of others. These are the rules for this grantor's own
//! answers and grants:
//!
//! - 2.2: *A member answers only when it is wedged, or has entered.* If it could still grant, its
//!   rests could grow after the answer.
//! - 2.2.1: *The bound covers inherited leases as well.* p leads in epoch 0 by a long lease. Before
//!   the lease ends, epochs 1 and 2 follow. The members of epoch 1 granted nothing to p, and p's
//!   lease lasts.
//! - 2.2.2: *A member in quarantine reports an unknown holder of everything.*
//! - 2.4.5: *A grant waits for the rests of all other holders.*
//! - 2.4.6: *A grant lasts at least as long as the inherited rest of its holder.*
//! - 2.4.8: *After another start of the process, an election without a record waits for the end of
//!   all inherited leases.* The process has forgotten the names of the holders, but their leases
//!   last.
//! - 2.4.10: *A release ends inherited rests, too*, in every epoch: a candidate gives up all of its
//!   Starts.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Bound;
use core::time::Duration;

use super::super::body::{Holder, Refusal, Release};
use super::super::config::Config;
use super::super::epoch::{
    AcceptorState, Ballot, EpochId, HeldRest, Inheritance, Membership, Origin, Page, RestBounds,
    Rests, RestsRead, Rival, Source, Witnesses,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::Who;
use super::super::message::Sender;
use super::super::record::Record;
use super::super::wire;
use super::super::words::{Effect, Out, To, emit, send};
use super::Grantor;
use super::election::{ElectionState, ParkedRequest};
use super::joining::Joining;
use super::phase::Phase;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Value};
use crate::time::Time;

/// Maximum of a rest: no lease lasts longer, at any clock rate. A longer rest is a mistake of its
/// sender.
pub(super) const REST_MAX: Duration = Config::DELTA_MAX_MAX.saturating_mul(2);

/// The answers about the leases before an epoch, and the state of the questions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Heritage {
    pub(super) into: Arc<Membership>,
    pub(super) inheritance: Inheritance,
    pub(super) witnesses: Witnesses,
    /// Time at which the questions are repeated; [`Time::MAX`] when nothing is missing.
    pub(super) again: Time,
    /// Number of repetitions so far.
    pub(super) tries: u32,
    /// Members that had not answered at the last report.
    pub(super) told: Vec<NodeName>,
}

/// The leases of earlier epochs that keep candidates out.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Inherited {
    /// Answers of other members; `None` once all leases of earlier epochs have ended, and after a
    /// restart.
    pub(super) heritage: Option<Heritage>,
    /// The instant at which all leases of earlier epochs have ended.
    pub(super) until: Time,
}

impl Heritage {
    /// Begins without answers. `before` is the epoch that `into` follows, if its document is at
    /// hand.
    pub(super) fn new(
        before: Option<Arc<Membership>>,
        into: Arc<Membership>,
        rests_max: usize,
    ) -> Self {
        let inheritance = Inheritance::begin(before, into.id(), rests_max);
        let (witnesses, told) = (Witnesses::default(), Vec::new());
        Self { into, inheritance, witnesses, again: Time::ZERO, tries: 0, told }
    }

    /// The two forms of a member's answer: wedged in the previous epoch, or after its entry into
    /// this epoch.
    fn answers(&self, name: &NodeName) -> [Option<Source>; 2] {
        // The search for the answer of a wedged member ignores the ballot.
        let (into, ballot) = (self.into.id(), Ballot::NONE);
        let before = self.inheritance.before();
        let member = before.and_then(|before| before.position(name));
        let instance = self.into.position(name).and_then(|seat| self.into.instance(seat));
        [
            member.map(|member| Source::Wedged { member, ballot, into }),
            instance.map(|instance| Source::Entered { instance }),
        ]
    }

    /// Whether the epoch is that of a founding, before which there was no lease.
    pub(super) fn is_founding(&self) -> bool {
        self.into.document().origin == Origin::Founded
    }

    /// All fences of the epoch are above this fence.
    pub(super) fn floor(&self) -> Fence {
        self.inheritance.floor().max(self.into.document().floor)
    }

    pub(super) fn has_heard(&self, name: &NodeName) -> bool {
        self.answers(name).into_iter().flatten().any(|source| self.inheritance.has_heard(source))
    }

    /// The next question for this member; `None` when one of its answers is complete. A member that
    /// enters between two pages begins another answer.
    pub(super) fn question(&self, name: &NodeName) -> Option<RestsRead> {
        let next = |source: Option<Source>| match source {
            Some(source) => self.inheritance.next_page(source),
            None => Some(None),
        };
        let [wedged, entered] = self.answers(name);
        let (of_wedged, of_entered) = (next(wedged)?, next(entered)?);
        let has_entered = entered.is_some_and(|source| self.inheritance.has_heard(source));
        let after = if has_entered { of_entered } else { of_wedged };
        Some(RestsRead { into: self.into.id(), after: after.cloned() })
    }

    /// Repeats the questions at `again`, and soon afterwards: since pages arrive, a missing page is
    /// lost rather than late.
    fn hurry(&mut self, again: Time) {
        (self.again, self.tries) = (self.again.min(again), self.tries.min(1));
    }

    /// The members of both epochs without `own`, each once.
    pub(super) fn others(&self, own: &NodeName) -> Vec<NodeName> {
        let before = self.inheritance.before().into_iter().flat_map(|before| before.names());
        let mut all: Vec<_> = self.into.names().iter().chain(before).cloned().collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|name| name != own);
        all
    }

    /// Takes an answer; false if the answer is ignored. Forgets the answers of replaced memories
    /// (T10), unless `is_final` says that the grantor enters, or has entered, by the earlier
    /// answers.
    pub(super) fn hear(
        &mut self,
        now: Time,
        name: &NodeName,
        rests: &Rests,
        is_final: bool,
    ) -> bool {
        let Some(source) = self.source(name, rests, is_final) else { return false };
        let short = |rest: Duration| rest.min(REST_MAX);
        let RestBounds { rest, unknown, floor } = rests.bounds;
        let bounds = RestBounds { rest: short(rest), unknown: short(unknown), floor };
        let shorter = |rest: &HeldRest| HeldRest { rest: short(rest.rest), ..rest.clone() };
        let held: Vec<HeldRest> = rests.rests.iter().map(shorter).collect();
        let page = Page { after: rests.after.as_ref(), rests: &held, more: rests.more };
        self.inheritance.page(now, source, bounds, page);
        true
    }

    fn source(&mut self, name: &NodeName, rests: &Rests, is_final: bool) -> Option<Source> {
        let acceptor = &rests.acceptor;
        match rests.state {
            AcceptorState::Entered => {
                let seat = self.into.position(name)?;
                let is_its = self.into.instance(seat) == Some(acceptor.instance);
                is_its.then_some(Source::Entered { instance: acceptor.instance })
            }
            AcceptorState::Wedged { epoch, ballot, into } => {
                let before = self.inheritance.before().filter(|before| before.id() == epoch)?;
                let before = Arc::clone(before);
                let member = before.position(name)?;
                let denied = self.witnesses.hear(&before, member, acceptor)?;
                for other in denied.iter().filter(|_| !is_final) {
                    self.inheritance.forget(other);
                }
                Some(Source::Wedged { member, ballot, into })
            }
        }
    }
}

impl Inherited {
    /// The holder that keeps `who` from a grant at `at` for longest. `has_record` says that this
    /// grantor has granted the election in this epoch: that grant covers the inherited leases.
    fn rival(
        &self,
        election: &ElectionName,
        has_record: bool,
        who: &Who,
        at: Time,
    ) -> Option<Rival<'_>> {
        match &self.heritage {
            Some(heritage) => heritage.inheritance.rival(election, who, at),
            None if has_record || at >= self.until => None,
            None => Some(Rival { holder: None, until: self.until }),
        }
    }

    /// The instant at which all leases of earlier epochs on this election have ended.
    pub(super) fn end(&self, election: &ElectionName, has_record: bool) -> Time {
        match &self.heritage {
            Some(heritage) => heritage.inheritance.end(election),
            None if has_record => Time::ZERO,
            None => self.until,
        }
    }

    /// Notes a grant to `who`, which must last at least until the returned instant.
    pub(in crate::nerio) fn granted(&mut self, election: &ElectionName, who: &Who) -> Time {
        match &mut self.heritage {
            Some(heritage) => heritage.inheritance.granted(election, who),
            None => Time::ZERO,
        }
    }

    /// Notes that the holder gave up all its Starts up to `start`.
    pub(super) fn released(
        &mut self,
        election: &ElectionName,
        by: (&Who, SocketAddr),
        start: Time,
    ) {
        if let Some(heritage) = &mut self.heritage {
            heritage.inheritance.released(election, by, start);
        }
    }

    /// The end of the leases whose holders this grantor cannot name, in any election.
    pub(super) fn unknown(&self) -> Time {
        self.heritage.as_ref().map_or(self.until, |heritage| heritage.inheritance.unknown())
    }

    /// The leases of named holders of elections after `after`.
    fn rests(&self, after: Option<&ElectionName>, at: Time) -> impl Iterator<Item = HeldRest> {
        self.heritage.iter().flat_map(move |heritage| heritage.inheritance.rests(after, at))
    }
}

/// The refusal that names a rival of an earlier epoch.
fn refusal(rival: &Rival<'_>, at: Time) -> Refusal {
    let remaining = rival.until.since(at);
    let Some(holder) = rival.holder else { return Refusal::Quarantine { remaining } };
    let holder = Holder {
        who: holder.who.clone(),
        address: holder.address,
        value: Value::default(),
        remaining,
        start: holder.start,
        priority: 0,
        // Call the holder a leader, so that a candidate yields to the holder only after a renewal.
        leading: true,
        next: false,
        fence: None,
        leaving: None,
        lease: Duration::ZERO,
    };
    Refusal::Held { holder: Box::new(holder), parked: false }
}

impl Grantor {
    /// Answers a member that enters an epoch, if this grantor is durably wedged or has entered that
    /// epoch.
    pub(super) fn on_rests_read(
        &mut self,
        now: Time,
        from: &Sender,
        read: &RestsRead,
        out: &mut Out,
    ) {
        if !from.proved {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        }
        let own = self.membership.id();
        let accepted = self.votes.durable.accepted.as_ref();
        let state = if !self.is_awake() {
            None
        } else if read.into == own {
            if let Some(wedged) = self.as_wedged(now) {
                return send(out, from, self.wedged_page(now, from, read, wedged));
            }
            Some(AcceptorState::Entered)
        } else if read.into.number > own.number {
            accepted.map(|(ballot, next)| AcceptorState::Wedged {
                epoch: own,
                ballot: *ballot,
                into: next.id(),
            })
        } else {
            None
        };
        match state {
            Some(state) => {
                let page = self.rests_page(now, from, read, state);
                send(out, from, page);
            }
            None => {
                self.answer_other_epoch(now, from, read.into, out);
                emit(out, None, OwnEvent::Ignored(Ignored::OtherEpoch));
            }
        }
    }

    fn rests_page(
        &self,
        now: Time,
        from: &Sender,
        read: &RestsRead,
        state: AcceptorState,
    ) -> Rests {
        let page = Rests {
            asker: from.who.inc,
            into: read.into,
            acceptor: self.acceptor(),
            state,
            bounds: self.rest_bounds(now),
            after: read.after.clone(),
            rests: Vec::new(),
            more: false,
        };
        filled(page, self.rests_after(read.after.as_ref(), now))
    }

    /// The bounds of everything that this grantor may have granted, in this epoch and before.
    pub(super) fn rest_bounds(&self, now: Time) -> RestBounds {
        let quarantine = match self.phase {
            Phase::Quarantine { until, .. } => until,
            _ => Time::ZERO,
        };
        let unknown = quarantine.max(self.inherited.unknown());
        let last = unknown.max(self.inherited.until).max(self.last_finish);
        let floor = self.fences.highest();
        RestBounds { rest: last.since(now), unknown: unknown.since(now), floor }
    }

    /// The leases that this grantor has granted or inherited, of elections after `after`, in the
    /// order of elections.
    pub(super) fn rests_after(
        &self,
        after: Option<&ElectionName>,
        at: Time,
    ) -> impl Iterator<Item = HeldRest> {
        self.with_grants(after, at, self.inherited.rests(after, at))
    }

    /// These inherited leases and the grants of this epoch, of elections after `after`.
    pub(super) fn with_grants(
        &self,
        after: Option<&ElectionName>,
        at: Time,
        inherited: impl Iterator<Item = HeldRest>,
    ) -> impl Iterator<Item = HeldRest> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let granted = self.elections.range::<ElectionName, _>((begin, Bound::Unbounded));
        let granted = granted.filter_map(move |(election, state)| {
            let record = &state.live(at)?.record;
            Some(HeldRest {
                election: election.clone(),
                who: record.holder.clone(),
                address: record.address,
                start: record.start,
                rest: record.finish.since(at),
            })
        });
        let mut granted = granted.peekable();
        let mut inherited = inherited.peekable();
        core::iter::from_fn(move || {
            let is_inherited = match (granted.peek(), inherited.peek()) {
                (Some(granted), Some(inherited)) => inherited.election < granted.election,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if is_inherited { inherited.next() } else { granted.next() }
        })
    }

    /// The refusal of a candidate that a holder of an earlier epoch keeps out of the election;
    /// `None` if there is no such holder.
    pub(in crate::nerio) fn kept_out(
        &mut self,
        at: Time,
        election: &ElectionName,
        who: &Who,
    ) -> Option<Refusal> {
        let has_record = self.state(election).is_some_and(|state| state.grant.is_some());
        let rival = self.inherited.rival(election, has_record, who, at)?;
        let refused = refusal(&rival, at);
        let (until, floor) = (rival.until, self.fences.floor());
        ElectionState::of(election, &mut self.elections, floor).held_until = until;
        Some(refused)
    }

    /// Takes the first of the waiting requests that no holder of an earlier epoch keeps out. If
    /// there is none, notes when to try again.
    pub(in crate::nerio) fn take_free(
        &mut self,
        at: Time,
        election: &ElectionName,
    ) -> Option<(ParkedRequest, bool)> {
        let Self { elections, inherited, .. } = self;
        let state = elections.get_mut(election)?;
        let has_record = state.grant.is_some();
        let rival = |who: &Who| inherited.rival(election, has_record, who, at);
        let taken = state.take_first(|who| rival(who).is_none());
        let ends = state.waiters(at).filter_map(|parked| rival(&parked.who));
        let next = ends.map(|rival| rival.until).min();
        state.held_until = next.filter(|_| taken.is_none()).unwrap_or(Time::ZERO);
        taken
    }

    /// Notes that a candidate gave up its Starts, in every epoch.
    pub(in crate::nerio) fn released_before(&mut self, by: (&Who, SocketAddr), release: &Release) {
        let Release { election, start, .. } = release;
        if let Some(joining) = &mut self.joining {
            joining.heritage.inheritance.released(election, by, *start);
        }
        self.inherited.released(election, by, *start);
    }

    /// Takes an answer about the leases before the epoch that this grantor enters, or has entered.
    pub(in crate::nerio) fn on_rests(
        &mut self,
        now: Time,
        from: &Sender,
        rests: &Rests,
        out: &mut Out,
    ) {
        self.seek_before(now, from, rests, out);
        let is_asking = self.joining.as_ref().is_some_and(Joining::is_asking);
        let joining = self.joining.as_mut().map(|joining| &mut joining.heritage);
        let is_joining = joining.as_ref().is_some_and(|one| one.into.id() == rests.into);
        // Once the entry is on its way to the disk, the answers that led to it are never forgotten.
        let is_final = !is_joining || !is_asking;
        let heritage = match is_joining {
            true => joining,
            false => self.inherited.heritage.as_mut().filter(|one| one.into.id() == rests.into),
        };
        let (name, own) = (&from.who.name, self.membership.id());
        let Some(heritage) = heritage.filter(|_| from.proved) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let asked = heritage.question(name);
        if !heritage.hear(now, name, rests, is_final) {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        }
        // A repeated page causes no further question.
        let next = heritage.question(name).filter(|next| Some(next) != asked.as_ref());
        if let Some(question) = next {
            heritage.hurry(now.after(self.config.retry_after(self.config.round_trip)));
            send(out, To::free(own, name.clone()), question);
        }
        if is_joining {
            self.try_to_enter(now, out);
        } else {
            self.wake(now, rests, out);
        }
    }

    /// Handles the waiting requests of the elections that this page covers.
    fn wake(&mut self, now: Time, rests: &Rests, out: &mut Out) {
        let begin = rests.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let last = rests.rests.last().map(|rest| &rest.election).filter(|_| rests.more);
        let end = last.map_or(Bound::Unbounded, Bound::Included);
        let is_empty = rests.more && rests.rests.is_empty();
        if is_empty || !is_ascending(begin, end) {
            return;
        }
        let covered = self.elections.range::<ElectionName, _>((begin, end));
        let waiting = covered.filter(|(_, state)| state.waiting() > 0);
        let waiting: Vec<ElectionName> = waiting.map(|(name, _)| name.clone()).collect();
        for election in waiting {
            self.handle_waiting(now, &election, out);
            self.schedule(&election);
        }
    }

    /// Forgets the answers about earlier epochs once all their leases have ended, and writes that
    /// down.
    pub(super) fn on_rests_over(&mut self, now: Time, out: &mut Out) {
        if self.inherited.heritage.is_none() || now < self.inherited.until {
            return;
        }
        self.inherited.heritage = None;
        self.before = None;
        self.is_news = true;
        let (flush, epoch) = (self.begin_flush(now), self.membership.id());
        out.push(Effect::Flush(flush.ticket, Record::Settled { epoch }));
    }

    /// Whether this grantor keeps answers about earlier epochs, whose leases may last.
    pub(in crate::nerio) const fn inherits(&self) -> bool {
        self.inherited.heritage.is_some()
    }

    /// The previous epoch, whose releases this grantor takes as well.
    pub(in crate::nerio) fn epoch_before(&self) -> Option<EpochId> {
        self.before.as_ref().map(|before| before.id())
    }
}

/// Fills `page` with as many of the rests in `all` as it has room for.
pub(super) fn filled(mut page: Rests, all: impl Iterator<Item = HeldRest>) -> Rests {
    let mut room = Rests::BYTES_MAX.saturating_sub(wire::length(&page));
    let mut all = all.peekable();
    while let Some(first) = all.next() {
        // All rests of one election are in one page.
        let mut group = alloc::vec![first];
        while let Some(next) = all.next_if(|next| next.election == group[0].election) {
            group.push(next);
        }
        let length: usize = group.iter().map(wire::length).sum();
        let Some(left) = room.checked_sub(length) else {
            page.more = true;
            break;
        };
        room = left;
        page.rests.append(&mut group);
    }
    page
}

/// Whether the bounds are in order; `BTreeMap::range` panics if they are not.
fn is_ascending(begin: Bound<&ElectionName>, end: Bound<&ElectionName>) -> bool {
    match (begin, end) {
        (Bound::Excluded(begin), Bound::Included(end)) => begin < end,
        _ => true,
    }
}
