//! Changes of members. An operator asks a grantor for a change, or the grantor begins the change by
//! itself (`admissions.rs`).
//!
//! ```text
//!             memories of the new            a document of the
//!             members are known              successor is made
//!  Change ──> finding ─────────────────────> proposal ──────────> done, or superseded
//!               │ none, or two                  │ nobody answers, not ready
//!               └─> refused                     └─> refused, while nothing is accepted
//! ```
//!
//! A node whose memory has entered no epoch is a *blank*. A blank asks the members of its list for
//! their fences, so grantors know its address. But only its answer shows that it is a blank.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::super::body::Service;
use super::super::config::Config;
use super::super::epoch::{
    Change, ChangeError, ChangePhase, ChangeState, Changed, Current, Document, DocumentError,
    EpochId, Membership, Missing, Origin, Phase, Seat, SeatChange, Where,
};
use super::super::event::OwnEvent;
use super::super::identity::Instance;
use super::super::message::Sender;
use super::super::quorum::Quorums;
use super::super::words::{Out, To, emit, send};
use super::Grantor;
use super::finding::{Finding, TO_SOURCE, may_be_at};
use crate::fence::Fence;
use crate::name::{NodeName, Text};
use crate::time::Time;

/// Refresh intervals for which answers of blanks are collected: two blanks may have the same name.
const COUNT_AFTER: u32 = 2;
/// Refresh intervals after which a change is refused, unless a member may have accepted it.
const PATIENCE: u32 = 16;
/// Refresh intervals for which the address of a node is remembered.
pub(super) const HEARD_FOR: u32 = 8;
/// Maximum number of addresses that are remembered.
const HEARD_MAX: usize = 32;
/// Maximum number of changes whose end is remembered, for repeated questions.
const ENDED_MAX: usize = 4;
/// Maximum number of bytes of a quorum system's error in an answer.
const WHY_MAX: usize = 400;

/// The change that a grantor carries out, the latest ended changes, and nodes that may be blanks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Changes {
    running: Option<Running>,
    /// Number and final state of ended changes, oldest first.
    ended: Vec<(u64, ChangeState)>,
    /// Senders that asked for fences, and the time of the last question.
    heard: BTreeMap<(NodeName, SocketAddr), Time>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Running {
    change: Change,
    /// Sender of the operator's last question; `None` if the grantor has begun the change by
    /// itself.
    by: Option<Sender>,
    since: Time,
    /// `None` once the successor is proposed.
    finding: Option<Finding>,
}

impl Changes {
    /// Notes that a node asked for fences, as blanks do.
    pub(super) fn hear(&mut self, now: Time, from: &Sender) {
        let key = (from.who.name.clone(), from.address);
        if self.heard.len() < HEARD_MAX || self.heard.contains_key(&key) {
            self.heard.insert(key, now);
        }
    }

    /// Whether a node of this name has asked for fences.
    pub(super) fn has_heard(&self, name: &NodeName) -> bool {
        self.heard.keys().any(|(heard, _)| heard == name)
    }

    fn end(&mut self, number: u64, state: ChangeState) {
        if self.ended.len() == ENDED_MAX {
            self.ended.remove(0);
        }
        self.ended.push((number, state));
    }

    fn end_of(&self, number: u64) -> Option<&ChangeState> {
        self.ended.iter().find(|(ended, _)| *ended == number).map(|(_, state)| state)
    }

    pub(super) const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn due(&self) -> Option<Time> {
        Some(self.running.as_ref()?.finding.as_ref()?.again)
    }
}

impl SeatChange {
    /// The name of the seat for which a blank must be found.
    const fn blank(&self) -> Option<&NodeName> {
        match self {
            Self::Add { name, .. } | Self::Replace { name, .. } => Some(name),
            Self::Remove { .. } | Self::Cancel => None,
        }
    }

    /// The name of the seat whose memory leaves the members.
    const fn gone(&self) -> Option<&NodeName> {
        match self {
            Self::Remove { name } | Self::Replace { name, .. } => Some(name),
            Self::Add { .. } | Self::Cancel => None,
        }
    }

    /// Whether the change may take this memory. A change that members begin by themselves takes
    /// only the memory that it names.
    fn takes(&self, blank: Instance) -> bool {
        match self {
            Self::Replace { instance, .. } => instance.is_none_or(|wanted| wanted == blank),
            Self::Add { .. } | Self::Remove { .. } | Self::Cancel => true,
        }
    }
}

impl Grantor {
    /// Takes an operator's question. The driver has checked the rights of the sender.
    pub(super) fn on_change(&mut self, now: Time, from: &Sender, change: &Change, out: &mut Out) {
        let state = match self.known_change(now, from, change) {
            Some(known) => known,
            None if change.what == SeatChange::Cancel => self.cancel_change(change.number, out),
            None => self.begin_change(now, Some(from), change, out).unwrap_or_else(|error| {
                let state = ChangeState::Refused(error);
                self.changes.end(change.number, state.clone());
                state
            }),
        };
        self.tell_change(from, change, state, out);
    }

    /// The state of a change that this grantor has been asked for before.
    fn known_change(&mut self, now: Time, from: &Sender, change: &Change) -> Option<ChangeState> {
        if let Some(state) = self.changes.end_of(change.number) {
            return Some(state.clone());
        }
        let running = self.changes.running.as_mut()?;
        if running.change.number != change.number {
            return None;
        }
        running.by = Some(from.clone());
        running.change.start = change.start;
        Some(self.state_of_change(now))
    }

    fn tell_change(&self, to: &Sender, change: &Change, state: ChangeState, out: &mut Out) {
        let (asker, start, number) = (to.who.inc, change.start, change.number);
        let changed = Changed { asker, start, number, state };
        send(out, To::at(self.membership.id(), to.address), changed);
    }

    fn cancel_change(&mut self, number: u64, out: &mut Out) -> ChangeState {
        let state = match self.changes.is_running() {
            false => ChangeState::Refused(ChangeError::NothingRuns),
            true if self.take_back(out) => ChangeState::Cancelled,
            true => ChangeState::Refused(ChangeError::Begun),
        };
        self.changes.end(number, state.clone());
        state
    }

    /// Withdraws the running proposal; false if a member may have accepted it.
    fn withdraw(&mut self) -> bool {
        let running = &mut self.proposals.running;
        let is_withdrawn = running.as_mut().is_none_or(|proposal| proposal.proposer.cancel());
        if is_withdrawn {
            *running = None;
        }
        is_withdrawn
    }

    /// Whether this grantor is replacing `member` without an operator.
    pub(super) fn replaces(&self, member: &NodeName) -> bool {
        match &self.changes.running {
            Some(Running { change, by: None, .. }) => change.what.gone() == Some(member),
            Some(_) | None => false,
        }
    }

    /// Ends the running change, and returns true, unless a member may have accepted it.
    pub(super) fn take_back(&mut self, out: &mut Out) -> bool {
        let finds = self.changes.running.as_ref().is_some_and(|change| change.finding.is_some());
        let ends = finds || self.withdraw();
        if ends {
            self.end_change(ChangeState::Cancelled, out);
        }
        ends
    }

    /// Begins a change of an operator, or of this grantor itself, and returns its state. If this
    /// grantor is the only member, the change is decided at once.
    pub(super) fn begin_change(
        &mut self,
        now: Time,
        operator: Option<&Sender>,
        change: &Change,
        out: &mut Out,
    ) -> Result<ChangeState, ChangeError> {
        self.check_change(change)?;
        if let Some(from) = operator {
            let (what, by, address) = (change.what.brief(), from.who.name.clone(), from.address);
            emit(out, None, OwnEvent::Changing { what, by, from: address });
        }
        let finding = Finding::new(now);
        let (number, change, by) = (change.number, change.clone(), operator.cloned());
        self.changes.running = Some(Running { change, by, since: now, finding: Some(finding) });
        self.on_changes_due(now, out);
        let ended = self.changes.end_of(number).cloned();
        Ok(ended.unwrap_or_else(|| self.state_of_change(now)))
    }

    fn check_change(&self, change: &Change) -> Result<(), ChangeError> {
        if self.removed.is_some() || self.blank {
            return Err(ChangeError::Outside);
        }
        if let Some(why) = self.no_vote() {
            return Err(ChangeError::NoVote { why });
        }
        if let Some(Running { change, by, .. }) = &self.changes.running {
            let by = by.as_ref().map_or(&self.who.name, |by| &by.who.name).clone();
            return Err(ChangeError::Running { by, what: change.what.brief() });
        }
        if let Some((_, next)) = &self.votes.vote.accepted {
            let (before, next) = (self.membership.id().number, next.id().number);
            return Err(ChangeError::Deciding { before, next });
        }
        let names = self.membership.names();
        let is_member = |name: &NodeName| names.contains(name);
        let keeps_names = matches!(change.what, SeatChange::Replace { .. });
        // A replacement may name no hosts: the seat then keeps its hosts.
        let hosts_min = usize::from(!keeps_names);
        match &change.what {
            SeatChange::Add { name, .. } if is_member(name) => {
                return Err(ChangeError::Member { name: name.clone() });
            }
            SeatChange::Add { .. } if names.len() >= Config::MEMBERS_MAX => {
                return Err(ChangeError::Full { max: Config::MEMBERS_MAX });
            }
            SeatChange::Remove { name } | SeatChange::Replace { name, .. } if !is_member(name) => {
                return Err(ChangeError::NotMember { name: name.clone() });
            }
            // This member runs, so it refuses to be replaced. In an upgraded epoch it may have come
            // back with an empty directory, and then an operator may replace it.
            SeatChange::Replace { name, .. } if *name == self.who.name && !self.is_upgraded() => {
                return Err(ChangeError::Runs { name: name.clone() });
            }
            SeatChange::Add { name, hosts } | SeatChange::Replace { name, hosts, .. }
                if !(hosts_min..=Seat::HOSTS_MAX).contains(&hosts.len()) =>
            {
                return Err(ChangeError::Hosts { name: name.clone(), max: Seat::HOSTS_MAX });
            }
            SeatChange::Remove { name } if names.len() == 1 => {
                return Err(ChangeError::Last { name: name.clone() });
            }
            SeatChange::Add { .. }
            | SeatChange::Remove { .. }
            | SeatChange::Replace { .. }
            | SeatChange::Cancel => {}
        }
        let is_majority = self.membership.document().quorums.as_str() == "majority";
        if change.quorums.is_none() && !keeps_names && !is_majority {
            return Err(ChangeError::QuorumsNeeded);
        }
        Ok(())
    }

    /// Asks nodes for their memories when due, and proposes the successor once all are known.
    pub(super) fn on_changes_due(&mut self, now: Time, out: &mut Out) {
        let refresh = self.config.refresh;
        let Some(Running { change, finding: Some(finding), .. }) = &mut self.changes.running else {
            return;
        };
        if now < finding.again {
            return;
        }
        finding.again = now.after(refresh);
        let blank = change.what.blank().cloned();
        let gone = change.what.gone().filter(|gone| blank.as_ref() == Some(*gone)).cloned();
        let own = self.membership.id();
        for name in self.unknown_seats() {
            send(out, self.to(&name), Where { start: now });
        }
        // Ask the member that is to be replaced, too: it may still run in another epoch, or without
        // asking for fences.
        if let Some(gone) = gone {
            self.ask_seat(now, &gone, out);
        }
        let heard = &mut self.changes.heard;
        heard.retain(|_, at| now.since(*at) < refresh.saturating_mul(HEARD_FOR));
        for (_, address) in heard.keys().filter(|(name, _)| Some(name) == blank.as_ref()) {
            send(out, To::at(own, *address), Where { start: TO_SOURCE });
        }
        self.finish_finding(now, out);
    }

    /// Handles a node's answer that names its memory.
    pub(super) fn find(&mut self, now: Time, from: &Sender, current: &Current, out: &mut Out) {
        let (own, name) = (self.membership.id(), &from.who.name);
        let is_member = from.proved && self.membership.position(name).is_some();
        let Some(Running { change, finding: Some(finding), .. }) = &mut self.changes.running else {
            return;
        };
        // Even if the change names a memory, another blank with a proved name counts: with two
        // blanks the change is refused.
        let counts = from.proved || change.what.takes(current.instance);
        if !current.entered && change.what.blank() == Some(name) && counts {
            let seat = self.membership.seat(name);
            let hosts = seat.map_or(&[][..], |seat| &seat.hosts);
            finding.note((from.who.inc, current.instance, from.address), hosts);
            if current.start != TO_SOURCE {
                let listed = self.config.members.iter().find(|member| member.name == *name);
                let listed = listed.map(|member| &member.address);
                finding.note_answer(own.number, seat, listed, from.address);
            }
        }
        // Leave out a process with an earlier memory of the member, which may still run.
        let is_seat = current.epoch == own && current.service != Service::Replaced;
        let is_there = current.entered && is_member;
        let seat = self.membership.position(name).and_then(|seat| self.membership.instance(seat));
        let is_its = seat.map_or(is_seat, |seat| seat == current.instance);
        finding.is_gone_heard |= is_there && is_its && change.what.gone() == Some(name);
        if is_there && is_seat {
            finding.members.insert(name.clone(), current.instance);
        }
        self.finish_finding(now, out);
    }

    /// Proposes the successor if all memories are known; refuses the change after [`PATIENCE`].
    fn finish_finding(&mut self, now: Time, out: &mut Out) {
        let refresh = self.config.refresh;
        let Some(Running { change, by, since, finding: Some(finding) }) = &self.changes.running
        else {
            return;
        };
        let waited = now.since(*since);
        let blank = change.what.blank().cloned();
        // If the member still runs, refuse only an operator's change: members that begin a change
        // by themselves have waited for a longer silence before (`admissions.rs`).
        let runs = by.is_some() && finding.is_gone_heard && !finding.blanks.is_empty();
        let found = match (&blank, &finding.blanks[..]) {
            _ if waited < refresh.saturating_mul(COUNT_AFTER) => None,
            (Some(name), [(_, _, one), (_, _, other), ..]) => {
                let addresses = [*one, *other];
                let error = ChangeError::TwoBlanks { name: name.clone(), addresses };
                return self.end_change(ChangeState::Refused(error), out);
            }
            (Some(name), _) if runs && matches!(change.what, SeatChange::Replace { .. }) => {
                let error = ChangeError::Runs { name: name.clone() };
                return self.end_change(ChangeState::Refused(error), out);
            }
            (_, blanks) => blanks.iter().find(|(_, one, _)| change.what.takes(*one)).copied(),
        };
        let unknown = self.unknown_seats();
        let seat = blank.as_ref().and_then(|name| self.membership.seat(name));
        let hosts = seat.map_or(&[][..], |seat| &seat.hosts);
        let is_unseen = found.is_some_and(|(_, _, at)| finding.is_unseen(&change.what, hosts, at));
        if unknown.is_empty() && found.is_some() == blank.is_some() && !is_unseen {
            return self.propose_change(now, found.map(|(_, memory, at)| (memory, at)), out);
        }
        // A replacement that members begin by themselves is tried again later.
        let patience = if by.is_none() && is_unseen { 2 * COUNT_AFTER } else { PATIENCE };
        if waited >= refresh.saturating_mul(patience) {
            let error = match (blank, found) {
                (Some(name), None) if finding.members.contains_key(&name) => {
                    ChangeError::Entered { name }
                }
                (Some(name), None) => ChangeError::NoBlank { name },
                (Some(name), Some((_, _, address))) if is_unseen => {
                    ChangeError::Elsewhere { name, address }
                }
                (_, _) => ChangeError::Silent { who: short(unknown) },
            };
            self.end_change(ChangeState::Refused(error), out);
        }
    }

    /// The members of an upgraded epoch that stay, and whose memories are not known yet.
    fn unknown_seats(&self) -> Vec<NodeName> {
        let Some(Running { change, finding: Some(finding), .. }) = &self.changes.running else {
            return Vec::new();
        };
        let stays = |name: &NodeName| *name != self.who.name && change.what.gone() != Some(name);
        let is_unknown = |seat: &&Seat| {
            let is_named = seat.instance.is_some() || finding.members.contains_key(&seat.name);
            !is_named && stays(&seat.name)
        };
        let seats = self.membership.document().seats.iter().filter(is_unknown);
        seats.map(|seat| seat.name.clone()).collect()
    }

    fn propose_change(&mut self, now: Time, blank: Option<(Instance, SocketAddr)>, out: &mut Out) {
        match self.successor(blank) {
            Some(Ok(own)) => {
                if let Some(running) = &mut self.changes.running {
                    running.finding = None;
                }
                self.proposals.begin_anew();
                self.propose(now, own, out);
            }
            Some(Err(error)) => self.end_change(ChangeState::Refused(error), out),
            None => {}
        }
    }

    /// The membership after the running change; `None` if no change runs.
    fn successor(
        &self,
        blank: Option<(Instance, SocketAddr)>,
    ) -> Option<Result<Arc<Membership>, ChangeError>> {
        let Running { change, finding, .. } = self.changes.running.as_ref()?;
        let (blank, address) = blank.unzip();
        let document = self.membership.document();
        let known = |name: &NodeName| match *name == self.who.name {
            true => Some(self.instance),
            false => finding.as_ref()?.members.get(name).copied(),
        };
        let mut seats = document.seats.clone();
        for seat in &mut seats {
            seat.instance = seat.instance.or_else(|| known(&seat.name));
        }
        match &change.what {
            SeatChange::Add { name, hosts } => {
                let (name, hosts) = (name.clone(), hosts.clone());
                seats.push(Seat { name, instance: blank, hosts });
            }
            SeatChange::Remove { name } => seats.retain(|seat| seat.name != *name),
            SeatChange::Replace { name, hosts, .. } => {
                let seat = seats.iter_mut().find(|seat| seat.name == *name)?;
                let is_same = hosts.is_empty() || seat.hosts == *hosts;
                if seat.instance == blank && is_same {
                    let (name, epoch) = (name.clone(), document.number);
                    return Some(Err(ChangeError::LetIn { name, epoch }));
                }
                seat.instance = blank;
                if !hosts.is_empty() {
                    seat.hosts.clone_from(hosts);
                } else if let Some(address) = address.filter(|at| !may_be_at(&seat.hosts, *at)) {
                    return Some(Err(ChangeError::Elsewhere { name: name.clone(), address }));
                }
            }
            SeatChange::Cancel => return None,
        }
        seats.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Some(self.document_of(seats, change.quorums.as_ref()))
    }

    /// The membership of the next epoch with these seats.
    fn document_of(
        &self,
        seats: Vec<Seat>,
        quorums: Option<&Text>,
    ) -> Result<Arc<Membership>, ChangeError> {
        let present = self.membership.document();
        let names: Vec<NodeName> = seats.iter().map(|seat| seat.name.clone()).collect();
        let text = quorums.unwrap_or(&present.quorums);
        let quorums =
            Quorums::of_document(text.as_str(), &names).map_err(|error| because(&error))?;
        let quorums = Text::new(&quorums.canonical(&names)).map_err(|error| because(&error))?;
        let document = Document {
            number: present.number + 1,
            before: self.membership.id(),
            founding: self.membership.founding(),
            origin: Origin::Changed,
            seats,
            quorums,
            floor: Fence::NONE,
            ..present.clone()
        };
        Membership::read(Arc::new(document), &self.config).map_err(|error| match error {
            DocumentError::TooLong { bytes, max } => ChangeError::TooLong { bytes, max },
            error => because(&error),
        })
    }

    fn state_of_change(&self, now: Time) -> ChangeState {
        let finds = self.changes.running.as_ref().and_then(|running| running.finding.as_ref());
        let blank = self.changes.running.as_ref().and_then(|running| running.change.what.blank());
        if let Some(finding) = finds {
            let mut names = self.unknown_seats();
            names.extend(blank.filter(|_| finding.blanks.is_empty()).cloned());
            return ChangeState::Working { phase: ChangePhase::Finding, waits_for: short(names) };
        }
        let (phase, names) = self.waits_for(now);
        ChangeState::Working { phase, waits_for: short(names) }
    }

    /// The present step of the proposal, and the members that have not answered.
    fn waits_for(&self, now: Time) -> (ChangePhase, Vec<NodeName>) {
        let Some(proposal) = &self.proposals.running else {
            return (ChangePhase::Deciding, Vec::new());
        };
        let missing = proposal.proposer.missing();
        match proposal.proposer.phase() {
            Phase::Prepare => {
                let mut names = self.membership.named(missing);
                let ends = |name: &NodeName| proposal.learning.get(name).filter(|end| now < **end);
                let last = names.iter().filter_map(ends).max();
                let phase = last.map(|last| ChangePhase::Learning { within: last.since(now) });
                if phase.is_some() {
                    names.retain(|name| ends(name).is_some());
                }
                (phase.unwrap_or(ChangePhase::Asking), names)
            }
            Phase::Ready => (ChangePhase::Ready, proposal.own.named(missing)),
            Phase::Accept { .. } | Phase::Decided { .. } | Phase::Cancelled => {
                (ChangePhase::Deciding, self.membership.named(missing))
            }
        }
    }

    /// Refuses the running change after [`PATIENCE`] if too few nodes have answered, unless a
    /// member may have accepted it already. Returns whether the change has ended.
    pub(super) fn gives_up(&mut self, now: Time, out: &mut Out) -> bool {
        let patience = self.config.refresh.saturating_mul(PATIENCE);
        let since = self.changes.running.as_ref().map(|running| running.since);
        let learning = self.proposals.running.iter().flat_map(|one| one.learning.values());
        let since = since.map(|since| learning.fold(since, |since, end| since.max(*end)));
        if since.is_none_or(|since| now.since(since) < patience) {
            return false;
        }
        let (phase, names) = self.waits_for(now);
        let who = short(names);
        let error = match (phase, &self.proposals.running) {
            (ChangePhase::Asking, _) => ChangeError::Silent { who },
            (ChangePhase::Ready, Some(proposal)) => {
                let why = |name: &NodeName| proposal.unready.get(name).copied();
                let missing = who.into_iter().map(|name| Missing { why: why(&name), name });
                ChangeError::NotReady { who: missing.collect() }
            }
            _ => return false,
        };
        let gives_up = self.withdraw();
        if gives_up {
            self.end_change(ChangeState::Refused(error), out);
        }
        gives_up
    }

    /// Refuses a change that is not proposed yet, because the members decide on another proposal.
    pub(super) fn deciding_elsewhere(&mut self, next: EpochId, out: &mut Out) {
        let running = self.changes.running.as_ref();
        if running.is_some_and(|running| running.finding.is_some()) {
            let (before, next) = (self.membership.id().number, next.number);
            let error = ChangeError::Deciding { before, next };
            self.end_change(ChangeState::Refused(error), out);
        }
    }

    /// Ends the running change, and tells the operator.
    pub(super) fn end_change(&mut self, state: ChangeState, out: &mut Out) {
        let Some(Running { change, by, .. }) = self.changes.running.take() else { return };
        self.changes.end(change.number, state.clone());
        match (by, state) {
            (Some(by), state) => self.tell_change(&by, &change, state, out),
            (None, ChangeState::Refused(why)) => self.replacement_failed(&change, why, out),
            (None, _) => {}
        }
    }
}

/// The first names, as many as an answer has room for.
pub(super) fn short(mut names: Vec<NodeName>) -> Vec<NodeName> {
    names.truncate(Changed::NAMES_MAX);
    names
}

/// The error of a quorum system or a document, cut to the room in an answer.
fn because(error: &dyn core::fmt::Display) -> ChangeError {
    let mut why = error.to_string();
    let fits = (0..=WHY_MAX.min(why.len())).rev().find(|at| why.is_char_boundary(*at));
    why.truncate(fits.unwrap_or(0));
    // Cannot fail: errors have no control characters.
    ChangeError::Document { why: Text::new(&why).unwrap_or_default() }
}
