//! The way of a grantor into a decided epoch that names its memory.
//!
//! ```text
//!  named by a decided        answers of enough         the entry is durable,
//!  epoch                     members                   a new table is begun
//!   ─────────────> asking ──────────────────> writing ──────────────────────> serving
//!                    ^ repeats                   │ ^ repeats
//!                    └── 20, 50, 100 ms, R       └─┘ 1 s
//! ```
//!
//! Rules, with the runs that they prevent; `epoch/rests.rs` has the rules of the answers:
//!
//! - 2.3.1: *A decision, a request or a document teaches a grantor whom to ask, and nothing else.*
//!   Otherwise d hears that epoch 1 is decided, enters at once, and grants to q, while p leads by a
//!   and b of epoch 0.
//! - 2.3.2: *A durably wedged grantor uses its own answer as well.*
//! - 2.3.3: *The entry is durable before the first grant*, with the highest fence and the longest
//!   rest of all answers. Otherwise the machine of d restarts within that rest, and d grants to q.
//! - 2.3.5: *The grants of the previous epoch are void.* The answers of a quorum contain them.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::epoch::{
    AcceptorState, Ballot, Current, Decided, EpochId, Membership, Origin, Rests, RestsRead, Vote,
    Where,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::message::{Sender, ToGrantor};
use super::super::record::Record;
use super::super::roster::Roster;
use super::super::timer::Timer;
use super::super::words::{Effect, Out, To, emit, send};
use super::flush::{Flush, REWRITE};
use super::inherited::Heritage;
use super::memories::Memories;
use super::phase::Phase;
use super::proposals::{PAUSE_MAX, Proposals};
use super::votes::Votes;
use super::{Grantor, Listing};
use crate::contract::Ticket;
use crate::deadlines::Deadlines;
use crate::name::NodeName;
use crate::time::{Deadline, Time};

/// Pauses before the first repetitions of the questions; the refresh interval follows.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(100)];
/// Repetitions after which members that have not answered are reported.
const PATIENCE: u32 = 6;

/// The epoch that a grantor enters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Joining {
    pub(super) heritage: Heritage,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Asking,
    /// The entry is on its way to the disk.
    Writing(Flush),
    /// The write of the entry failed; the grantor tries again at this time.
    Unwritten(Time),
}

impl Joining {
    /// Whether more answers are needed.
    pub(super) fn is_asking(&self) -> bool {
        self.stage == Stage::Asking
    }

    /// Whether the grantor asks about the end of `own`, and the answers so far show no quorum of
    /// acceptances that count.
    pub(super) fn lacks_acceptances(&self, own: EpochId) -> bool {
        let Heritage { into, inheritance, .. } = &self.heritage;
        self.is_asking() && !inheritance.is_enough() && into.document().before == own
    }

    pub(super) const fn flush(&self) -> Option<Flush> {
        match self.stage {
            Stage::Writing(flush) => Some(flush),
            Stage::Asking | Stage::Unwritten(_) => None,
        }
    }
}

impl Grantor {
    /// The destination of messages for the node with this name, whatever its epoch is. The envelope
    /// has this grantor's epoch.
    pub(super) fn to(&self, name: &NodeName) -> To {
        To::free(self.membership.id(), name.clone())
    }

    /// Asks the other members for their epoch, after a message for a later epoch: the message alone
    /// proves nothing.
    pub(in crate::nerio) fn suspect(&mut self, now: Time, from: &Sender, out: &mut Out) {
        if now < self.suspect_at {
            return;
        }
        self.suspect_at = now.after(self.config.refresh);
        let own = self.membership.id();
        for member in self.others().iter() {
            send(out, self.to(self.membership.name(member)), Where { start: now });
        }
        if from.proved && self.membership.position(&from.who.name).is_none() {
            send(out, To::at(own, from.address), Where { start: now });
        }
    }

    /// Handles another node's report of its epoch: enters that epoch if it is a later one of this
    /// cluster. A blank enters any epoch that names its memory.
    pub(in crate::nerio) fn on_current(
        &mut self,
        now: Time,
        from: &Sender,
        current: &Current,
        out: &mut Out,
    ) {
        self.find(now, from, current, out);
        self.hear_seat(now, from, current, out);
        if !from.proved || !current.entered {
            return;
        }
        if !self.blank && current.founding != self.membership.founding() {
            let is_member = self.membership.position(&from.who.name).is_some();
            let (by, address) = (from.who.name.clone(), from.address);
            let (founding, error) = (current.founding, None);
            if is_member {
                emit(out, None, OwnEvent::OtherDocument { by, address, founding, error });
            }
            return;
        }
        let Current { epoch, before, .. } = *current;
        let decided = Decided { ballot: None, before, successor: epoch };
        self.on_decided(now, from, &decided, out);
    }

    /// Handles the news that an epoch is decided.
    pub(super) fn on_decided(
        &mut self,
        now: Time,
        from: &Sender,
        decided: &Decided,
        out: &mut Out,
    ) {
        let Decided { ballot, successor, .. } = *decided;
        if !from.proved {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        }
        if !self.is_later(successor) {
            return;
        }
        let again = ToGrantor::Decided(decided.clone());
        let Some(into) = self.need(now, from, successor, Some(again), out) else { return };
        if !self.blank && into.founding() != self.membership.founding() {
            return emit(out, None, OwnEvent::Ignored(Ignored::OtherEpoch));
        }
        self.join(now, into, ballot, out);
    }

    /// Whether an epoch is later than every epoch that this grantor has entered or left.
    fn is_later(&self, epoch: EpochId) -> bool {
        let left = self.removed.as_ref().map(|removed| removed.id().number);
        let own = (!self.blank).then_some(self.membership.id().number);
        left.max(own).is_none_or(|known| known < epoch.number)
    }

    /// Begins to enter a decided epoch. `told` is a ballot that decided it, if known.
    pub(super) fn join(
        &mut self,
        now: Time,
        into: Arc<Membership>,
        told: Option<Ballot>,
        out: &mut Out,
    ) {
        let id = into.id();
        if let Some(joining) = &mut self.joining {
            let known = joining.heritage.into.id();
            if known == id
                && let Some(ballot) = told
            {
                joining.heritage.inheritance.told(ballot);
                self.end_proposal(id, out);
                self.await_decision(now);
                return self.try_to_enter(now, out);
            }
            if known.number >= id.number {
                return;
            }
        }
        let seat = into.position(&self.who.name);
        let is_named = seat.is_some_and(|seat| into.instance(seat) == Some(self.instance));
        if self.blank && !is_named {
            // The epoch does not name this memory: an operator or the members have to let the
            // memory in.
            self.keep(&into);
            return self.stay_outside(now, &into, out);
        }
        let (epoch, members) = (id.number, into.names().to_vec());
        emit(out, None, OwnEvent::Decided { epoch, members });
        self.is_news = true;
        self.keep(&into);
        self.end_proposal(id, out);
        if !is_named {
            return self.leave(into, out);
        }
        if into.document().origin == Origin::Founded {
            return self.join_founding(now, into, out);
        }
        let before = self.membership_of(into.document().before);
        let mut heritage = Heritage::new(before, into, self.config.limits.elections);
        if let Some(ballot) = told {
            heritage.inheritance.told(ballot);
        }
        self.joining = Some(Joining { heritage, stage: Stage::Asking });
        self.await_decision(now);
        self.ask_rests(now, out);
        self.hear_itself(now, out);
    }

    /// Whether this memory is on its way into this decided epoch, or stays outside of it. A leader
    /// of that epoch does not delay the entry: this memory has granted nothing there, and the
    /// leader may lead for ever.
    pub(in crate::nerio) fn knows_decided(&self, epoch: EpochId) -> bool {
        let joining = self.joining.as_ref().map(|joining| &joining.heritage.into);
        joining.or(self.outside()).is_some_and(|known| known.id() == epoch)
    }

    /// Begins to enter a founding, which inherits no lease.
    fn join_founding(&mut self, now: Time, into: Arc<Membership>, out: &mut Out) {
        let mut heritage = Heritage::new(None, into, self.config.limits.elections);
        heritage.again = now.after(self.config.refresh);
        self.joining = Some(Joining { heritage, stage: Stage::Asking });
        self.try_to_enter(now, out);
    }

    /// Reads the document of the previous epoch from a member that is wedged there. Answers of
    /// members that have entered need no such document.
    pub(super) fn seek_before(&mut self, now: Time, from: &Sender, rests: &Rests, out: &mut Out) {
        let Some(Joining { heritage, .. }) = &self.joining else { return };
        let before = heritage.into.document().before;
        let is_wedged_there = match rests.state {
            AcceptorState::Wedged { epoch, .. } => epoch == before,
            AcceptorState::Entered => false,
        };
        if from.proved && is_wedged_there && heritage.inheritance.before().is_none() {
            self.need(now, from, before, None, out);
        }
    }

    /// Stops granting: the decided epoch does not name this memory.
    pub(super) fn leave(&mut self, into: Arc<Membership>, out: &mut Out) {
        let (epoch, members) = (into.id().number, into.names().to_vec());
        let replaced = members.contains(&self.who.name);
        self.joining = None;
        self.removed = Some(into);
        self.forget_awaited();
        emit(out, None, OwnEvent::Removed { epoch, members, replaced });
    }

    /// Takes the document of the epoch before the epoch that this grantor enters.
    pub(super) fn learn_before(&mut self, now: Time, before: &Arc<Membership>, out: &mut Out) {
        let Some(joining) = &mut self.joining else { return };
        let heritage = &mut joining.heritage;
        let is_it = heritage.into.document().before == before.id();
        if is_it && heritage.inheritance.before().is_none() {
            heritage.inheritance.learn_before(Arc::clone(before));
            self.ask_rests(now, out);
        }
    }

    /// Adds the grantor's own answer, if the grantor is durably wedged in the previous epoch. The
    /// rests in that answer end when the grantor's grants end.
    pub(super) fn hear_itself(&mut self, now: Time, out: &mut Out) {
        let own = self.membership.id();
        let Some(joining) = &self.joining else { return };
        let before = joining.heritage.inheritance.before();
        let accepted = self.votes.durable.accepted.as_ref();
        if let Some((ballot, next)) = accepted
            && before.is_some_and(|before| before.id() == own)
            && self.is_awake()
        {
            let answer = Rests {
                asker: self.who.inc,
                into: joining.heritage.into.id(),
                acceptor: self.acceptor(),
                state: AcceptorState::Wedged { epoch: own, ballot: *ballot, into: next.id() },
                bounds: self.rest_bounds(now),
                after: None,
                rests: self.rests_after(None, now).collect(),
                more: false,
            };
            if let Some(joining) = &mut self.joining {
                joining.heritage.hear(now, &self.who.name, &answer, false);
            }
        }
        self.try_to_enter(now, out);
    }

    /// Asks the members of both epochs for the leases that may last.
    fn ask_rests(&mut self, now: Time, out: &mut Out) {
        let (own, id) = (self.who.name.clone(), self.membership.id());
        let refresh = self.config.refresh;
        let is_joining = self.joining.is_some();
        let joining = self.joining.as_mut().map(|joining| &mut joining.heritage);
        let Some(heritage) = joining.or(self.inherited.heritage.as_mut()) else { return };
        if heritage.is_founding() {
            heritage.again = now.after(refresh);
            return;
        }
        // Until the answers are enough, ask members that have answered again: a member may accept
        // the epoch again, by a ballot that completes a quorum.
        let asks_all = is_joining && !heritage.inheritance.is_enough();
        let into = heritage.into.id();
        let again = || asks_all.then_some(RestsRead { into, after: None });
        let others = heritage.others(&own).into_iter();
        let questions = others.filter_map(|name| {
            let question = heritage.question(&name).or_else(again)?;
            Some((question, name))
        });
        let questions: Vec<_> = questions.collect();
        let pause = usize::try_from(heritage.tries).ok().and_then(|tries| PAUSES.get(tries));
        let again = now.after(pause.map_or(refresh, |pause| *pause.min(&refresh)));
        let is_done = questions.is_empty() && !is_joining;
        heritage.again = if is_done { Time::MAX } else { again };
        heritage.tries = heritage.tries.saturating_add(1);
        let (tries, epoch) = (heritage.tries, into.number);
        // Report silent members only before the entry: afterwards this grantor serves without them.
        let silent = questions.iter().filter(|(_, name)| !heritage.has_heard(name));
        let silent: Vec<_> = silent.map(|(_, name)| name.clone()).collect();
        if is_joining && tries > PATIENCE && heritage.told != silent {
            heritage.told.clone_from(&silent);
            emit(out, None, OwnEvent::JoinWaits { epoch, silent });
        }
        for (question, name) in questions {
            send(out, To::free(id, name), question);
        }
    }

    /// Writes the entry into the epoch to the disk once the answers are enough.
    pub(super) fn try_to_enter(&mut self, now: Time, out: &mut Out) {
        let is_free =
            matches!(self.phase, Phase::Serving | Phase::Quarantine { .. } | Phase::Reading { .. });
        let Some(joining) = &self.joining else { return };
        let inheritance = &joining.heritage.inheritance;
        let is_enough = match joining.heritage.is_founding() {
            // Before it enters a founding, the grantor waits for the end of every lease of which it
            // has heard.
            true => self.heard_leader() <= now,
            false => inheritance.is_enough(),
        };
        if joining.stage != Stage::Asking || !is_free || !is_enough {
            return;
        }
        let floor = joining.heritage.floor().max(self.fences.highest());
        let inherited = inheritance.longest();
        // Never returns here: checked documents are short enough for the disk.
        let Some(document) = joining.heritage.into.record() else { return };
        let flush = self.begin_flush(now);
        let behind = self.writes.any_now();
        let floor = self.fences.reserve_above(floor, flush, behind);
        let entered = Record::Entered { document, floor, inherited, votes: true };
        out.push(Effect::Flush(flush.ticket, entered));
        if let Some(joining) = &mut self.joining {
            joining.stage = Stage::Writing(flush);
        }
    }

    /// Handles the end of the flush of an entry. Call after the reserve of fences is settled.
    pub(super) fn entry_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        let is_its =
            |joining: &mut Joining| joining.flush().is_some_and(|flush| flush.ticket == flushed);
        match self.joining.take_if(is_its) {
            Some(joining) if written => self.enter(now, joining.heritage, out),
            Some(joining) => {
                let stage = Stage::Unwritten(now.after(REWRITE));
                self.joining = Some(Joining { stage, ..joining });
            }
            None => {}
        }
    }

    /// Begins to serve in the epoch, because the entry is durable.
    fn enter(&mut self, now: Time, mut heritage: Heritage, out: &mut Out) {
        self.end_proposal(heritage.into.id(), out);
        let holders = self.holders(now);
        let founds = heritage.is_founding();
        let decided = Decided {
            ballot: None,
            before: heritage.into.document().before,
            successor: heritage.into.id(),
        };
        let (was_member, served) = (!self.blank, self.phase == Phase::Serving);
        let left = core::mem::replace(&mut self.membership, Arc::clone(&heritage.into));
        if was_member {
            self.note_replaced(now, &left);
        }
        self.forget_admissions();
        self.before = heritage.inheritance.before().cloned().or(was_member.then_some(left));
        self.forget_epoch(&heritage);
        heritage.again = now;
        self.inherited.until = if founds { Time::ZERO } else { heritage.inheritance.bound() };
        self.inherited.heritage = (!founds).then_some(heritage);
        self.phase = Phase::Serving;
        self.serving_since = now;
        self.ask_epoch_at = now.after(PAUSE_MAX);
        self.is_news = true;
        let (id, members) = (self.membership.id(), self.membership.names().to_vec());
        if founds {
            emit(out, None, OwnEvent::Founded);
        }
        emit(out, None, OwnEvent::Entered { epoch: id.number, members });
        if !served {
            emit(out, None, OwnEvent::Serving);
        }
        for holder in holders {
            send(out, To::at(id, holder), decided.clone());
        }
        self.ask_rests(now, out);
        // Last, because a failed write drops every later effect. After a failure the next start
        // finds grants of another epoch, and waits for all leases to end.
        self.put_table(self.inherited.until, out);
    }

    /// The addresses of the holders of this grantor's grants.
    fn holders(&self, now: Time) -> BTreeSet<SocketAddr> {
        let live = self.elections.values().filter_map(|state| state.live(now));
        live.map(|grant| grant.record.address).collect()
    }

    /// Drops the state of the previous epoch, and raises the floor of fences above all its fences.
    fn forget_epoch(&mut self, heritage: &Heritage) {
        let floor = heritage.floor().max(self.fences.highest());
        self.fences.raise_floor(floor);
        self.elections.clear();
        self.early.clear();
        self.deadlines = Deadlines::default();
        self.listing = Listing::default();
        self.last_finish = Time::ZERO;
        self.votes = Votes::new(Vote::NONE);
        self.proposals = Proposals::default();
        self.memories = Memories::new(Roster::of(&self.membership, &[]));
        (self.blank, self.joins, self.records, self.says_memory) = (false, false, false, false);
        (self.removed, self.needs_table) = (None, false);
    }

    pub(super) fn joining_due(&self) -> Option<Deadline> {
        let of = |heritage: &Heritage| Timer::AskRests.at(heritage.again);
        let over = |_: &Heritage| Timer::RestsOver.at(self.inherited.until);
        let asks = self.joining.as_ref().map(|joining| match joining.stage {
            Stage::Asking => of(&joining.heritage),
            Stage::Writing(_) => Timer::AskRests.at(Time::MAX),
            Stage::Unwritten(at) => Timer::WriteVote.at(at),
        });
        let heritage = self.inherited.heritage.as_ref();
        Deadline::first(asks.or(heritage.map(of)), heritage.map(over))
    }

    pub(super) fn on_joining_due(&mut self, now: Time, out: &mut Out) {
        self.on_rests_over(now, out);
        match self.joining.as_mut() {
            Some(joining) => match joining.stage {
                Stage::Unwritten(at) if now >= at => {
                    joining.stage = Stage::Asking;
                    self.ask_rests(now, out);
                    self.try_to_enter(now, out);
                }
                Stage::Asking if now >= joining.heritage.again => {
                    let is_heard = joining.heritage.has_heard(&self.who.name);
                    self.ask_rests(now, out);
                    match is_heard {
                        true => self.try_to_enter(now, out),
                        false => self.hear_itself(now, out),
                    }
                }
                Stage::Asking | Stage::Writing(_) | Stage::Unwritten(_) => {}
            },
            None => {
                let again = self.inherited.heritage.as_ref().map(|heritage| heritage.again);
                if again.is_some_and(|again| now >= again) {
                    self.ask_rests(now, out);
                }
            }
        }
    }
}
