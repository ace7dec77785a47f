//! An asker is no voter. Once per heartbeat the asker requests the status of every voter that it
//! knows, and reports the leaders that are certain.
//!
//! In mode `majority` a leader is certain until the end of its lease, which a voter's answer names.
//! The asker measures the rest of the lease from the send of its question, and shortens the rest by
//! the drift of clocks. The leadership is vacant once a quorum of the electorate has answered that
//! its voters are free. In mode `available` each leader that an answering voter names is certain.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::Mode;
use super::electorate::Electorate;
use super::event::{Event, Ignored, OwnEvent};
use super::free::{self, FreeSpan};
use super::identity::{Participant, VoterUrl};
use super::message::{Answer, Ask, Call, Caller, Header, KNOWN_MAX, LeaderDto, Message, StatusDto};
use super::words::{Command, Effect, Out, Peer, Words, emit};
use crate::contract::{Input, Protocol};
use crate::drift::Drift;
use crate::event::End;
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::standing::Standing;
use crate::time::{Deadline, Time};
use crate::view::{LeaderView, View};

/// The settings of an [`Asker`]. No promise of a voter depends on them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AskerConfig {
    pub election: ElectionName,
    /// Answers of a voter in another mode are ignored.
    pub mode: Mode,
    /// The first voters to ask, in addition to seeds. Their answers name the other voters.
    pub urls: Vec<VoterUrl>,
    pub every: Duration,
    /// The longest wait for an answer, shorter than `every`.
    pub within: Duration,
    /// Clock drift, ρ.
    pub drift: Drift,
}

/// An asker forgets an address that voters have named after this many questions in a row without an
/// answer. The asker asks there again once a voter names the address again.
const MISSES_MAX: u32 = 4;

/// A client of voters, which asks for the leader and takes part in no ballot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asker {
    config: AskerConfig,
    started: bool,
    now: Time,
    /// The time at which the next round of questions begins.
    next: Time,
    last: u64,
    open: BTreeMap<Call, Question>,
    seeds: BTreeSet<VoterUrl>,
    /// Addresses that voters have named, each with the number of questions in a row without an
    /// answer.
    learned: BTreeMap<VoterUrl, u32>,
    heard: BTreeMap<VoterUrl, LastAnswer>,
    observed: Option<Observation>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Question {
    to: VoterUrl,
    sent: Time,
    due: Time,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct LastAnswer {
    who: Participant,
    at: Time,
    leader: Option<LeaderDto>,
    /// The time until which the leader that the answer names certainly leads.
    until: Option<Time>,
    free: Option<FreeSpan>,
    electorate: Option<Electorate>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Observation {
    since: Time,
    shown: Option<View>,
}

impl Asker {
    /// An asker before its first input.
    #[must_use]
    pub const fn new(config: AskerConfig) -> Self {
        Self {
            config,
            started: false,
            now: Time::ZERO,
            next: Time::ZERO,
            last: 0,
            open: BTreeMap::new(),
            seeds: BTreeSet::new(),
            learned: BTreeMap::new(),
            heard: BTreeMap::new(),
            observed: None,
        }
    }

    fn is_majority(&self) -> bool {
        self.config.mode == Mode::Majority
    }

    /// Asks each known voter once, as far as there is room for open questions.
    fn ask_all(&mut self, out: &mut Out) {
        self.next = self.now.after(self.config.every);
        // Forget silent addresses, which would take the room of voters that answer.
        self.learned.retain(|_, misses| *misses < MISSES_MAX);
        let all = self.config.urls.iter().chain(&self.seeds).chain(self.learned.keys());
        let all: BTreeSet<_> = all.take(KNOWN_MAX).cloned().collect();
        self.heard.retain(|url, _| all.contains(url));
        all.into_iter().for_each(|url| self.ask(url, out));
    }

    fn ask(&mut self, to: VoterUrl, out: &mut Out) {
        if self.open.values().any(|question| question.to == to) || self.open.len() >= KNOWN_MAX {
            return;
        }
        self.last += 1;
        let (call, within) = (Call(self.last), self.config.within);
        let question = Question { to: to.clone(), sent: self.now, due: self.now.after(within) };
        self.open.insert(call, question);
        let (caller, ask) = (Caller::Anybody, Ask::Status { suspect: None });
        let message = Message::Request { call, caller, within, ask };
        out.push(Effect::Send { to: Peer::At(to), message });
    }

    fn on_message(&mut self, from: &Peer, message: Message, out: &mut Out) {
        match message {
            Message::Answer { call, header, answer } => {
                let asked = self.open.get(&call);
                if asked.is_none_or(|question| *from != Peer::At(question.to.clone())) {
                    return self.ignore(Ignored::Late, out);
                }
                let Some(question) = self.open.remove(&call) else { return };
                match (self.is_of_this_network(&header), answer) {
                    (true, Answer::Status(status)) => self.hear(question, &header, status, out),
                    (false, _) => self.ignore(Ignored::OtherNetwork, out),
                    (true, _) => self.ignore(Ignored::Malformed, out),
                }
            }
            Message::Failed { call } => match self.open.remove(&call) {
                Some(question) => self.miss(&question.to),
                None => self.ignore(Ignored::Late, out),
            },
            Message::Seeds(urls) => {
                self.seeds = urls.into_iter().take(KNOWN_MAX).collect();
                if self.observed.is_some() {
                    self.seeds.clone().into_iter().for_each(|url| self.ask(url, out));
                }
            }
            Message::Request { .. } => self.ignore(Ignored::Malformed, out),
        }
    }

    fn is_of_this_network(&self, header: &Header) -> bool {
        (&header.election, header.mode) == (&self.config.election, self.config.mode)
    }

    fn hear(&mut self, question: Question, header: &Header, status: StatusDto, out: &mut Out) {
        let Question { to, sent, .. } = question;
        let counted = |left| self.config.drift.shrink(self.config.drift.real_at_least(left));
        let free = |span| FreeSpan::told(span, (sent, self.now), self.config.drift);
        let left = status.leader.as_ref().and_then(|leader| leader.remaining);
        let heard = LastAnswer {
            who: header.sender.clone(),
            at: self.now,
            until: left.map(|left| sent.after(counted(left))),
            leader: status.leader,
            free: status.free.map(free),
            electorate: status.electorate.filter(Electorate::is_formed),
        };
        if let Some(misses) = self.learned.get_mut(&to) {
            *misses = 0;
        }
        self.heard.insert(to, heard);
        let urls = status.known_voters.into_iter().map(|voter| voter.voter_url).take(KNOWN_MAX);
        for url in urls {
            if self.learned.len() < KNOWN_MAX && !self.learned.contains_key(&url) {
                self.learned.insert(url.clone(), 0);
                let first = self.config.urls.contains(&url) || self.seeds.contains(&url);
                if !first {
                    self.ask(url, out);
                }
            }
        }
    }

    /// Handles a question without an answer. The asker drops the voter's last answer, except for a
    /// lease that still runs.
    fn miss(&mut self, url: &VoterUrl) {
        if let Some(misses) = self.learned.get_mut(url) {
            *misses = misses.saturating_add(1);
        }
        match self.heard.get_mut(url).filter(|_| self.config.mode == Mode::Majority) {
            Some(heard) => heard.free = None,
            None => drop(self.heard.remove(url)),
        }
    }

    fn catch_up(&mut self, out: &mut Out) {
        let now = self.now;
        let overdue = self.open.iter().filter(|(_, question)| question.due <= now);
        for call in overdue.map(|(call, _)| *call).collect::<Vec<_>>() {
            if let Some(question) = self.open.remove(&call) {
                self.miss(&question.to);
            }
        }
        if self.observed.is_some() && self.next <= now {
            self.ask_all(out);
        }
    }

    /// Reports changes. While questions are open, only a leader is reported.
    fn tell_changes(&mut self, out: &mut Out) {
        let Some(Observation { since, shown }) = &self.observed else { return };
        let since = match shown {
            None => *since,
            Some(View::Unknown { since }) => *since,
            Some(_) => self.now,
        };
        let view = match self.leaders() {
            Some(view) if self.is_majority() || self.open.is_empty() => view,
            _ if self.open.is_empty() && self.is_vacant() => View::Vacant,
            _ if self.open.is_empty() => View::Unknown { since },
            // The lease of the reported leader is over.
            _ if self.is_majority() && matches!(shown, Some(View::Leader(_))) => {
                View::Unknown { since }
            }
            _ => return,
        };
        let every = self.config.every;
        if shown.as_ref().is_some_and(|shown| !shown.is_outdated_by(&view, every)) {
            return;
        }
        self.observed = Some(Observation { since, shown: Some(view.clone()) });
        emit(Some(&self.config.election), Event::View(view.into()), out);
    }

    /// The leaders that are certain. In mode `majority` this is only the latest leader whose lease
    /// runs, even if voters have named several leaders.
    fn leaders(&self) -> Option<View> {
        let mut all: Vec<(&LeaderDto, Option<Time>, Time)> = Vec::new();
        for heard in self.heard.values() {
            let Some(leader) = &heard.leader else { continue };
            let until = heard.until.filter(|until| self.is_majority() && self.now < *until);
            if self.is_majority() && until.is_none() {
                continue;
            }
            match all.iter_mut().find(|(other, ..)| other.leadership == leader.leadership) {
                Some((_, later, at)) => (*later, *at) = (until.max(*later), heard.at.max(*at)),
                None => all.push((leader, until, heard.at)),
            }
        }
        all.sort_by(|(one, ..), (other, ..)| other.leadership.ballot.cmp(&one.leadership.ballot));
        let view = |(leader, until, heard): (&LeaderDto, Option<Time>, Time)| {
            let LeaderDto { leadership, value, .. } = leader.clone();
            let fence = self.is_majority().then(|| Fence::new(leadership.counter()));
            let incarnation = Some(leadership.leader.incarnation);
            let about = LeaderView::new(leadership.leader.id.into(), value.into());
            LeaderView { fence, until, incarnation, heard: Some(heard), ..about }
        };
        let mut all = all.into_iter().map(view);
        let followed = all.next()?;
        let others: Vec<_> = all.collect();
        if others.is_empty() || self.is_majority() {
            Some(View::Leader(followed))
        } else {
            Some(View::Leaders { followed, others })
        }
    }

    /// Whether no voter can lead. In mode `available`, after `leaders` has found none: whether any
    /// voter has answered.
    fn is_vacant(&self) -> bool {
        if !self.is_majority() {
            return !self.heard.is_empty();
        }
        let electorates = self.heard.values().filter_map(|heard| heard.electorate.as_ref());
        let Some(electorate) = electorates.max_by_key(|electorate| electorate.id) else {
            return false;
        };
        let voting = self.heard.values().filter(|heard| electorate.has(&heard.who));
        let free = voting.filter_map(|heard| Some((&heard.who.id, heard.free?)));
        // Two addresses may lead to one voter.
        let free: BTreeMap<_, _> = free.collect();
        free::at_once(&free.into_values().collect::<Vec<_>>(), electorate.quorum())
    }

    fn on_command(&mut self, election: &ElectionName, command: &Command, out: &mut Out) {
        match command {
            Command::Observe { .. } if *election != self.config.election => {
                let why = format!(
                    "the voters here elect a leader of {}: ask for that election",
                    self.config.election
                );
                emit(Some(election), Event::NotObserved { why: why.into() }, out);
            }
            Command::Observe { .. } => {
                self.observed = Some(Observation { since: self.now, shown: None });
                self.ask_all(out);
            }
            Command::Unobserve if *election == self.config.election => self.observed = None,
            Command::Campaign { .. } => {
                let why = "this process only asks for leaders: campaign at a voter".into();
                emit(Some(election), Event::Ended(End::Refused { why }), out);
                emit(Some(election), Event::Released, out);
            }
            _ => self.ignore(Ignored::Command, out),
        }
    }

    fn ignore(&self, reason: Ignored, out: &mut Out) {
        emit(None, OwnEvent::Ignored(reason), out);
    }
}

impl Protocol for Asker {
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
        match input {
            Input::Start(_) => self.started = true,
            Input::Message { from, message } => self.on_message(&from, message, out),
            Input::Command { election, command } => self.on_command(&election, &command, out),
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => {}
        }
        self.catch_up(out);
        self.tell_changes(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let observed = self.observed.as_ref().filter(|_| self.started)?;
        let shown = observed.shown.as_ref().and_then(View::leader);
        let ends = shown.and_then(|_| self.heard.values().filter_map(|heard| heard.until).max());
        let overdue = self.open.values().map(|question| question.due).min();
        let dues = [
            (Some(self.next), "the next questions are due"),
            (overdue, "an answer is overdue"),
            (ends.filter(|ends| self.now < *ends), "the lease of the leader ends"),
        ];
        let dues = dues.into_iter().filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        dues.filter(|due| due.at < Time::MAX).min_by_key(|due| due.at)
    }

    fn standing(&self, _: &ElectionName, _: Time) -> Standing {
        Standing::NotLeading
    }
}
