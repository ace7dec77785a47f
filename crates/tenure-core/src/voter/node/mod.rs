//! One voter: the machine that the module document describes.

mod acknowledge;
mod answer;
mod available;
mod beat;
mod change;
mod condition;
mod discover;
mod draw;
mod found;
mod lead;
mod obstacle;
mod request;
mod start;
mod view;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use lead::{Campaign, Lease, Releasing};
use start::Starter;
use view::{Followed, Observed};

use super::calls::{Calls, OPEN_MAX, Purpose};
use super::config::{Checked, Mode};
use super::electorate::Fingerprint;
use super::event::{Breach, Event, Ignored, OwnEvent};
use super::identity::{Ballot, Identity, Participant, VoterUrl};
use super::known::Known;
use super::memory::Memory;
use super::message::{Answer, Ask, Call, Caller, ElectionDto, FirstVoters, Header, Message};
use super::promise::Promise;
use super::round::Round;
use super::words::{Command, Effect, Out, Peer, Start, Words, emit};
use crate::contract::{Input, Protocol};
use crate::draw::Draw;
use crate::name::{ElectionName, NodeName};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

/// One voter of a network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Voter {
    config: Checked,
    me: Participant,
    draw: Draw,
    /// How often something was drawn: no draw is made twice.
    draws: u64,
    started: bool,
    now: Time,
    memory: Memory,
    /// What was written, promised and claimed before the write of this input.
    before: Option<(Memory, Promise, Option<Lease>)>,
    /// Where the write is among the effects of this input.
    write: Option<usize>,
    /// It has won by this input, and nobody was told if its write fails.
    winning: bool,
    /// What ended after the write of this input: it has ended although the write fails.
    ended: Vec<Effect>,
    /// Its state directory cannot be written: when that is tried again.
    failing: Option<Time>,
    /// The write of this input was only tried.
    tried: bool,
    /// Its id stands in the electorate with another identity.
    lost: bool,
    /// One of the accepted set has founded another network: the own one will never be founded.
    superseded: bool,
    /// When another voter of its id was heard last.
    mixed: Option<Time>,
    /// Another process of its id: where, and when it was heard last.
    twin: Option<(VoterUrl, Time)>,
    /// When it was first told that a later run of it was heard.
    told_over: Option<Time>,
    /// Members that were heard with another identity than the one that is accepted, and when last.
    strangers: BTreeMap<NodeName, Time>,
    /// First voters that have accepted others than this one: when they were heard last, and with
    /// whom they begin, if they have said so.
    apart: BTreeMap<NodeName, (Time, Option<FirstVoters>)>,
    /// Whose lease was last told to be another one than its own, and how long that is.
    other_times: Option<(NodeName, Duration)>,
    /// It was told that no ballot can be started any more.
    used_up: bool,
    promise: Promise,
    calls: Calls,
    known: Known,
    /// Where to look for others, and who was found there.
    seeds: BTreeMap<VoterUrl, Option<NodeName>>,
    /// When the next heartbeat is sent.
    beat: Time,
    /// From when on it would know of a leader, with `available`.
    informed_at: Time,
    seq: u64,
    /// The set of voters that could have been accepted at the last heartbeat.
    considered: Option<Fingerprint>,
    round: Option<Round>,
    /// The highest ballot that was joined.
    joined: Option<Ballot>,
    /// The highest counter that was heard of.
    highest: u64,
    starter: Starter,
    campaign: Option<Campaign>,
    releasing: Option<Releasing>,
    followed: Option<Followed>,
    /// The last result.
    last: Option<ElectionDto>,
    observed: Option<Observed>,
}

impl Voter {
    /// One that has not started yet.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        let id = config.id.clone();
        Self {
            config,
            me: Participant { id, identity: Identity(0), incarnation: 0 },
            draw: Draw::new(0),
            draws: 0,
            started: false,
            now: Time::ZERO,
            memory: Memory::begin(Identity(0)),
            before: None,
            write: None,
            winning: false,
            ended: Vec::new(),
            failing: None,
            tried: false,
            lost: false,
            superseded: false,
            mixed: None,
            twin: None,
            told_over: None,
            strangers: BTreeMap::new(),
            apart: BTreeMap::new(),
            other_times: None,
            used_up: false,
            promise: Promise::default(),
            calls: Calls::default(),
            known: Known::default(),
            seeds: BTreeMap::new(),
            beat: Time::ZERO,
            informed_at: Time::ZERO,
            seq: 0,
            considered: None,
            round: None,
            joined: None,
            highest: 0,
            starter: Starter::default(),
            campaign: None,
            releasing: None,
            followed: None,
            last: None,
            observed: None,
        }
    }

    /// How others know it, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Participant {
        &self.me
    }

    /// What it must not forget.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    fn start(&mut self, start: Start, out: &mut Out) {
        let Start { incarnation, seed, memory } = start;
        self.started = true;
        self.draw = Draw::new(seed);
        (self.me.identity, self.me.incarnation) = (memory.identity, incarnation);
        self.memory = memory;
        self.beat = self.now;
        self.informed_at = self.now.after(self.config.silence());
        if let super::config::Founding::List(listed) = &self.config.founding {
            let others = listed.iter().filter(|listed| listed.id != self.me.id);
            self.seeds = others.map(|listed| (listed.url.clone(), None)).collect();
        }
        if self.is_majority() {
            // One that is not founded has never cast.
            if self.memory.founded || self.memory.endorsed.is_some() {
                self.promise.quarantine = self.now.after(self.memory.lease_max);
            }
            self.remember_longest(out);
            self.starter.at = Some(self.promise.quarantine.max(self.now));
        } else {
            self.starter.at = Some(self.now.after(self.config.silence()));
        }
        self.wait_a_little();
        self.tell_own(OwnEvent::Started { who: self.me.clone() }, out);
    }

    fn is_majority(&self) -> bool {
        self.config.mode == Mode::Majority
    }

    /// Changes what must not be forgotten. It is written once for each input, where it was first
    /// changed, so that all after it rests on the whole.
    fn remember(&mut self, out: &mut Out, change: impl FnOnce(&mut Memory)) {
        if self.write.is_none() && self.is_majority() {
            let lease = self.lease().cloned();
            self.before = Some((self.memory.clone(), self.promise.clone(), lease));
            self.write = Some(out.len());
            out.push(Effect::Persist(self.memory.clone()));
        }
        change(&mut self.memory);
    }

    /// Nothing is promised for longer than is written down.
    fn remember_longest(&mut self, out: &mut Out) {
        let longest = self.config.lease_max();
        if self.is_majority() && self.can_write() && longest > self.memory.lease_max {
            self.remember(out, |memory| memory.lease_max = longest);
        }
    }

    /// The last write failed, and nothing after it has happened.
    fn on_failed(&mut self, out: &mut Out) {
        let Some((memory, promise, lease)) = self.before.take() else {
            return self.ignore(Ignored::NotWritten, out);
        };
        self.memory = memory;
        if let Some(lease) = lease {
            self.lead_as_before(lease, promise);
        }
        out.append(&mut self.ended);
        self.forget_told();
        self.leave_round(out);
        if core::mem::take(&mut self.winning) {
            self.unwin(out);
        }
        // One that leads goes on, with the document that it had.
        self.document_changed();
        self.starter.at = Some(self.now.after(self.config.heartbeat));
        self.fail();
        self.ignore(Ignored::NotWritten, out);
    }

    /// Does all that is due. What follows from it at the same instant is done, too.
    fn catch_up(&mut self, out: &mut Out) {
        for _ in 0..OPEN_MAX + 64 {
            // The end of time never comes.
            let now = self.now.min(Time::MAX.before(Duration::from_nanos(1)));
            if let Some(open) = self.calls.overdue(now) {
                self.on_no_answer(&open, out);
            } else if self.leads_until().is_some_and(|ends| ends <= now) {
                self.lapse(out);
            } else if self.round_due().is_some_and(|due| due <= now) {
                self.on_round_due(out);
            } else if self.beat <= now {
                self.on_beat(out);
            } else if self.releasing.as_ref().is_some_and(|releasing| releasing.until <= now) {
                self.on_released(out);
            } else if self.starter.at.is_some_and(|at| at <= now) {
                self.on_start_due(out);
            } else if self.view_due().is_some_and(|due| due <= now) {
                self.on_view_due();
            } else {
                return;
            }
        }
    }

    /// When something is due, and why.
    fn dues(&self) -> [(Option<Time>, &'static str); 8] {
        [
            (self.leads_until(), "the lease ends"),
            (self.calls.due(), "an answer is overdue"),
            (self.round_due(), "a ballot is counted, or over"),
            (Some(self.beat), "a heartbeat is due"),
            (self.releasing.as_ref().map(|releasing| releasing.until), "a release is over"),
            (self.starter.at, "an election may be started"),
            (self.view_due(), "what is known of the leader is over"),
            (self.failing, "the state is written again"),
        ]
    }

    fn on_command(&mut self, election: ElectionName, command: Command, out: &mut Out) {
        if election != self.config.election {
            return self.refuse_other(&election, &command, out);
        }
        match command {
            Command::Campaign { value, .. } => self.campaign(value, out),
            Command::Resign => self.withdraw(out),
            Command::Observe { .. } => self.observed = Some(Observed::default()),
            Command::Unobserve => self.observed = None,
            Command::Transfer { .. } => self.ignore(Ignored::Command, out),
            Command::Extra(extra) => match extra {},
        }
    }

    /// A network elects one leader.
    fn refuse_other(&self, election: &ElectionName, command: &Command, out: &mut Out) {
        let why = alloc::format!(
            "this network elects a leader of {}, and of nothing else; give {election} a network of \
             its own",
            self.config.election
        );
        match command {
            Command::Campaign { .. } => {
                let end = crate::event::End::Refused { why: why.into() };
                emit(Some(election), Event::Ended(end), out);
                emit(Some(election), Event::Released, out);
            }
            Command::Observe { .. } => {
                emit(Some(election), Event::NotObserved { why: why.into() }, out);
            }
            _ => {}
        }
    }

    /// A draw that was not made before.
    fn random(&mut self, bound: Duration) -> Duration {
        self.draws += 1;
        self.draw.span(bound, self.config.election.as_str(), "wait", self.draws)
    }

    fn header(&self) -> Header {
        let founding = self.accepted().map(|own| (own.founding, self.memory.founded));
        Header {
            election: self.config.election.clone(),
            mode: self.config.mode,
            sender: self.me.clone(),
            url: self.config.url.clone(),
            founding: founding.filter(|_| self.is_majority()),
        }
    }

    /// Asks somebody; the time of the send is before the effect is carried out.
    fn ask(
        &mut self,
        (to, who): (VoterUrl, Option<NodeName>),
        (purpose, within): (Purpose, Duration),
        ask: Ask,
        out: &mut Out,
    ) -> bool {
        let at = (self.now, within);
        let Some(call) = self.calls.open((to.clone(), who), purpose, at) else {
            self.ignore(Ignored::Full, out);
            return false;
        };
        let caller = Caller::Voter(self.header());
        let message = Message::Request { call, caller, within, ask };
        out.push(Effect::Send { to: Peer::At(to), message });
        true
    }

    /// Asks another voter, if it is known where; whether it is asked.
    fn ask_voter(&mut self, id: &NodeName, purpose: Purpose, ask: Ask, out: &mut Out) -> bool {
        let Some(known) = self.known.get(id) else { return false };
        let to = (known.url().clone(), Some(id.clone()));
        self.ask(to, (purpose, self.config.request_timeout), ask, out)
    }

    fn answer(&self, (to, call): (Peer, Call), answer: Answer, out: &mut Out) {
        let message = Message::Answer { call, header: self.header(), answer };
        out.push(Effect::Send { to, message });
    }

    fn tell(&self, event: impl Into<Event>, out: &mut Out) {
        emit(Some(&self.config.election), event, out);
    }

    fn tell_own(&self, event: OwnEvent, out: &mut Out) {
        emit(None, event, out);
    }

    fn breach(&self, breach: Breach, out: &mut Out) {
        emit(None, OwnEvent::Breach(breach), out);
    }

    fn ignore(&self, reason: Ignored, out: &mut Out) {
        emit(None, OwnEvent::Ignored(reason), out);
    }

    /// The other members of the electorate.
    fn others(&self) -> Vec<NodeName> {
        let members = self.memory.electorate.iter().flat_map(|electorate| &electorate.members);
        members.map(|member| member.id.clone()).filter(|id| *id != self.me.id).collect()
    }
}

/// Whether it tells the application of an end.
const fn is_end(effect: &Effect) -> bool {
    let event = match effect {
        Effect::Lower { .. } => return true,
        Effect::Emit { event, .. } => event,
        _ => return false,
    };
    matches!(event, Event::Ended(_) | Event::Released | Event::NotObserved { .. })
}

impl Protocol for Voter {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now) {
            return;
        }
        if !self.started && !matches!(input, Input::Start(_)) {
            return;
        }
        self.now = self.now.max(now);
        if matches!(input, Input::Failed(None)) {
            // Of what is due nothing may come between a write and its failure.
            match core::mem::take(&mut self.tried) {
                true => self.fail(),
                false => self.on_failed(out),
            }
        } else {
            self.on_written();
            (self.before, self.winning) = (None, false);
            if self.started {
                self.catch_up(out);
            }
        }
        match input {
            Input::Start(start) => self.start(start, out),
            Input::Message { from, message } => self.on_message(from, message, out),
            Input::Command { election, command } => self.on_command(election, command, out),
            // The directory was looked at: it is not what it was, or is again.
            Input::Failed(Some(_)) => self.fail(),
            Input::Flushed(_) => self.failing = self.failing.map(|_| self.now),
            Input::Timeout | Input::Failed(None) => {}
        }
        self.catch_up(out);
        self.tell_changes(out);
        self.write_again(out);
        self.ended.clear();
        if let Some(write) = self.write.take() {
            out[write] = Effect::Persist(self.memory.clone());
            let ends = out[write..].iter().filter(|effect| is_end(effect));
            self.ended = ends.cloned().collect();
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        if !self.started {
            return None;
        }
        let dues = self.dues().into_iter();
        let dues = dues.filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // The end of time never comes.
        dues.filter(|due| due.at < Time::MAX).min_by_key(|due| due.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.leads_until() {
            Some(until) if *election == self.config.election && now < until => {
                Standing::Leading { until, fence: self.fence() }
            }
            _ => Standing::NotLeading,
        }
    }
}
