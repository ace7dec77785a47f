//! The grantor's vote on the successor of its epoch: an acceptor of single-decree Paxos.
//!
//! Rules, each with a run that goes wrong without it; `epoch/vote.rs` has the rules of the vote
//! itself:
//!
//! - 2.1.2, 2.1.3: *A vote is durable before its answer leaves.* Otherwise a and b accept S, which
//!   is decided. The process of b ends before its vote is written; then b and c accept T.
//! - 2.1.3: *A member has the document before it accepts.* Only members that accepted can tell
//!   others the document of a decided epoch.
//! - 2.1.4: *A member grants nothing from the moment at which it accepts, durable or not.* The
//!   flush may be on the disk before its confirmation arrives. An ok in between would support a
//!   claim that no answer to the next epoch names.
//! - 2.1.4: *The wedge never ends.* A write that fails may be on the disk all the same.
//! - 2.3.6: *A member votes only in the epoch that it has entered.* Members d and e know the
//!   document of epoch 1, but have no answers about epoch 0. If they accepted epoch 2, their
//!   answers would name no lease of epoch 0.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::by_member::ByMember;
use super::super::epoch::{
    Accept, Accepted, Acceptor, Ballot, Decided, Document, EpochId, Membership, NoVote, Origin,
    Prepare, Promise, PromiseOutcome, Vote,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::message::{Sender, ToGrantor};
use super::super::record::Record;
use super::super::timer::Timer;
use super::super::words::{Effect, Out, emit, send};
use super::Grantor;
use super::flush::{Flush, REWRITE};
use super::phase::{Phase, Read};
use crate::contract::Ticket;
use crate::time::{Deadline, Time};

/// The grantor's vote, and its copy on the disk.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Votes {
    /// The vote that the grantor keeps to, written or not.
    pub(super) vote: Vote<Arc<Membership>>,
    /// The vote on the disk, on which answers rest.
    pub(super) durable: Vote<Arc<Membership>>,
    /// Flush under way, and the vote that it makes durable.
    pending: Option<(Flush, Vote<Arc<Membership>>)>,
    /// Time at which a failed write is repeated.
    write_at: Option<Time>,
    /// Proposers that wait until the vote is durable, by position.
    asked: ByMember<(Sender, Asked)>,
}

/// A proposer's question.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Promise { ballot: Ballot },
    Acceptance { ballot: Ballot, successor: EpochId },
}

impl Votes {
    /// Begins with a durable vote: at a start, or at an entry into an epoch.
    pub(super) fn new(vote: Vote<Arc<Membership>>) -> Self {
        let (durable, asked) = (vote.clone(), ByMember::default());
        Self { vote, durable, pending: None, write_at: None, asked }
    }

    pub(super) fn flush(&self) -> Option<Flush> {
        self.pending.as_ref().map(|(flush, _)| *flush)
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        self.write_at.map(|at| Timer::WriteVote.at(at))
    }
}

impl Grantor {
    /// Whether this grantor has accepted a successor of its epoch, so that it grants nothing there.
    pub(super) const fn is_wedged(&self) -> bool {
        self.votes.vote.is_wedged()
    }

    pub(in crate::nerio) const fn is_blank(&self) -> bool {
        self.blank
    }

    /// Whether the epoch began before there were documents, so that its seats name no memories.
    pub(super) fn is_upgraded(&self) -> bool {
        self.membership.document().origin == Origin::Upgraded
    }

    /// The reason why this grantor has no vote; `None` if it has a vote.
    pub(super) fn no_vote(&self) -> Option<NoVote> {
        if !self.is_awake() {
            return Some(NoVote::Starts);
        }
        if self.votes.vote.is_barred() {
            return Some(NoVote::Forgot);
        }
        self.membership.record().is_none().then_some(NoVote::TooLong)
    }

    /// Whether the grantor has entered its epoch and written its start down, so that it can answer
    /// for all leases that it may have granted.
    pub(super) const fn is_awake(&self) -> bool {
        let phase =
            matches!(self.phase, Phase::Serving | Phase::Quarantine { read: Read::Nothing, .. });
        phase && !self.blank
    }

    /// The position of the member that asks about the end of `epoch`, if this grantor votes on it.
    fn proposer(
        &mut self,
        now: Time,
        from: &Sender,
        epoch: EpochId,
        out: &mut Out,
    ) -> Option<usize> {
        let own = self.membership.id();
        let member = self.membership.position(&from.who.name).filter(|_| from.proved);
        let why = if !from.proved {
            Ignored::NotAMember
        } else if epoch != own {
            self.answer_other_epoch(now, from, epoch, out);
            Ignored::OtherEpoch
        } else if member.is_none() {
            Ignored::NotAMember
        } else if self.removed.is_some() {
            self.answer_other_epoch(now, from, epoch, out);
            Ignored::NoVote
        } else if self.no_vote().is_some() {
            Ignored::NoVote
        } else {
            return member;
        };
        emit(out, None, OwnEvent::Ignored(why));
        None
    }

    /// Tells a member of an earlier epoch which epoch is decided. After a message about another
    /// epoch, asks the members for their epochs.
    pub(super) fn answer_other_epoch(
        &mut self,
        now: Time,
        from: &Sender,
        epoch: EpochId,
        out: &mut Out,
    ) {
        let known = self.removed.as_ref().unwrap_or(&self.membership);
        if self.blank || known.id().number <= epoch.number {
            return self.suspect(now, from, out);
        }
        let (before, successor) = (known.document().before, known.id());
        send(out, from, Decided { ballot: None, before, successor });
    }

    pub(super) fn on_prepare(&mut self, now: Time, from: &Sender, asked: &Prepare, out: &mut Out) {
        let Some(member) = self.proposer(now, from, asked.epoch, out) else { return };
        let ballot = asked.ballot;
        if ballot.is_too_far(self.votes.vote.promised) {
            return emit(out, None, OwnEvent::Ignored(Ignored::NoVote));
        }
        if let Some(rest) = self.promises_in(now) {
            let (asker, epoch, acceptor) = (from.who.inc, asked.epoch, self.acceptor());
            let outcome = PromiseOutcome::Later { rest };
            return send(out, from, Promise { asker, epoch, ballot, acceptor, outcome });
        }
        self.promise(now, from, member, ballot, out);
    }

    /// Promises a ballot, and answers once the promise is durable.
    pub(super) fn promise(
        &mut self,
        now: Time,
        from: &Sender,
        member: usize,
        ballot: Ballot,
        out: &mut Out,
    ) {
        self.votes.vote.promise(ballot);
        self.votes.asked.insert(member, (from.clone(), Asked::Promise { ballot }));
        self.write_vote(now, out);
        self.answer_proposers(out);
    }

    pub(super) fn on_accept(&mut self, now: Time, from: &Sender, asked: &Accept, out: &mut Out) {
        if asked.epoch == EpochId::NONE {
            return self.on_accept_founding(now, from, asked, out);
        }
        let Some(member) = self.proposer(now, from, asked.epoch, out) else { return };
        let Accept { ballot, successor, .. } = *asked;
        let again = ToGrantor::Accept(asked.clone());
        let Some(next) = self.need(now, from, successor, Some(again), out) else { return };
        if !self.is_followed_by(next.document()) || ballot.is_too_far(self.votes.vote.promised) {
            return emit(out, None, OwnEvent::Ignored(Ignored::NoVote));
        }
        self.accept(now, from, member, ballot, next, out);
    }

    /// Accepts a successor, and answers once the acceptance is durable.
    pub(super) fn accept(
        &mut self,
        now: Time,
        from: &Sender,
        member: usize,
        ballot: Ballot,
        next: Arc<Membership>,
        out: &mut Out,
    ) {
        let (was_wedged, successor) = (self.is_wedged(), next.id());
        if self.votes.vote.accept(ballot, next) {
            self.on_wedge(now, was_wedged, (ballot, successor), out);
        }
        self.votes.asked.insert(member, (from.clone(), Asked::Acceptance { ballot, successor }));
        self.write_vote(now, out);
        self.answer_proposers(out);
    }

    /// Whether the document is that of a successor of this grantor's epoch.
    pub(super) fn is_followed_by(&self, document: &Document) -> bool {
        let is_next = document.before == self.membership.id();
        let is_ours = document.founding == self.membership.founding();
        is_next && is_ours && document.origin == Origin::Changed
    }

    /// Stops granting in this epoch, renewals included.
    fn on_wedge(
        &mut self,
        now: Time,
        was_wedged: bool,
        accepted: (Ballot, EpochId),
        out: &mut Out,
    ) {
        if !was_wedged && !self.blank {
            emit(out, None, OwnEvent::Wedged { next: accepted.1.number });
            self.is_news = true;
        }
        self.carry_on(now, accepted, out);
    }

    /// Writes the vote down, if it is not on the disk and no write is under way.
    pub(super) fn write_vote(&mut self, now: Time, out: &mut Out) {
        let Votes { vote, durable, pending, write_at, .. } = &self.votes;
        if pending.is_some() || write_at.is_some() || vote == durable {
            return;
        }
        let Vote { promised, accepted } = vote.clone();
        let accepted = accepted.map(|(ballot, next)| (ballot, next.document().clone()));
        let (epoch, vote) = (self.ending(), Box::new(Vote { promised, accepted }));
        let flush = self.begin_flush(now);
        self.votes.pending = Some((flush, self.votes.vote.clone()));
        out.push(Effect::Flush(flush.ticket, Record::Vote { epoch, vote }));
    }

    pub(super) fn vote_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        let Some((_, vote)) = self.votes.pending.take_if(|(flush, _)| flush.ticket == flushed)
        else {
            return;
        };
        if !written {
            self.votes.write_at = Some(now.after(REWRITE));
            return;
        }
        self.votes.durable = vote;
        self.write_vote(now, out);
        self.answer_proposers(out);
        self.hear_itself(now, out);
    }

    pub(super) fn on_vote_due(&mut self, now: Time, out: &mut Out) {
        if self.votes.write_at.take_if(|at| now >= *at).is_some() {
            self.write_vote(now, out);
        }
    }

    /// Answers the proposers that wait, once the vote is durable.
    fn answer_proposers(&mut self, out: &mut Out) {
        if self.votes.vote != self.votes.durable {
            return;
        }
        let Vote { promised, accepted } = &self.votes.durable;
        let (promised, epoch) = (*promised, self.ending());
        let accepted = accepted.as_ref().map(|(ballot, next)| (*ballot, next.id()));
        for (_, (from, asked)) in core::mem::take(&mut self.votes.asked).iter() {
            let (asker, acceptor) = (from.who.inc, self.acceptor());
            let promise =
                |ballot, outcome, acceptor| Promise { asker, epoch, ballot, acceptor, outcome };
            let is_accepted = |by: Ballot, next: EpochId| accepted == Some((by, next));
            match *asked {
                Asked::Promise { ballot } if ballot == promised => {
                    let outcome = PromiseOutcome::Promised { accepted };
                    send(out, from, promise(ballot, outcome, acceptor));
                }
                Asked::Acceptance { ballot, successor } if is_accepted(ballot, successor) => {
                    send(out, from, Accepted { asker, epoch, ballot, successor, acceptor });
                }
                Asked::Promise { ballot } | Asked::Acceptance { ballot, .. } => {
                    let outcome = PromiseOutcome::Refused { above: promised };
                    send(out, from, promise(ballot, outcome, acceptor));
                }
            }
        }
    }

    /// This grantor's memory, for answers about the end of its epoch.
    pub(super) fn acceptor(&self) -> Acceptor {
        let memories = if self.is_upgraded() { self.marks() } else { Vec::new() };
        Acceptor { instance: self.instance, memories }
    }
}
