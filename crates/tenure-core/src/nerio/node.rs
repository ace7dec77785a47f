//! A node: at most one grantor, and any number of candidates and observers. The node drops messages
//! for another incarnation, messages in a member's name without proof, and messages of another
//! epoch.

mod clocks;
mod epochs;
mod ring;
mod verification;
mod wall;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::body::{Released, Service, State};
use super::candidate::Candidate;
use super::command::{Command, Extra};
use super::config::Checked;
use super::context::Context;
use super::epoch::{EpochId, Learning, Membership};
use super::event::{Event, Ignored, OwnEvent, Question};
use super::grantor::Grantor;
use super::identity::{Inc, Instance, Who};
use super::message::{Message, Sender, ToAsker, ToCandidate, ToGrantor};
use super::observer::Observer;
use super::oqwbs::WallClock;
use super::order::StepDown;
use super::ring::Ring;
use super::timer::Timer;
use super::wire;
use super::words::{Out, Start, Words, emit};
use crate::by_election::ByElection;
use crate::clocks::Reading;
use crate::contract::{Input, Protocol};
use crate::deadlines::Deadlines;
use crate::draw::Draw;
use crate::event::TransferFailure;
use crate::name::{ElectionName, NodeName};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

/// A node of a Nerio cluster: the state machine that the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nerio {
    context: Context,
    grantor: Option<Grantor>,
    candidates: ByElection<Candidate>,
    observers: BTreeMap<ElectionName, Observer>,
    candidates_due: Deadlines,
    observers_due: Deadlines,
    /// Unanswered verifications. The sender and the Start of an answer show to which verification
    /// the answer belongs; the election alone does not.
    asked: BTreeSet<(ElectionName, Question)>,
    /// Last sender that got this node's epoch as an answer, and the time: the many questions of one
    /// datagram get one answer.
    told_epoch: Option<(SocketAddr, Time)>,
    /// The epochs of the last [`OwnEvent::Epochs`].
    told_epochs: Vec<EpochId>,
    /// Whether the epochs may have changed with this input.
    is_news: bool,
    wall_clock: WallClock,
    /// Documents of epochs that candidates and observers do not know.
    learning: Learning,
    now: Time,
}

impl Nerio {
    /// A node before its start.
    #[must_use]
    pub fn new(config: Checked, name: NodeName) -> Self {
        let told_epochs = Vec::from([config.membership().id()]);
        Self {
            context: Context::new(config, name),
            grantor: None,
            candidates: ByElection::new(),
            observers: BTreeMap::new(),
            candidates_due: Deadlines::default(),
            observers_due: Deadlines::default(),
            asked: BTreeSet::new(),
            told_epoch: None,
            told_epochs,
            is_news: false,
            wall_clock: WallClock::default(),
            learning: Learning::default(),
            now: Time::ZERO,
        }
    }

    /// This node, before its start, with a member that watches its process (supervised release).
    #[must_use]
    pub fn supervised_by(mut self, supervisor: Option<NodeName>) -> Self {
        self.context.supervisor = supervisor;
        self
    }

    /// This incarnation of this node.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.context.who
    }

    /// The settings of the cluster and of this node.
    #[must_use]
    pub const fn config(&self) -> &Checked {
        &self.context.config
    }

    /// The members that this node's candidates and observers ask.
    #[must_use]
    pub fn membership(&self) -> &Membership {
        &self.context.membership
    }

    /// Whether a quorum has confirmed [these members](Self::membership). Until then, the list of
    /// the settings may be wrong. The members of a node with a grantor need no confirmation.
    #[must_use]
    pub const fn is_confirmed(&self) -> bool {
        self.context.confirmation.is_confirmed()
    }

    /// The state of this node's grantor; `None` without a grantor.
    #[must_use]
    pub fn service(&self, now: Time) -> Option<Service> {
        self.grantor.as_ref().map(|grantor| grantor.service(now))
    }

    fn start(&mut self, now: Time, start: Start, out: &mut Out) {
        self.context.who.inc = start.inc;
        self.context.draw = Draw::new(start.seed);
        if let Some(memory) = start.memory {
            if let Some(entered) = &memory.membership {
                // Use the members that the memory names, whatever the settings say now.
                self.context.membership = Arc::clone(entered);
            }
            let Context { config, membership, who, draw, .. } = &self.context;
            let (config, membership) = (config.clone(), Arc::clone(membership));
            let mut grantor = Grantor::new(config, membership, who.clone(), *draw);
            grantor.clocks = self.context.clocks;
            grantor.on_start(now, memory, out);
            self.grantor = Some(grantor);
            self.context.confirmation.confirm();
            self.is_news = true;
        }
        self.begin_ring(now, out);
    }

    fn on_message(&mut self, now: Time, from: &Sender, message: Message, out: &mut Out) {
        let own = match (&message, &self.grantor) {
            (Message::Grantor(_), Some(grantor)) => grantor.membership.id(),
            _ => self.context.membership.id(),
        };
        let is_other = from.epoch != own && message.is_bound(from.epoch);
        if is_other && !self.is_for_before(from, &message) {
            return self.on_other_epoch(now, from, &message, out);
        }
        match message {
            Message::Grantor(ToGrantor::Decided(decided)) if self.grantor.is_none() => {
                self.on_decided(now, from, &decided, out);
            }
            Message::Grantor(ToGrantor::Ping(ping)) => self.on_ping(now, from, &ping, out),
            // The sender may be behind a relay or a gateway: only answers must come from a member.
            Message::Grantor(message) => self.with_grantor(out, |grantor, out| {
                grantor.on_message(now, from, message, out);
            }),
            Message::Candidate(message) => self.on_candidate_message(now, from, message, out),
            Message::Asker(answer) => self.on_answer(now, from, answer, out),
        }
    }

    /// Whether the message releases leases of the previous epoch, or confirms such a release. A
    /// candidate gives up all of its Starts, in whichever epoch they were granted.
    fn is_for_before(&self, from: &Sender, message: &Message) -> bool {
        let before = match message {
            Message::Grantor(ToGrantor::Release(_) | ToGrantor::Leaving(_)) => {
                self.grantor.as_ref().and_then(Grantor::epoch_before)
            }
            Message::Candidate(ToCandidate::Released(_)) => {
                self.context.before.as_ref().map(|(before, _)| before.id())
            }
            _ => None,
        };
        before == Some(from.epoch)
    }

    /// Answers a question for another epoch with this node's epoch, once for each datagram. A
    /// message without filler (padding) gets no answer, because the answer would be much longer. A
    /// grantor asks the other members whether there is a later epoch.
    fn on_other_epoch(&mut self, now: Time, from: &Sender, message: &Message, out: &mut Out) {
        // A process that knows only its settings sends messages for the epoch of its settings; a
        // blank does so until the members let it in. If the settings are those of this node,
        // nothing is wrong.
        if from.epoch != self.context.config.membership().id() {
            ignore(out, None, Ignored::OtherEpoch);
        }
        let (Message::Grantor(asked), Some(grantor)) = (message, &mut self.grantor) else { return };
        if matches!(asked, ToGrantor::FenceRead(_)) {
            grantor.hear_blank(now, from);
        }
        if let ToGrantor::Request(request) = asked
            && request.leading
            && grantor.is_blank()
            && !grantor.knows_decided(from.epoch)
        {
            // The leader may lead in a founded epoch 0 that this blank does not know: note the
            // leader.
            grantor.hear_of_leader(now, request.lease.max(request.delta));
        }
        if from.epoch.number > grantor.membership.id().number {
            // The members may have changed since this node's list was written. If this node founded
            // a cluster by the old list, there could be a second leader: note the leader.
            if let ToGrantor::Request(request) = asked {
                grantor.hear_of_leader(now, request.lease.max(request.delta));
            }
            grantor.suspect(now, from, out);
        }
        let this = Some((from.address, now));
        if wire::is_padded(message) && self.told_epoch != this {
            self.told_epoch = this;
            grantor.say_epoch(now, from, asked.start(), out);
        }
    }

    fn on_candidate_message(
        &mut self,
        now: Time,
        from: &Sender,
        message: ToCandidate,
        out: &mut Out,
    ) {
        match message {
            ToCandidate::Granted(m) => {
                let asked = (m.asker, m.start);
                let Some(member) = self.answering(from, &m.election, asked, out) else { return };
                if !self.is_of_seat(member, m.instance) {
                    return ignore(out, Some(m.election), Ignored::OtherMemory);
                }
                self.compare_clocks(now, from, member, &m, out);
                self.with_candidate(&m.election.clone(), out, |candidate, context, out| {
                    candidate.on_granted(now, member, m, context, out);
                });
            }
            ToCandidate::Refused(m) => {
                let Some(member) = self.recipient(from, &m.election, m.asker, out) else { return };
                if !m.refusal.may_be_of_blank() {
                    self.confirm(member, m.start);
                }
                self.with_candidate(&m.election, out, |candidate, context, out| {
                    candidate.on_refused(now, member, &m, context, out);
                });
            }
            ToCandidate::Released(m) => {
                if !self.may_confirm(from, &m, out) {
                    return;
                }
                self.with_candidate(&m.election, out, |candidate, context, out| {
                    candidate.on_released(now, from, &m, context, out);
                });
            }
            ToCandidate::StepDown(order) => match self.member(from) {
                Some(_) => self.on_step_down(now, &from.who.name, &order, out),
                None => ignore(out, None, Ignored::NotAMember),
            },
            ToCandidate::Verify(verify) => self.on_verify(now, from, &verify, out),
        }
    }

    fn on_answer(&mut self, now: Time, from: &Sender, answer: ToAsker, out: &mut Out) {
        match answer {
            ToAsker::State(state) => {
                let election = &state.election;
                let Some(member) = self.recipient(from, election, state.asker, out) else { return };
                if !state.service.may_be_of_blank() {
                    self.confirm(member, state.start);
                }
                if !self.is_of_seat(member, state.instance) {
                    return ignore(out, Some(state.election), Ignored::OtherMemory);
                }
                self.on_state(now, member, state, out);
            }
            ToAsker::Remainder(remainder) => self.on_remainder(now, from, &remainder, out),
            ToAsker::FenceSeen(seen) if seen.asker != self.context.who.inc => {
                ignore(out, None, Ignored::OtherIncarnation);
            }
            ToAsker::FenceSeen(seen) => match self.member(from) {
                Some(_) => self.with_grantor(out, |grantor, out| {
                    grantor.on_fence_seen(now, from, &seen, out);
                }),
                None => ignore(out, None, Ignored::NotAMember),
            },
            ToAsker::Listed(_)
            | ToAsker::ElectionsHere(_)
            | ToAsker::CandidatesHere(_)
            | ToAsker::Ordered(_) => ignore(out, None, Ignored::Unasked),
            ToAsker::Current(current) => self.on_current(now, from, &current, out),
            ToAsker::DocumentPart(part) => self.on_document_part(now, from, &part, out),
            ToAsker::Promise(m) => self.with_asker(m.asker, out, |grantor, out| {
                grantor.on_promise(now, from, &m, out);
            }),
            ToAsker::Accepted(m) => self.with_asker(m.asker, out, |grantor, out| {
                grantor.on_accepted(now, from, &m, out);
            }),
            ToAsker::Rests(m) => self.with_asker(m.asker, out, |grantor, out| {
                grantor.on_rests(now, from, &m, out);
            }),
            ToAsker::Ready(m) => self.with_asker(m.asker, out, |grantor, out| {
                grantor.on_ready(now, from, &m, out);
            }),
            ToAsker::Changed(_) => ignore(out, None, Ignored::Unasked),
            ToAsker::Admission(m) => self.with_asker(m.asker, out, |grantor, out| {
                grantor.on_admission(now, from, &m, out);
            }),
            ToAsker::Pong(pong) => self.on_pong(now, from, &pong, out),
        }
    }

    /// Hands an answer about epochs to the grantor, if this incarnation asked.
    fn with_asker(&mut self, asker: Inc, out: &mut Out, act: impl FnOnce(&mut Grantor, &mut Out)) {
        if self.admit_answer(asker, out) {
            self.with_grantor(out, act);
        }
    }

    /// Whether the answer comes from the memory that the epoch names for this member. Another
    /// memory under the member's name may have forgotten the grants of that memory.
    fn is_of_seat(&self, member: usize, instance: Instance) -> bool {
        self.context.membership.instance(member).is_none_or(|seat| seat == instance)
    }

    /// Whether the sender may confirm a release, as a member of this epoch or of the previous one.
    /// The answer confirms no epoch: a blank answers releases, too (founding by document 3.11).
    fn may_confirm(&mut self, from: &Sender, released: &Released, out: &mut Out) -> bool {
        let before = self.context.before.as_ref().map(|(before, _)| before);
        let before = before.filter(|before| before.id() == from.epoch);
        let is_of_before = before.is_some_and(|one| one.position(&from.who.name).is_some());
        if is_of_before && from.proved && released.asker == self.context.who.inc {
            return true;
        }
        self.recipient(from, &released.election, released.asker, out).is_some()
    }

    /// The member that sent a message, by its name and by the driver's proof: a sender that only
    /// has the name could win elections with forged oks.
    fn member(&self, from: &Sender) -> Option<usize> {
        self.context.membership.position(&from.who.name).filter(|_| from.proved)
    }

    /// The member whose answer is for this incarnation, by [`recipient`](Self::recipient). If
    /// `asker` and `start` name a question that this node sent, the answer also confirms the epoch.
    fn answering(
        &mut self,
        from: &Sender,
        election: &ElectionName,
        asked: (Inc, Time),
        out: &mut Out,
    ) -> Option<usize> {
        let member = self.recipient(from, election, asked.0, out)?;
        self.confirm(member, asked.1);
        Some(member)
    }

    /// The member whose answer is for this incarnation. Another incarnation of the same name may
    /// have used the same Start, with another fence and another lease. The answer is bound to the
    /// epoch of this node.
    fn recipient(
        &mut self,
        from: &Sender,
        election: &ElectionName,
        asker: Inc,
        out: &mut Out,
    ) -> Option<usize> {
        let Some(member) = self.member(from) else {
            ignore(out, None, Ignored::NotAMember);
            return None;
        };
        if asker != self.context.who.inc {
            ignore(out, Some(election.clone()), Ignored::OtherIncarnation);
            return None;
        }
        Some(member)
    }

    fn with_grantor(&mut self, out: &mut Out, act: impl FnOnce(&mut Grantor, &mut Out)) {
        match &mut self.grantor {
            Some(grantor) => act(grantor, out),
            None => ignore(out, None, Ignored::NotAGrantor),
        }
    }

    fn on_state(&mut self, now: Time, member: usize, state: State, out: &mut Out) {
        if let Some(candidate) = self.candidates.get_mut(&state.election) {
            candidate.hear_fence(state.seen);
        }
        let election = state.election.clone();
        self.with_observer(&election, out, |observer, context, out| {
            observer.on_state(now, member, state, context, out);
        });
    }

    fn with_candidate(
        &mut self,
        election: &ElectionName,
        out: &mut Out,
        act: impl FnOnce(&mut Candidate, &mut Context, &mut Out),
    ) {
        self.look_at_own_grant(election);
        let Some(candidate) = self.candidates.get_mut(election) else {
            return ignore(out, Some(election.clone()), Ignored::Unasked);
        };
        act(candidate, &mut self.context, out);
        candidate.book(&mut self.candidates_due);
    }

    fn with_observer(
        &mut self,
        election: &ElectionName,
        out: &mut Out,
        act: impl FnOnce(&mut Observer, &mut Context, &mut Out),
    ) {
        let Some(observer) = self.observers.get_mut(election) else {
            return ignore(out, Some(election.clone()), Ignored::Unasked);
        };
        act(observer, &mut self.context, out);
        observer.book(&mut self.observers_due);
    }

    fn on_command(&mut self, now: Time, election: ElectionName, command: Command, out: &mut Out) {
        let known = self.candidates.contains(&election);
        match command {
            Command::Campaign { value, priority } => {
                if self.candidates.len() >= self.context.config.limits.elections {
                    self.candidates.retain(|candidate| !candidate.is_over(now));
                }
                let begin = || Candidate::new(election.clone());
                self.candidates.get_or_insert_with(&election, begin);
                self.with_candidate(&election, out, |candidate, context, out| {
                    candidate.contend(now, (value, priority), context, out);
                });
            }
            Command::Resign | Command::Extra(Extra::Lapsed) if !known => {
                ignore(out, Some(election), Ignored::Command);
            }
            Command::Transfer { to, .. } if !known => {
                let event = Event::TransferFailed { to, why: TransferFailure::NotLeading };
                emit(out, Some(election), event);
            }
            Command::Resign => self.with_candidate(&election, out, |candidate, context, out| {
                candidate.resign(now, context, out);
            }),
            Command::Transfer { to, probe } => {
                self.with_candidate(&election, out, |candidate, context, out| {
                    candidate.transfer(now, (to, probe), context, out);
                });
            }
            Command::Observe { every } => {
                self.unobserve(&election);
                let observer = Observer::new(election.clone(), every, now);
                self.observers.insert(election.clone(), observer);
                self.with_observer(&election, out, |observer, context, out| {
                    observer.run_due(now, context, out);
                });
            }
            Command::Unobserve => self.unobserve(&election),
            Command::Extra(Extra::Verify { leader }) => self.verify(now, election, leader, out),
            Command::Extra(Extra::ClearBreach) => self.clear_breach(out),
            Command::Extra(Extra::Lapsed) => {
                self.with_candidate(&election, out, |candidate, context, out| {
                    candidate.give_up_lapsed(now, context, out);
                });
            }
        }
    }

    fn unobserve(&mut self, election: &ElectionName) {
        if let Some(mut observer) = self.observers.remove(election) {
            observer.cancel(&mut self.observers_due);
        }
    }

    fn on_step_down(&mut self, now: Time, by: &NodeName, order: &StepDown, out: &mut Out) {
        self.with_candidate(&order.election, out, |candidate, context, out| {
            candidate.run_due(now, context, out);
            candidate.on_step_down(now, by, order, context, out);
        });
    }

    fn on_timeout(&mut self, now: Time, out: &mut Out) {
        for election in self.candidates_due.take_due(now) {
            self.with_candidate(&election, out, |candidate, context, out| {
                candidate.run_due(now, context, out);
            });
        }
        for election in self.observers_due.take_due(now) {
            self.with_observer(&election, out, |observer, context, out| {
                observer.run_due(now, context, out);
            });
        }
        self.read_due(now, out);
        self.run_ring(now, out);
        // Start the grantor last: a failed write of the grantor drops every effect after it.
        if let Some(grantor) = &mut self.grantor {
            grantor.on_timeout(now, out);
        }
    }
}

impl Protocol for Nerio {
    type Words = Words;
    type Now = Reading;

    fn handle(&mut self, now: Reading, input: Input<Words>, out: &mut Out) {
        if self.context.config.clock_skew_max.is_some() {
            self.see(now);
        }
        if matches!(input, Input::Timeout) && self.is_early(now.boot) {
            return;
        }
        self.now = self.now.max(now.boot);
        let now = self.now;
        let begin = out.len();
        match input {
            Input::Start(start) => self.start(now, start, out),
            Input::Message { from, message } => self.on_message(now, &from, message, out),
            Input::Timeout => {
                self.on_timeout(now, out);
                debug_assert!(
                    self.deadline().is_none_or(|deadline| deadline.at > now),
                    "I10: nothing that was due is left"
                );
            }
            Input::Command { election, command } => self.on_command(now, election, command, out),
            Input::Flushed(ticket) => {
                if let Some(grantor) = &mut self.grantor {
                    grantor.on_flushed(now, ticket, true, out);
                }
            }
            Input::Failed(Some(ticket)) => {
                if let Some(grantor) = &mut self.grantor {
                    grantor.on_flushed(now, ticket, false, out);
                }
            }
            Input::Failed(None) => {
                if let Some(grantor) = &mut self.grantor {
                    grantor.on_disk_failed(now, out);
                }
            }
        }
        self.follow(now, begin, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let grantor = self.grantor.as_ref().and_then(Grantor::deadline);
        let candidate = self.candidates_due.next().map(|(at, election)| {
            let timer = self.candidates.get(election).and_then(Candidate::timer);
            timer.unwrap_or(Timer::Attempt).at(at)
        });
        let observer = self.observers_due.first().map(|at| Timer::Observe.at(at));
        let part = self.learning.due().map(|at| Timer::ReadDocument.at(at));
        let ring = self.context.ring.as_ref().and_then(Ring::due).map(|at| Timer::Ring.at(at));
        let first = [candidate, observer, part, ring].into_iter().fold(grantor, Deadline::first);
        debug_assert_eq!(first.map(|first| first.at), self.due(), "the two are one");
        first
    }

    /// Time of the next deadline, without reading the candidate that is due: with thousands of
    /// candidates, that candidate is in no processor cache.
    fn due(&self) -> Option<Time> {
        let grantor = self.grantor.as_ref().and_then(Grantor::deadline).map(|due| due.at);
        let part = self.learning.due();
        let ring = self.context.ring.as_ref().and_then(Ring::due);
        let others = [self.candidates_due.first(), self.observers_due.first(), part, ring];
        others.into_iter().chain([grantor]).flatten().min()
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.candidates.get(election) {
            Some(candidate) => candidate.standing(now),
            None => Standing::NotLeading,
        }
    }
}

fn ignore(out: &mut Out, election: Option<ElectionName>, reason: Ignored) {
    emit(out, election, OwnEvent::Ignored(reason));
}
