//! Members that replace lost memories by themselves, if their settings say so.
//!
//! ```text
//!            a blank asks for      silent for the needed      its turn, by        a quorum agrees,
//!            the seat of c         span, nothing objects      order and draw      none objects
//!  (nothing) ───────────> watch ──────────────────────> ripe ──────────> round ──────────> change
//!                          ^ the memory of c answers      │                │ an objection,    │
//!                          │ or a second blank asks       │                │ or too few       │
//!                          └──────────────────────────────┴────────────────┴──────────────────┘
//! ```
//!
//! Rules, with the runs that they prevent; members vote on such a change as on an operator's:
//!
//! - 4.1: *A memory that was in an epoch never asks.* Otherwise an operator replaces c, the old
//!   disk of c is put back, and the members replace both memories in turn. A memory notes when a
//!   document names it.
//! - 4.2: *A member agrees only after it has asked the present memory for a span, on its own clock,
//!   and heard nothing.* Otherwise a second process with an empty directory and the name of a
//!   serving member replaces it.
//! - 4.2.1: *A member asks at the hosts of the seat as well.* c has moved, but the lists still name
//!   its earlier machine, on which a second c starts. Only the seat's hosts lead to the first c.
//! - 4.3: *A quorum agrees.* Otherwise a would replace c, although c is only cut off from a and
//!   serves with b.
//! - 4.4: *Each member that answers agrees.* Member b still hears c, and a quorum of the others
//!   does not. b learns of the blank from the round, and agrees only after a span of its own.
//! - 4.4.1: *An objection lasts for a span, and a member that answered lately must answer.*
//!   Otherwise b objects, the next question to b is lost, and the others go on without b.
//! - 4.4.2: *A change stops if an objection comes before a member has accepted it.* While the
//!   grantor looks for the memory of the first blank, c may answer, or a second blank may ask.
//! - 4.5: *Two replacements of one member are at least a pause apart.* Otherwise a disk that loses
//!   everything at each start would wedge the members again and again.
//! - 4.6: *Two blanks with one name wait.* Only an operator knows which blank is meant.
//! - 4.7: *A replacement that fails is tried again.* A round of a fails, for example, because b
//!   restarts.
//! - 4.8: *A blank asks the members of the latest epoch it knows.* Its own list may be old.

mod hosts;
mod outside;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::config::{AutoReplace, HostPort};
use super::super::epoch::{
    Admission, Admit, Change, Current, Hindrance, Membership, SeatChange, Where,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::Instance;
use super::super::message::Sender;
use super::super::quorum::MemberSet;
use super::super::words::{Out, To, emit, send};
use super::Grantor;
use super::changes::{HEARD_FOR, short};
use super::proposals::PAUSE_MAX;
use crate::name::NodeName;
use crate::time::Time;

/// Number of questions to the present memory within the span for which it must be silent.
const QUESTIONS: u32 = 10;
/// Refresh intervals for which a round waits for answers.
const ROUND: u32 = 2;
/// Refresh intervals for which a blank is awaited beyond the needed silence and the pause.
const BETWEEN: u32 = 4;

/// The blanks that ask for seats, and this node's own requests while it is a blank.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Admissions {
    /// Members whose seats blanks ask for. Empty unless the settings let members replace others.
    awaited: BTreeMap<NodeName, Awaited>,
    /// The last replacement of each member that this process has seen, and the replaced memory.
    replaced: BTreeMap<NodeName, (Time, Instance)>,
    /// The latest decided epoch that does not name the memory of this blank.
    outside: Option<Arc<Membership>>,
    /// Hindrances that members have reported to this blank.
    answers: BTreeMap<NodeName, Hindrance>,
    /// The hindrances of the last report of this blank.
    told: Vec<(NodeName, Hindrance)>,
}

/// A member for whose seat a blank asks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Awaited {
    rule: AutoReplace,
    /// At most two.
    blanks: Vec<Blank>,
    /// The last instant at which the present memory was heard, or the beginning of the watch.
    silent_since: Time,
    was_heard: bool,
    /// Time of the next question to the present memory.
    ask_at: Time,
    /// When this grantor may begin a round about the awaited member; `None` while it must not.
    turn: Option<Time>,
    round: Option<Round>,
    /// Time of each other member's last answer.
    answered: BTreeMap<NodeName, Time>,
    /// Number of rounds so far; each round doubles the pause before the next round.
    rounds: u32,
    told: Option<Hindrance>,
    /// Address of a blank that did not answer at the hosts of the seat, in the last change.
    elsewhere: Option<SocketAddr>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Blank {
    instance: Instance,
    address: SocketAddr,
    /// The blank's host in its own settings.
    host: HostPort,
    /// Time of the blank's last question.
    heard: Time,
    /// Whether the blank itself has asked here. If not, another member has asked about it.
    is_direct: bool,
}

/// A question to all other members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round {
    start: Time,
    /// Time at which the question is repeated; `None` after that.
    again: Option<Time>,
    blank: Blank,
    agree: MemberSet,
}

impl Awaited {
    const fn new(now: Time, rule: AutoReplace) -> Self {
        Self {
            rule,
            blanks: Vec::new(),
            silent_since: now,
            was_heard: false,
            ask_at: now,
            turn: None,
            round: None,
            answered: BTreeMap::new(),
            rounds: 0,
            told: None,
            elsewhere: None,
        }
    }

    /// The blanks that have asked lately.
    fn fresh(&self, now: Time, span: Duration) -> impl Iterator<Item = &Blank> {
        self.blanks.iter().filter(move |blank| now.since(blank.heard) < span)
    }

    /// Notes a question of a blank. An earlier blank at the same address has ended.
    fn note(&mut self, blank: Blank) {
        let is_same = |known: &&mut Blank| known.instance == blank.instance;
        match self.blanks.iter_mut().find(is_same) {
            Some(known) if blank.is_direct => *known = blank,
            Some(known) => known.heard = blank.heard,
            None => {
                self.blanks.retain(|known| known.address != blank.address);
                if let [one, other] = &self.blanks[..] {
                    self.blanks.remove(usize::from(other.heard < one.heard));
                }
                self.blanks.push(blank);
            }
        }
    }

    /// Begins the watch anew, because the present memory was heard.
    fn heard(&mut self, now: Time) {
        (self.silent_since, self.was_heard) = (now, true);
        (self.turn, self.round, self.rounds) = (None, None, 0);
    }

    /// Begins this watch at the beginning of another member's watch, if that beginning is later.
    fn object(&mut self, now: Time, why: &Hindrance) {
        let (span, was_heard) = match *why {
            Hindrance::Heard { ago, .. } => (ago, true),
            Hindrance::Silent { span, .. } => (span, false),
            _ => return,
        };
        let since = now.before(span);
        if since > self.silent_since {
            (self.silent_since, self.was_heard) = (since, was_heard);
        }
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
        if let Some(why @ Hindrance::Two { .. }) = &hindrance {
            self.stop_replacing(now, &asked.name, self.who.name.clone(), why.clone(), out);
        }
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
            // The members have let the blank's memory in, and the blank has not entered yet.
            return Some(Hindrance::Busy);
        }
        if asked.name == self.who.name {
            return Some(Hindrance::Heard { ago: Duration::ZERO, needed: rule.silence });
        }
        let address = if is_direct { Some(from.address) } else { asked.host.literal() };
        if let Some(address) = address {
            let (instance, host) = (asked.instance, asked.host.clone());
            let blank = Blank { instance, address, host, heard: now, is_direct };
            let awaited = self.admissions.awaited.entry(asked.name.clone());
            awaited.or_insert_with(|| Awaited::new(now, rule)).note(blank);
        }
        if is_direct {
            self.hear_blank(now, from);
        }
        // To others this is no objection: they may see the blank, and must be free to try.
        let elsewhere = || self.elsewhere(asked).filter(|_| is_direct);
        self.hindrance(now, &asked.name, asked.instance).or_else(elsewhere)
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

    /// The span for which a blank is awaited after its last question. A member that the blank does
    /// not reach hears of the blank only from rounds of other members. So the span is longer than
    /// the time between two rounds.
    fn awaited_for(&self, silence: Duration) -> Duration {
        let rounds = self.config.refresh.saturating_mul(BETWEEN).saturating_add(PAUSE_MAX);
        silence.saturating_add(rounds)
    }

    /// Whether this member takes part in another change, or cannot vote.
    fn decides_now(&self) -> bool {
        let changes = self.changes.is_running() || self.proposals.running.is_some();
        changes || self.joining.is_some() || self.is_wedged() || self.no_vote().is_some()
    }

    /// Notes that a seat's memory has answered.
    pub(super) fn hear_seat(&mut self, now: Time, from: &Sender, current: &Current, out: &mut Out) {
        let name = &from.who.name;
        let seat = self.membership.position(name).filter(|_| from.proved && current.entered);
        let is_present =
            seat.is_some_and(|seat| self.membership.instance(seat) == Some(current.instance));
        if is_present && let Some(awaited) = self.admissions.awaited.get_mut(name) {
            awaited.heard(now);
            let needed = awaited.rule.silence;
            let why = Hindrance::Heard { ago: Duration::ZERO, needed };
            self.stop_replacing(now, name, self.who.name.clone(), why, out);
        }
    }

    /// Withdraws a replacement that this grantor has begun by itself, unless a member may have
    /// accepted it.
    fn stop_replacing(
        &mut self,
        now: Time,
        name: &NodeName,
        by: NodeName,
        why: Hindrance,
        out: &mut Out,
    ) {
        if self.replaces(name) && self.take_back(out) {
            self.tell_awaited(now, name, by, why, out);
        }
    }

    pub(super) fn admissions_due(&self) -> Option<Time> {
        let round = self.config.refresh.saturating_mul(ROUND);
        let due = |awaited: &Awaited| {
            let ends = |asked: &Round| asked.again.unwrap_or_else(|| asked.start.after(round));
            let ends = awaited.round.as_ref().map(ends);
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

    /// The rule for a member that is awaited.
    fn rule_for(&self, name: &NodeName) -> Option<AutoReplace> {
        self.admissions.awaited.get(name).map(|awaited| awaited.rule)
    }

    /// Asks the present memory of a member, and forgets blanks that ask no more.
    fn watch(&mut self, now: Time, name: &NodeName, out: &mut Out) {
        let Some(rule) = self.rule_for(name) else { return };
        let lasts = self.awaited_for(rule.silence);
        let pause = (rule.silence / QUESTIONS).max(self.config.refresh);
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        awaited.blanks.retain(|blank| now.since(blank.heard) < lasts);
        if awaited.blanks.is_empty() {
            self.admissions.awaited.remove(name);
            return emit(out, None, OwnEvent::AwaitedNoMore { name: name.clone() });
        }
        if now >= awaited.ask_at {
            awaited.ask_at = now.after(pause);
            self.ask_seat(now, name, out);
        }
    }

    /// Asks the memory of a seat at the hosts of the seat, and at the host in the settings. The
    /// latter may be an earlier machine.
    pub(super) fn ask_seat(&self, now: Time, name: &NodeName, out: &mut Out) {
        let own = self.membership.id();
        send(out, self.to(name), Where { start: now });
        let listed = self.config.members.iter().find(|member| member.name == *name);
        let Some(listed) = listed.map(|member| &member.address) else { return };
        let hosts = self.membership.seat(name).map_or(&[][..], |seat| &seat.hosts);
        for host in hosts.iter().filter(|host| *host != listed) {
            if let Some(address) = host.literal() {
                send(out, To::at(own, address), Where { start: now });
            }
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
            match why {
                Hindrance::Busy => self.delay_turn(now, name),
                _ => self.lose_turn(name),
            }
            let own = self.who.name.clone();
            return self.tell_awaited(now, name, own, why, out);
        }
        let pause = self.config.refresh.saturating_mul(1 + 4 * self.place()).min(PAUSE_MAX);
        let next = now.after(pause.saturating_add(self.lot(self.config.refresh)));
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        let turn = *awaited.turn.get_or_insert(next);
        match &mut awaited.round {
            None if now >= turn => self.begin_round(now, name, blank, out),
            Some(asked) if asked.again.is_some_and(|again| now >= again) => {
                asked.again = None;
                self.ask_members(name, out);
            }
            _ => {}
        }
    }

    fn lose_turn(&mut self, name: &NodeName) {
        if let Some(awaited) = self.admissions.awaited.get_mut(name) {
            (awaited.turn, awaited.round) = (None, None);
        }
    }

    /// Delays the turn while a change runs. The pauses of failed rounds still count.
    fn delay_turn(&mut self, now: Time, name: &NodeName) {
        let next = now.after(self.config.refresh);
        if let Some(awaited) = self.admissions.awaited.get_mut(name) {
            awaited.round = None;
            awaited.turn = awaited.turn.map(|turn| turn.max(next));
        }
    }

    /// Asks all other members whether they agree.
    fn begin_round(&mut self, now: Time, name: &NodeName, blank: Blank, out: &mut Out) {
        let agree = self.membership.position(&self.who.name).into_iter().collect();
        let again = Some(now.after(self.config.refresh));
        let round = Round { start: now, again, blank, agree };
        if let Some(awaited) = self.admissions.awaited.get_mut(name) {
            awaited.round = Some(round);
        }
        match self.asked_about(name).is_empty() {
            true => self.end_round(now, name, out),
            false => self.ask_members(name, out),
        }
    }

    /// Asks the members that have not agreed in the running round.
    fn ask_members(&self, name: &NodeName, out: &mut Out) {
        let round = self.admissions.awaited.get(name).and_then(|awaited| awaited.round.as_ref());
        let Some(Round { start, blank, agree, .. }) = round else { return };
        let (start, name, instance) = (*start, name.clone(), blank.instance);
        let admit = Admit { start, name, instance, host: HostPort::from(blank.address) };
        for member in self.asked_about(&admit.name).minus(*agree).iter() {
            send(out, self.to(self.membership.name(member)), admit.clone());
        }
    }

    /// The members that answer about the member `name`: all except this grantor and `name`.
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
        let (Some(member), Some(awaited)) = (member, self.admissions.awaited.get_mut(name)) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let by = from.who.name.clone();
        awaited.answered.insert(by.clone(), now);
        if let Some(why) = admission.hindrance.clone() {
            awaited.object(now, &why);
            if awaited.round.is_some() {
                self.pause_rounds(now, name);
                self.tell_awaited(now, name, by, why, out);
            } else if why != Hindrance::Busy {
                // Ignore `Busy`: the running change itself makes a member busy.
                self.stop_replacing(now, name, by, why, out);
            }
            return;
        }
        let is_its = |round: &&mut Round| {
            round.start == admission.start && round.blank.instance == admission.instance
        };
        let Some(round) = awaited.round.as_mut().filter(is_its) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        round.agree = round.agree.with(member);
        let agree = round.agree;
        if self.asked_about(name).minus(agree).is_empty() {
            self.end_round(now, name, out);
        }
    }

    /// Begins the change if a quorum and every member that has answered lately agree.
    fn end_round(&mut self, now: Time, name: &NodeName, out: &mut Out) {
        let Some(rule) = self.rule_for(name) else { return };
        let lasts = self.awaited_for(rule.silence);
        let awaited = self.admissions.awaited.get_mut(name);
        let Some(Round { blank, agree, .. }) = awaited.and_then(|one| one.round.take()) else {
            return;
        };
        self.pause_rounds(now, name);
        if let Some(why) = self.hindrance(now, name, blank.instance) {
            return self.tell_awaited(now, name, self.who.name.clone(), why, out);
        }
        let without = self.membership.named(self.asked_about(name).minus(agree));
        let awaited = self.admissions.awaited.get(name);
        let last = |other: &NodeName| awaited?.answered.get(other).copied();
        let is_near = |other| last(other).is_some_and(|at| now.since(at) < lasts);
        if without.iter().any(is_near) || !self.membership.quorums().is_quorum(agree) {
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

    /// Ends a round. The pause before the next round grows, so that two members do not collide for
    /// ever.
    fn pause_rounds(&mut self, now: Time, name: &NodeName) {
        let place = self.place();
        let draw = self.lot(self.config.refresh);
        let refresh = self.config.refresh;
        let Some(awaited) = self.admissions.awaited.get_mut(name) else { return };
        let turns = (4 + place) << awaited.rounds.min(7);
        let pause = refresh.saturating_mul(turns).min(PAUSE_MAX);
        awaited.rounds = awaited.rounds.saturating_add(1);
        (awaited.round, awaited.turn) = (None, Some(now.after(pause.saturating_add(draw))));
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
        // Report every `Heard`, because its age begins anew whenever the memory is heard.
        if !is_told || matches!(why, Hindrance::Heard { .. }) {
            let (name, why) = (name.clone(), alloc::vec![(by, why)]);
            emit(out, None, OwnEvent::Awaited { name, why, at: now });
        }
    }

    /// Notes the members whose memories were replaced since the epoch `left`.
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

    /// Forgets the blanks: a removed member lets no blank in.
    pub(super) fn forget_awaited(&mut self) {
        self.admissions.awaited.clear();
    }

    /// Drops the watches and answers of the epoch that this grantor leaves.
    pub(super) fn forget_admissions(&mut self) {
        let Admissions { awaited, outside, answers, told, .. } = &mut self.admissions;
        awaited.clear();
        answers.clear();
        (*outside, *told) = (None, Vec::new());
    }
}
