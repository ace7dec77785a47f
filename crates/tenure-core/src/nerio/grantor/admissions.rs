//! Members that replace lost memories by themselves, where their settings say so.
//!
//! ```text
//!            a blank asks for      silent for the needed      its turn, by        a quorum agrees,
//!            the seat of c         span, nothing objects      order and draw      none objects
//!  (nothing) ───────────> watch ──────────────────────> ripe ──────────> round ──────────> change
//!                          ^ the memory of c answers      │                │ an objection, too few
//!                          └──────────────────────────────┴────────────────┘
//! ```
//!
//! Rules; a change that begins here is voted on like one of an operator:
//!
//! - 4.1: *A memory that was in an epoch never asks.* An operator has replaced c, and its old disk
//!   is put back: the members would take turns between both. A memory that was named, and never
//!   entered, writes down that it was.
//! - 4.2: *A member agrees only after it has asked the present memory for a span, on its own clock,
//!   and heard nothing.* A second process with an empty directory is started under the name of a
//!   member that serves.
//! - 4.3: *A quorum agrees.* c is cut off from a alone, and serves with b.
//! - 4.4: *A single objection is enough.* b hears c, and a quorum of the five others does not.
//! - 4.5: *A member is replaced at most once a pause.* A disk that loses everything at each start
//!   would wedge the members again and again.
//! - 4.6: *Two blanks with one name wait.* Only an operator knows which one is meant.
//! - 4.7: *A replacement that fails is tried again.* The round of a ends, because b starts: without
//!   another round c stays outside for ever.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::config::HostPort;
use super::super::epoch::{
    Admission, Admit, Change, ChangeError, Current, Hindrance, Membership, SeatChange, Vote, Where,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::Instance;
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::words::{Out, To, emit, send};
use super::Grantor;
use super::changes::{HEARD_FOR, may_be_at, short};
use super::proposals::PAUSE_MAX;
use crate::name::NodeName;
use crate::time::Time;

/// Number of questions to the present memory within the span for which it must be silent.
const QUESTIONS: u32 = 10;
/// Refresh intervals in which the other members answer.
const ROUND: u32 = 2;

/// The blanks that ask for seats, and a blank's own way to a seat.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Admissions {
    /// By the name of the member. Empty unless the settings let members replace others.
    awaited: BTreeMap<NodeName, Awaited>,
    /// The last replacement of each member that this process has seen, and the replaced memory.
    replaced: BTreeMap<NodeName, (Time, Instance)>,
    /// The latest decided epoch without this node's memory, which has entered no epoch.
    outside: Option<Arc<Membership>>,
    /// Hindrances at the members that this blank has asked.
    answers: BTreeMap<NodeName, Hindrance>,
    /// The hindrances of the last report of this blank.
    told: Vec<(NodeName, Hindrance)>,
}

/// A member for whose seat a blank asks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Awaited {
    /// At most two.
    blanks: Vec<Blank>,
    /// The last instant at which the present memory was heard, or the beginning of the watch.
    silent_since: Time,
    was_heard: bool,
    /// Time of the next question to the present memory.
    ask_at: Time,
    /// Time of this member's round; `None` while something hinders it.
    turn: Option<Time>,
    round: Option<Round>,
    /// Number of rounds so far; each doubles the pause before the next one.
    rounds: u32,
    /// The last reported hindrance.
    told: Option<Hindrance>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Blank {
    instance: Instance,
    address: SocketAddr,
    /// The blank's host in its own settings.
    host: HostPort,
    /// Time of its last question.
    heard: Time,
    /// Whether the blank itself has asked here, and not only another member for it.
    is_direct: bool,
}

/// A question to all other members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round {
    start: Time,
    blank: Blank,
    agree: MemberSet,
    answered: MemberSet,
}

impl Awaited {
    const fn new(now: Time) -> Self {
        Self {
            blanks: Vec::new(),
            silent_since: now,
            was_heard: false,
            ask_at: now,
            turn: None,
            round: None,
            rounds: 0,
            told: None,
        }
    }

    /// The blanks that have asked lately.
    fn fresh(&self, now: Time, span: Duration) -> impl Iterator<Item = &Blank> {
        self.blanks.iter().filter(move |blank| now.since(blank.heard) < span)
    }

    /// Notes a question of a blank. The earlier of two at one address is over.
    fn note(&mut self, blank: Blank) {
        let is_same = |known: &&mut Blank| known.instance == blank.instance;
        match self.blanks.iter_mut().find(is_same) {
            Some(known) if blank.is_direct => *known = blank,
            Some(known) => known.heard = blank.heard,
            None => {
                self.blanks.retain(|known| known.address != blank.address);
                if self.blanks.len() < 2 {
                    self.blanks.push(blank);
                }
            }
        }
    }

    /// Begins the watch anew, because the present memory was heard.
    fn heard(&mut self, now: Time) {
        (self.silent_since, self.was_heard) = (now, true);
        (self.turn, self.round, self.rounds) = (None, None, 0);
    }
}

impl Grantor {
    /// Handles the question of a blank, or of a member that has heard the blank.
    pub(super) fn on_admit(&mut self, now: Time, from: &Sender, asked: &Admit, out: &mut Out) {
        let is_own = from.who.name == asked.name;
        let is_member = from.proved && self.membership.position(&from.who.name).is_some();
        if self.removed.is_some() || self.blank || self.is_upgraded() {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotServing));
        }
        if !is_own && !is_member {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        }
        let hindrance = self.judge(now, from, asked);
        let Admit { start, name, instance, .. } = asked.clone();
        let admission = Admission { asker: from.who.inc, start, name, instance, hindrance };
        send(out, To::at(self.membership.id(), from.address), admission);
        self.on_admissions_due(now, out);
    }

    /// Whether this member agrees to a replacement; notes the blank, and begins to watch the
    /// present memory.
    fn judge(&mut self, now: Time, from: &Sender, asked: &Admit) -> Option<Hindrance> {
        let Some(seat) = self.membership.position(&asked.name) else {
            return Some(Hindrance::NotMember);
        };
        let is_direct = from.who.name == asked.name;
        if is_direct && !from.proved {
            return Some(Hindrance::Elsewhere { address: from.address });
        }
        let Some(rule) = self.config.replace else { return Some(Hindrance::Manual) };
        if self.membership.instance(seat) == Some(asked.instance) {
            // The members have let this memory in, and it has not entered yet.
            return Some(Hindrance::Busy);
        }
        if asked.name == self.who.name {
            return Some(Hindrance::Heard { ago: Duration::ZERO, needed: rule.silence });
        }
        let address = if is_direct { Some(from.address) } else { asked.host.literal() };
        if let Some(address) = address {
            let (instance, host) = (asked.instance, asked.host.clone());
            let blank = Blank { instance, address, host, heard: now, is_direct };
            let awaited = &mut self.admissions.awaited;
            awaited.entry(asked.name.clone()).or_insert_with(|| Awaited::new(now)).note(blank);
        }
        if is_direct {
            self.hear_blank(now, from);
        }
        self.hindrance(now, &asked.name, asked.instance)
    }

    /// The reason why this member does not let the blank in now.
    fn hindrance(&self, now: Time, name: &NodeName, blank: Instance) -> Option<Hindrance> {
        let Some(rule) = self.config.replace else { return Some(Hindrance::Manual) };
        let replaced = self.admissions.replaced.get(name);
        if replaced.is_some_and(|(_, former)| *former == blank) {
            return Some(Hindrance::Former);
        }
        let awaited = self.admissions.awaited.get(name);
        let mut fresh = awaited.iter().flat_map(|one| one.fresh(now, self.blank_lasts()));
        if let (Some(one), Some(other)) = (fresh.next(), fresh.next()) {
            return Some(Hindrance::Two { addresses: [one.address, other.address] });
        }
        let rest = replaced.map(|(at, _)| rule.pause.saturating_sub(now.since(*at)));
        if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
            return Some(Hindrance::Lately { rest });
        }
        let needed = rule.silence;
        let span = awaited.map_or(Duration::ZERO, |one| now.since(one.silent_since));
        if span < needed {
            let was_heard = awaited.is_some_and(|one| one.was_heard);
            return Some(match was_heard {
                true => Hindrance::Heard { ago: span, needed },
                false => Hindrance::Silent { span, needed },
            });
        }
        self.decides_now().then_some(Hindrance::Busy)
    }

    /// The span after its last question for which a blank counts as running.
    fn blank_lasts(&self) -> Duration {
        self.config.refresh.saturating_mul(HEARD_FOR)
    }

    /// Whether this member takes part in another change, or cannot vote.
    fn decides_now(&self) -> bool {
        let changes = self.changes.is_running() || self.proposals.running.is_some();
        changes || self.joining.is_some() || self.is_wedged() || self.no_vote().is_some()
    }

    /// Notes that a seat's memory has answered.
    pub(super) fn hear_seat(&mut self, now: Time, from: &Sender, current: &Current) {
        let name = &from.who.name;
        let seat = self.membership.position(name).filter(|_| from.proved && current.entered);
        let is_present =
            seat.is_some_and(|seat| self.membership.instance(seat) == Some(current.instance));
        if is_present && let Some(awaited) = self.admissions.awaited.get_mut(name) {
            awaited.heard(now);
        }
    }

    pub(super) fn admissions_due(&self) -> Option<Time> {
        let round = self.config.refresh.saturating_mul(ROUND);
        let due = |awaited: &Awaited| {
            let ends = awaited.round.as_ref().map(|asked| asked.start.after(round));
            let next = ends.or(awaited.turn).unwrap_or(Time::MAX);
            next.min(awaited.ask_at)
        };
        self.admissions.awaited.values().map(due).min()
    }

    pub(super) fn on_admissions_due(&mut self, now: Time, out: &mut Out) {
        if self.admissions_due().is_none_or(|due| now < due) {
            return;
        }
        let names: Vec<NodeName> = self.admissions.awaited.keys().cloned().collect();
        for name in names {
            self.watch(now, &name, out);
            self.take_turn(now, &name, out);
        }
    }

    /// Asks the present memory of a member, and forgets blanks that ask no more.
    fn watch(&mut self, now: Time, name: &NodeName, out: &mut Out) {
        let Some(rule) = self.config.replace else { return };
        let lasts = rule.silence.max(self.blank_lasts());
        let pause = (rule.silence / QUESTIONS).max(self.config.refresh);
        let to = self.to(name);
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        awaited.blanks.retain(|blank| now.since(blank.heard) < lasts);
        if awaited.blanks.is_empty() {
            self.admissions.awaited.remove(name);
            return emit(out, None, OwnEvent::AwaitedNoMore { name: name.clone() });
        }
        if now >= awaited.ask_at {
            awaited.ask_at = now.after(pause);
            send(out, to, Where { start: now });
        }
    }

    /// Ends a round whose time is over, and begins one when it is this member's turn.
    fn take_turn(&mut self, now: Time, name: &NodeName, out: &mut Out) {
        let round = self.config.refresh.saturating_mul(ROUND);
        let lasts = self.blank_lasts();
        let Some(awaited) = self.admissions.awaited.get(name) else { return };
        let ends = awaited.round.as_ref().is_some_and(|asked| now >= asked.start.after(round));
        if ends {
            return self.end_round(now, name, out);
        }
        let direct = awaited.fresh(now, lasts).find(|blank| blank.is_direct).cloned();
        let Some(blank) = direct else { return self.lose_turn(name) };
        let hindrance = self.hindrance(now, name, blank.instance);
        let hindrance = hindrance.or_else(|| self.hosts(name, &blank).err());
        if let Some(why) = hindrance {
            self.lose_turn(name);
            let own = self.who.name.clone();
            return self.tell_awaited(now, name, own, why, out);
        }
        let place = u32::try_from(self.own_position()).unwrap_or(0).min(31);
        let pause = self.config.refresh.saturating_mul(1 + 4 * place);
        let next = now.after(pause.saturating_add(self.lot(self.config.refresh)));
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        let turn = *awaited.turn.get_or_insert(next);
        if awaited.round.is_none() && now >= turn {
            self.begin_round(now, name, blank, out);
        }
    }

    fn lose_turn(&mut self, name: &NodeName) {
        if let Some(awaited) = self.admissions.awaited.get_mut(name) {
            (awaited.turn, awaited.round) = (None, None);
        }
    }

    /// Asks all other members whether they agree.
    fn begin_round(&mut self, now: Time, name: &NodeName, blank: Blank, out: &mut Out) {
        let others = self.asked_about(name);
        let agree = self.membership.position(&self.who.name).into_iter().collect();
        let host = HostPort::from(blank.address);
        let admit = Admit { start: now, name: name.clone(), instance: blank.instance, host };
        for member in others.iter() {
            send(out, self.to(self.membership.name(member)), admit.clone());
        }
        let round = Round { start: now, blank, agree, answered: MemberSet::EMPTY };
        if let Some(awaited) = self.admissions.awaited.get_mut(name) {
            awaited.round = Some(round);
        }
        if others.is_empty() {
            self.end_round(now, name, out);
        }
    }

    /// The members that answer for the member `name`: all but this one and that one.
    fn asked_about(&self, name: &NodeName) -> MemberSet {
        self.others().minus(self.membership.position(name).into_iter().collect())
    }

    /// Handles the answer of a member, to this member's round or to this blank.
    pub(in crate::nerio) fn on_admission(
        &mut self,
        now: Time,
        from: &Sender,
        admission: &Admission,
        out: &mut Out,
    ) {
        if self.blank {
            return self.on_own_admission(now, from, admission, out);
        }
        let name = &admission.name;
        let member = self.other_member(from);
        let awaited = self.admissions.awaited.get_mut(name);
        let round = awaited.and_then(|awaited| awaited.round.as_mut());
        let is_its = |round: &&mut Round| {
            round.start == admission.start && round.blank.instance == admission.instance
        };
        let (Some(member), Some(round)) = (member, round.filter(is_its)) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        round.answered = round.answered.with(member);
        match &admission.hindrance {
            None => round.agree = round.agree.with(member),
            Some(why) if why.is_objection() => {
                let (by, why) = (from.who.name.clone(), why.clone());
                self.pause_rounds(now, name);
                return self.tell_awaited(now, name, by, why, out);
            }
            Some(_) => {}
        }
        let answered = round.answered;
        if self.asked_about(name).minus(answered).is_empty() {
            self.end_round(now, name, out);
        }
    }

    /// Begins the change if a quorum agrees, and another round later if not.
    fn end_round(&mut self, now: Time, name: &NodeName, out: &mut Out) {
        let awaited = self.admissions.awaited.get_mut(name);
        let Some(Round { blank, agree, .. }) = awaited.and_then(|one| one.round.take()) else {
            return;
        };
        self.pause_rounds(now, name);
        if !self.membership.quorums().is_quorum(agree) {
            let without = self.membership.named(self.asked_about(name).minus(agree));
            let (own, why) = (self.who.name.clone(), Hindrance::Few { without: short(without) });
            return self.tell_awaited(now, name, own, why, out);
        }
        let Ok(hosts) = self.hosts(name, &blank) else { return };
        let instance = Some(blank.instance);
        let what = SeatChange::Replace { name: name.clone(), hosts, instance };
        let number = self.draw.number(name.as_str(), "replace", now.as_nanos());
        let change = Change { start: now, number, what, quorums: None };
        if self.begin_change(now, None, &change, out).is_ok() {
            emit(out, None, OwnEvent::Replacing { name: name.clone(), address: blank.address });
        }
    }

    /// Ends a round. The next one begins after a pause that grows, so that two members do not meet
    /// again and again.
    fn pause_rounds(&mut self, now: Time, name: &NodeName) {
        let place = u32::try_from(self.own_position()).unwrap_or(0).min(31);
        let draw = self.lot(self.config.refresh);
        let refresh = self.config.refresh;
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        let turns = 4_u32.saturating_add(place) << awaited.rounds.min(7);
        let pause = refresh.saturating_mul(turns).min(PAUSE_MAX);
        awaited.rounds = awaited.rounds.saturating_add(1);
        (awaited.round, awaited.turn) = (None, Some(now.after(pause.saturating_add(draw))));
    }

    /// The hosts of the seat after the change; empty if they stay. A blank at another address has
    /// proved its name by its key, and may then name its own host.
    fn hosts(&self, name: &NodeName, blank: &Blank) -> Result<Vec<HostPort>, Hindrance> {
        let mut seats = self.membership.document().seats.iter();
        let present = seats.find(|seat| seat.name == *name);
        if present.is_none_or(|seat| may_be_at(&seat.hosts, blank.address)) {
            return Ok(Vec::new());
        }
        let own = alloc::vec![blank.host.clone()];
        match may_be_at(&own, blank.address) {
            true => Ok(own),
            false => Err(Hindrance::Elsewhere { address: blank.address }),
        }
    }

    /// Reports why a blank is not let in yet, if the reason is new.
    fn tell_awaited(
        &mut self,
        now: Time,
        name: &NodeName,
        by: NodeName,
        why: Hindrance,
        out: &mut Out,
    ) {
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        let told = awaited.told.replace(why.clone());
        let is_told = told.is_some_and(|told| told.is_like(&why));
        // A memory that is heard again and again has another age each time.
        if !is_told || matches!(why, Hindrance::Heard { .. }) {
            let (name, why) = (name.clone(), alloc::vec![(by, why)]);
            emit(out, None, OwnEvent::Awaited { name, why, at: now });
        }
    }

    /// Reports that a change which this member began by itself was refused.
    pub(super) fn replacement_failed(&self, change: &Change, error: ChangeError, out: &mut Out) {
        if let SeatChange::Replace { name, .. } = &change.what {
            emit(out, None, OwnEvent::ReplacementFailed { name: name.clone(), error });
        }
    }

    /// Notes the members with other memories than in the epoch `left`.
    pub(super) fn note_replaced(&mut self, now: Time, left: &Membership) {
        let into = &self.membership;
        let replaced = &mut self.admissions.replaced;
        replaced.retain(|name, _| into.position(name).is_some());
        let of = |one: &Membership, name: &NodeName| one.instance(one.position(name)?);
        for name in into.names() {
            let former = of(left, name).filter(|former| of(into, name) != Some(*former));
            if let Some(former) = former {
                replaced.insert(name.clone(), (now, former));
            }
        }
    }

    /// Forgets what is awaited in the epoch that this grantor leaves.
    pub(super) fn forget_admissions(&mut self) {
        let Admissions { awaited, outside, answers, told, .. } = &mut self.admissions;
        awaited.clear();
        answers.clear();
        (*outside, *told) = (None, Vec::new());
    }
}

// The way of a blank to a seat.
impl Grantor {
    /// The decided epoch without this memory, which has entered no epoch.
    pub(super) fn outside(&self) -> Option<&Arc<Membership>> {
        self.admissions.outside.as_ref().filter(|_| self.blank)
    }

    /// Notes a decided epoch that does not name this memory, which has entered no epoch.
    pub(super) fn stay_outside(&mut self, now: Time, into: &Arc<Membership>, out: &mut Out) {
        if self.joining.is_some() {
            // The memory was named, and another one has taken its place before it entered.
            self.votes.vote = Vote::BARRED;
            self.write_vote(now, out);
            self.leave(Arc::clone(into), out);
        }
        let known = self.admissions.outside.as_ref().map(|known| known.id().number);
        if known.is_some_and(|known| known >= into.id().number) {
            return;
        }
        self.admissions.outside = Some(Arc::clone(into));
        self.is_news = true;
        if self.may_ask() {
            return self.ask_to_be_let_in(now, out);
        }
        let is_former = self.votes.vote.is_barred();
        let why = match into.position(&self.who.name) {
            _ if is_former => Hindrance::Former,
            Some(_) => Hindrance::Manual,
            None => Hindrance::NotMember,
        };
        self.tell_outside(now, alloc::vec![(self.who.name.clone(), why)], out);
    }

    /// Whether this blank asks the members to let it in: its settings say so, and its memory was in
    /// no epoch.
    fn may_ask(&self) -> bool {
        let is_new = self.removed.is_none() && !self.votes.vote.is_barred();
        self.outside().is_some()
            && is_new
            && self.joining.is_none()
            && self.config.replace.is_some()
    }

    /// Asks the members of the settings, and those of the latest known epoch, to let this memory
    /// in.
    pub(super) fn ask_to_be_let_in(&self, now: Time, out: &mut Out) {
        let own = self.config.members.iter().find(|member| member.name == self.who.name);
        let Some(own) = own.filter(|_| self.may_ask()) else { return };
        let (name, host) = (own.name.clone(), own.address.clone());
        let admit = Admit { start: now, name, instance: self.instance, host };
        let later = self.outside().map_or(&[][..], |later| later.names());
        let mut names: Vec<_> = self.membership.names().iter().chain(later).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| **name != self.who.name) {
            send(out, self.to(name), admit.clone());
        }
    }

    fn on_own_admission(&mut self, now: Time, from: &Sender, admission: &Admission, out: &mut Out) {
        let is_ours = admission.name == self.who.name && admission.instance == self.instance;
        let is_in = |one: &Arc<Membership>| one.position(&from.who.name).is_some();
        let is_listed = is_in(&self.membership) || self.outside().is_some_and(is_in);
        if !is_ours || !from.proved || !is_listed || !self.may_ask() {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        }
        let answers = &mut self.admissions.answers;
        match &admission.hindrance {
            Some(why) => drop(answers.insert(from.who.name.clone(), why.clone())),
            None => drop(answers.remove(&from.who.name)),
        }
        let why = answers.iter().map(|(by, why)| (by.clone(), why.clone())).collect();
        self.tell_outside(now, why, out);
    }

    /// Reports why this blank is not let in yet, if the reasons are new.
    fn tell_outside(&mut self, now: Time, why: Vec<(NodeName, Hindrance)>, out: &mut Out) {
        let told = &mut self.admissions.told;
        let is_like = |(one, other): (&(NodeName, Hindrance), &(NodeName, Hindrance))| {
            one.0 == other.0 && one.1.is_like(&other.1)
        };
        let is_told = told.len() == why.len() && told.iter().zip(&why).all(is_like);
        told.clone_from(&why);
        if !is_told && !why.is_empty() {
            let name = self.who.name.clone();
            emit(out, None, OwnEvent::Awaited { name, why, at: now });
        }
    }
}
