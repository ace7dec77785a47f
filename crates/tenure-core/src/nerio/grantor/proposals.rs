//! The grantor as a proposer of the next epoch: for an operator, or because it is wedged.
//!
//! `epoch/proposer.rs` decides which question comes next; this file sends the questions, and
//! repeats them. Rules, with the runs that they prevent:
//!
//! - 2.1.1: *A ballot is above all that this grantor has heard of.*
//! - 2.1.6: *Only the memory that the document names is ready for its seat.*
//! - 2.1.9: *A wedged grantor that hears of no decision proposes by itself.* Otherwise the proposer
//!   dies after one member has accepted, and that wedged member never grants again.
//! - 2.1.9: *A grantor that is told of the decision also proposes, while it lacks answers.* Members
//!   a and c accept, and a tells all members of the decision. Then a dies before it answers b, and
//!   no other member asks b to accept.
//! - 2.1.10: *A proposal ends when another successor is decided.* The operator is told, and repeats
//!   the change if it is still wanted.
//! - T10: *Answers of replaced memories are ignored in an upgraded epoch.*

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::super::epoch::{
    Accept, Accepted, Acceptor, Ballot, ChangeState, Decided, EpochId, Membership, Phase, Prepare,
    Promise, PromiseOutcome, Proposer, Ready, ReadyRead, Unready, Witnesses,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::message::{Message, Sender, ToGrantor};
use super::super::timer::Timer;
use super::super::words::{Out, emit, send};
use super::Grantor;
use super::inherited::REST_MAX;
use super::joining::Joining;
use crate::name::NodeName;
use crate::time::{Deadline, Time};

/// The longest pause between two questions, or before a wedged grantor proposes.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Number of repetitions after which a founding reports the members that do not answer.
pub(super) const PATIENCE: u32 = 8;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Proposal {
    pub(super) proposer: Proposer,
    /// The successor that this grantor proposed. The proposer may go on with another successor.
    pub(super) own: Arc<Membership>,
    witnesses: Witnesses,
    /// Seats of `own` that are not ready, with their reasons.
    pub(super) unready: BTreeMap<NodeName, Unready>,
    /// Members that promise nothing until this time at most, because they still learn leases.
    pub(super) learning: BTreeMap<NodeName, Time>,
    /// Number of repetitions.
    pub(super) tries: u32,
    /// Members that were reported as missing.
    pub(super) told: Vec<NodeName>,
    /// Time at which the question is repeated.
    again: Time,
}

/// The running proposal of a grantor, and the state that its next proposal needs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Proposals {
    pub(super) running: Option<Proposal>,
    /// Highest ballot that this process has used in its epoch.
    used: Ballot,
    /// Number of ballots that others refused; each refusal doubles the pause.
    refusals: u32,
    /// Time at which the grantor proposes by itself, if it is wedged; [`Time::MAX`] never comes.
    propose_at: Time,
    draws: u64,
}

impl Default for Proposals {
    fn default() -> Self {
        let (running, used, refusals, draws) = (None, Ballot::NONE, 0, 0);
        Self { running, used, refusals, propose_at: Time::MAX, draws }
    }
}

impl Proposals {
    /// Notes that an operator asks for the next proposal: refusals of earlier proposals delay it no
    /// more.
    pub(super) const fn begin_anew(&mut self) {
        self.refusals = 0;
    }
}

impl Grantor {
    /// Begins to propose `own` as the next epoch.
    pub(super) fn propose(&mut self, now: Time, own: Arc<Membership>, out: &mut Out) {
        let above = self.proposals.used.max(self.votes.vote.promised);
        let before = Arc::clone(&self.membership);
        let proposer = Proposer::start(before, Arc::clone(&own), self.who.inc, above);
        let Some(mut proposer) = proposer else { return };
        if let Some((ballot, next)) = &self.votes.vote.accepted {
            proposer.carry((*ballot, next.id()));
        }
        self.proposals.used = proposer.ballot();
        self.keep(&own);
        self.is_news = true;
        let (witnesses, again) = (Witnesses::default(), Time::MAX);
        let (unready, learning) = (BTreeMap::new(), BTreeMap::new());
        let (tries, told) = (0, Vec::new());
        self.proposals.running =
            Some(Proposal { proposer, own, witnesses, unready, learning, tries, told, again });
        self.ask_acceptors(now, out);
    }

    /// Notes that this grantor has accepted a successor. A running proposal goes on with that
    /// successor; without a proposal, the grantor waits for a decision for a while.
    pub(super) fn carry_on(&mut self, now: Time, accepted: (Ballot, EpochId), out: &mut Out) {
        self.await_decision(now);
        self.deciding_elsewhere(accepted.1, out);
        if let Some(proposal) = &mut self.proposals.running {
            let phase = proposal.proposer.phase();
            proposal.proposer.carry(accepted);
            if proposal.proposer.phase() != phase {
                self.ask_acceptors(now, out);
            }
        }
    }

    /// Sets the time at which a wedged grantor proposes by itself, if it has not entered the next
    /// epoch earlier. The time depends on the member's position and on a draw, so that members take
    /// turns.
    pub(super) fn await_decision(&mut self, now: Time) {
        if self.is_wedged() && self.proposals.running.is_none() {
            let refresh = self.config.refresh;
            let turns = (4 + self.place()) << self.proposals.refusals.min(7);
            let pause = refresh.saturating_mul(turns).min(PAUSE_MAX);
            self.proposals.propose_at = now.after(pause + self.lot(refresh));
        }
    }

    /// The grantor's position, by which members take turns.
    pub(super) fn place(&self) -> u32 {
        u32::try_from(self.own_position()).unwrap_or(0).min(31)
    }

    pub(super) fn lot(&mut self, bound: Duration) -> Duration {
        self.proposals.draws += 1;
        self.draw.span(bound, self.who.name.as_str(), "propose", self.proposals.draws)
    }

    /// Sends the present question to all members that have not answered it, and sets the time of
    /// its repetition.
    fn ask_acceptors(&mut self, now: Time, out: &mut Out) {
        let spread = self.config.refresh.saturating_mul(1 << self.proposals.refusals.min(7));
        let pause = self.config.refresh + self.lot(spread.min(PAUSE_MAX));
        let epoch = self.ending();
        let Some(proposal) = &mut self.proposals.running else { return };
        proposal.again = now.after(pause);
        let founds = proposal.proposer.is_founding();
        if founds && proposal.proposer.phase() == Phase::Prepare {
            let ballot = proposal.proposer.ballot();
            if !self.promise_own(now, ballot, out) {
                return self.outbid();
            }
        }
        let Some(proposal) = &self.proposals.running else { return };
        let Proposal { proposer, own, .. } = proposal;
        let (ballot, missing) = (proposer.ballot(), proposer.missing());
        let voters = &*self.membership;
        let (whom, question) = match proposer.phase() {
            Phase::Prepare if founds => (voters, Message::from(self.found(now, ballot))),
            Phase::Prepare => (voters, Message::from(Prepare { epoch, ballot })),
            Phase::Ready => (&**own, Message::from(ReadyRead { successor: own.id() })),
            Phase::Accept { successor } => {
                (voters, Message::from(Accept { epoch, ballot, successor }))
            }
            Phase::Decided { .. } | Phase::Cancelled => return,
        };
        let names: Vec<NodeName> = whom.named(missing);
        for name in names {
            send(out, self.to(&name), question.clone());
        }
    }

    /// Notes that this grantor has promised a later ballot than its own.
    fn outbid(&mut self) {
        let promised = self.votes.vote.promised;
        if let Some(proposal) = &mut self.proposals.running {
            proposal.proposer.on_refused(promised);
        }
    }

    /// Takes an answer about the end of `epoch`. Returns the position of the member that answers;
    /// `None` if the answer is ignored.
    fn heard_acceptor(
        &mut self,
        from: &Sender,
        epoch: EpochId,
        acceptor: &Acceptor,
    ) -> Option<usize> {
        let is_own = from.proved && epoch == self.ending();
        let member = self.membership.position(&from.who.name).filter(|_| is_own)?;
        let is_replaced = self.memories.heard(member) > Some(acceptor.instance);
        let proposal = self.proposals.running.as_mut()?;
        if proposal.proposer.is_founding() {
            // The document of a founding names its memories: ignore only the answer of a replaced
            // memory.
            return (!is_replaced).then_some(member);
        }
        let denied = proposal.witnesses.hear(&self.membership, member, acceptor)?;
        denied.iter().for_each(|other| proposal.proposer.forget(other));
        Some(member)
    }

    pub(in crate::nerio) fn on_promise(
        &mut self,
        now: Time,
        from: &Sender,
        promise: &Promise,
        out: &mut Out,
    ) {
        let Some(member) = self.heard_acceptor(from, promise.epoch, &promise.acceptor) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        if let PromiseOutcome::Apart { wall } = promise.outcome {
            return self.tell_apart(now, from, wall, out);
        }
        let founds = |proposal: &Proposal| {
            let proposer = &proposal.proposer;
            let is_open = proposer.phase() == Phase::Prepare && proposer.ballot() == promise.ballot;
            proposer.is_founding() && is_open
        };
        if self.proposals.running.as_ref().is_some_and(founds)
            && !self.is_of_founder(now, member, promise, out)
        {
            return;
        }
        let Some(proposal) = &mut self.proposals.running else { return };
        let proposer = &mut proposal.proposer;
        match promise.outcome {
            PromiseOutcome::Refused { above } if !above.is_too_far(proposer.ballot()) => {
                proposer.on_refused(above);
            }
            PromiseOutcome::Refused { .. } | PromiseOutcome::Apart { .. } => {}
            PromiseOutcome::Later { rest } => {
                let until = now.after(rest.min(REST_MAX));
                let known = proposal.learning.entry(from.who.name.clone()).or_insert(until);
                *known = until.min(*known);
            }
            PromiseOutcome::Promised { accepted } => {
                proposal.learning.remove(&from.who.name);
                let is_over = proposer.on_promise(member, promise.ballot, accepted);
                if let Some((_, successor)) = accepted {
                    // Read the document of that successor, because other members will ask this
                    // grantor for it.
                    self.need(now, from, successor, None, out);
                }
                if is_over {
                    self.ask_acceptors(now, out);
                }
            }
        }
    }

    pub(in crate::nerio) fn on_accepted(
        &mut self,
        now: Time,
        from: &Sender,
        accepted: &Accepted,
        out: &mut Out,
    ) {
        let Some(member) = self.heard_acceptor(from, accepted.epoch, &accepted.acceptor) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let Some(proposal) = &mut self.proposals.running else { return };
        let Accepted { ballot, successor, .. } = *accepted;
        if proposal.proposer.on_accepted(member, ballot, successor) {
            self.conclude(now, out);
        }
    }

    /// Answers whether this node can serve in a proposed epoch.
    pub(super) fn on_ready_read(
        &mut self,
        now: Time,
        from: &Sender,
        read: &ReadyRead,
        out: &mut Out,
    ) {
        if !from.proved {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        }
        let again = ToGrantor::ReadyRead(read.clone());
        let (asker, successor, instance) = (from.who.inc, read.successor, self.instance);
        let known = self.need(now, from, successor, Some(again), out);
        let unready = match known {
            Some(next) => self.unready(&next),
            None if self.is_unfit(successor) => Some(Unready::OtherSettings),
            None => return,
        };
        send(out, from, Ready { asker, successor, instance, unready });
    }

    /// The reason why this node cannot serve in the epoch; `None` if it can.
    fn unready(&self, next: &Membership) -> Option<Unready> {
        let seat = next.position(&self.who.name);
        let is_named = seat.and_then(|seat| next.instance(seat)) == Some(self.instance);
        if !is_named || self.is_replaced() {
            return Some(Unready::OtherMemory);
        }
        if !self.blank && (self.removed.is_some() || !self.is_followed_by(next.document())) {
            return Some(Unready::OtherEpoch);
        }
        (self.writes.is_failing() || self.writes.hangs()).then_some(Unready::Disk)
    }

    pub(in crate::nerio) fn on_ready(
        &mut self,
        now: Time,
        from: &Sender,
        ready: &Ready,
        out: &mut Out,
    ) {
        let Some(proposal) = &mut self.proposals.running else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let seat = proposal.own.position(&from.who.name).filter(|_| from.proved);
        let is_own = ready.successor == proposal.own.id();
        let Some(seat) = seat.filter(|_| is_own) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        };
        let is_its = proposal.own.instance(seat) == Some(ready.instance);
        let unready = ready.unready.or((!is_its).then_some(Unready::OtherMemory));
        if let Some(unready) = unready {
            proposal.unready.insert(from.who.name.clone(), unready);
            return;
        }
        proposal.unready.remove(&from.who.name);
        if proposal.proposer.on_ready(seat, ready.successor) {
            self.ask_acceptors(now, out);
        }
    }

    /// Handles a decision of the running proposal, once its document is at hand: tells all members,
    /// and enters the epoch.
    pub(super) fn conclude(&mut self, now: Time, out: &mut Out) {
        let Some(Proposal { proposer, .. }) = &self.proposals.running else { return };
        let (ballot, phase) = (proposer.ballot(), proposer.phase());
        let Phase::Decided { successor } = phase else { return };
        let Some(into) = self.membership_of(successor) else { return };
        let before = self.ending();
        let decided = Decided { ballot: Some(ballot), before, successor };
        let mut names: Vec<_> = self.membership.names().iter().chain(into.names()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| **name != self.who.name) {
            send(out, self.to(name), decided.clone());
        }
        self.join(now, into, Some(ballot), out);
    }

    /// Ends the running proposal, because this epoch is decided.
    pub(super) fn end_proposal(&mut self, decided: EpochId, out: &mut Out) {
        let own = self.proposals.running.take().map(|proposal| proposal.own.id());
        self.proposals.propose_at = Time::MAX;
        let is_own = own == Some(decided);
        let state = match is_own {
            true => ChangeState::Done { epoch: decided },
            false => ChangeState::Superseded { epoch: decided },
        };
        self.end_change(state, out);
    }

    pub(super) fn proposals_due(&self) -> Deadline {
        let again = self.proposals.running.as_ref().map(|proposal| proposal.again);
        Timer::Propose.at(again.unwrap_or(self.proposals.propose_at))
    }

    pub(super) fn on_proposals_due(&mut self, now: Time, out: &mut Out) {
        let Some(proposal) = &mut self.proposals.running else {
            return self.propose_if_wedged(now, out);
        };
        if now < proposal.again {
            return;
        }
        if self.gives_up(now, out) {
            return;
        }
        let lacks_document = self.lacks_document();
        let Some(proposal) = &mut self.proposals.running else { return };
        let before = proposal.proposer.ballot();
        if lacks_document {
            proposal.proposer.prepare_anew();
        } else {
            proposal.proposer.on_timeout();
        }
        let ballot = proposal.proposer.ballot();
        if ballot != before {
            proposal.witnesses = Witnesses::default();
            self.proposals.refusals = self.proposals.refusals.saturating_add(1);
            self.proposals.used = self.proposals.used.max(ballot);
        }
        if self.blank {
            self.tell_founding(out);
        }
        self.ask_acceptors(now, out);
    }

    /// Whether the proposal asks members to accept a successor whose document is not at hand. The
    /// members cannot read the document here, and its only copy may be lost.
    fn lacks_document(&self) -> bool {
        let phase = self.proposals.running.as_ref().map(|proposal| proposal.proposer.phase());
        let Some(Phase::Accept { successor }) = phase else { return false };
        self.membership_of(successor).is_none()
    }

    /// Proposes the successor that this grantor has accepted, unless the grantor is on its way into
    /// the next epoch.
    fn propose_if_wedged(&mut self, now: Time, out: &mut Out) {
        if now < self.proposals.propose_at {
            return;
        }
        self.proposals.propose_at = Time::MAX;
        let own = self.membership.id();
        let lacks = |joining: &Joining| joining.lacks_acceptances(own);
        let is_stuck = self.removed.is_none() && self.joining.as_ref().is_none_or(lacks);
        let next = self.votes.vote.accepted.as_ref().map(|(_, next)| Arc::clone(next));
        if let Some(next) = next.filter(|_| is_stuck) {
            if self.no_vote().is_some() && !self.votes_on_founding() {
                return self.await_decision(now);
            }
            self.propose(now, next, out);
        }
    }
}
