//! The founding of a cluster by a document: a change from no epoch to epoch 0, by the same ballots
//! and votes as every other change. `docs/decisions/founding-by-document.md` has the argument.
//!
//! ```text
//!             all have written     all promise       a quorum of the       the entry
//!             down all memories    the ballot        document accepts      is durable
//!  reading ──────────────────────> found ──────────> accept ─────────────> serving
//!     ^        and waited            │ another memory
//!     └──────────────────────────────┘ of a member promises
//! ```
//!
//! Rules, each with the run that goes wrong without it; `epoch/proposer.rs` has 3.1. Member x is
//! called x' once it has begun a new memory:
//!
//! - 3.2: *A document names the memories that promise, and all of them were there before the ballot
//!   began.* Otherwise b begins ballot 1 with a list that names the memory of c. Then the directory
//!   of c is lost, c' promises, and the founding names a memory that is lost.
//! - 3.3: *All members have written down all memories of a new document.* Otherwise the directories
//!   of x and p are lost, while the old process of x still runs. Member s does not know x', and
//!   promises to x. Then x and s accept one document, and p' and x' accept another document.
//! - 3.4: *A member promises nothing to a memory that it knows to be replaced*, and counts no
//!   answer of that memory. Rule 3.3 shows why for promises. For answers: members a, b and s
//!   promise D, and only a accepts D. Then a' replaces a; a', b and s decide D', and b is lost. If
//!   s still counted the promise of a, s would accept D, too.
//! - 3.5: *A proposer promises its own ballot first.* Otherwise the proposer could still promise an
//!   earlier ballot of another member, and both ballots could be decided.
//! - 3.6: *Only a memory that the document names accepts it.* Otherwise the acceptance of another
//!   memory would count for the seat.
//! - 3.7: *A member that has accepted a founding serves by no other.* Otherwise members that found
//!   without a document would be a second cluster.
//! - 3.8: *Fences begin above the latest clock.* If all directories were lost, fences may have been
//!   handed out before.
//! - 3.9: *Clocks are at most a minute apart.* Otherwise one clock is a year ahead, and fences
//!   begin there. Then the clock is set right, all directories are lost, and the members hand out
//!   the same fences again. So a directory that began a year ahead founds nothing, even if the
//!   clock is right by now.
//! - 3.10: *A member that has heard a leader waits for the end of the lease.* The members may have
//!   changed since the list was written.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::epoch::{
    Accept, Ballot, Document, EpochId, Found, Membership, Origin, Promise, PromiseOutcome,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::founding_trouble::FoundingTrouble;
use super::super::identity::Instance;
use super::super::message::{Sender, ToGrantor};
use super::super::words::{Out, emit, send};
use super::Grantor;
use super::phase::{Phase, Read};
use crate::fence::Fence;
use crate::time::Time;

/// The largest distance of two clocks in milliseconds.
const APART_MAX: u64 = 60_000;

impl Grantor {
    /// The epoch on whose successor this grantor votes; no epoch while it has entered none.
    pub(super) fn ending(&self) -> EpochId {
        if self.blank { EpochId::NONE } else { self.membership.id() }
    }

    pub(super) fn votes_on_founding(&self) -> bool {
        let is_ready = matches!(
            self.phase,
            Phase::Reading { .. } | Phase::Quarantine { read: Read::Fences, .. }
        );
        let is_elsewhere =
            self.joining.is_some() || self.removed.is_some() || self.outside().is_some();
        let has_vote = self.wall.is_some() && !self.votes.vote.is_barred();
        self.blank && is_ready && has_vote && !is_elsewhere
    }

    pub(super) const fn has_accepted_founding(&self) -> bool {
        self.blank && self.is_wedged()
    }

    /// The clock of this grantor's machine, in milliseconds since 1970.
    fn wall_at(&self, now: Time) -> u64 {
        let passed = u64::try_from(now.since(self.started).as_millis()).unwrap_or(u64::MAX);
        self.wall.unwrap_or_default().saturating_add(passed)
    }

    /// Proposes a document that names `founders`, once all members have written all founders down.
    /// `answered` is the highest fence or clock of all answers.
    pub(super) fn found_by_document(
        &mut self,
        now: Time,
        founders: &[(usize, Instance)],
        answered: Option<Fence>,
        out: &mut Out,
    ) {
        let is_open = self.proposals.running.is_none() && self.votes_on_founding();
        if !is_open || !self.all_know(founders) {
            return;
        }
        if !self.memories.is_written() {
            return self.write_memories(now, out);
        }
        let floor = answered.max(Some(self.founding_floor(now))).unwrap_or(Fence::NONE);
        let own = self.wall_at(now);
        let floor = floor.max(Fence::new(own)).min(Document::FLOOR_MAX);
        if floor.number().saturating_sub(own) > APART_MAX {
            let trouble = FoundingTrouble::Ahead { floor, own };
            return emit(out, None, OwnEvent::Founding(trouble));
        }
        if let Some(own) = self.founding_document(founders, floor) {
            self.propose(now, own, out);
        }
    }

    /// Whether each answer names all these memories as written down.
    fn all_know(&self, founders: &[(usize, Instance)]) -> bool {
        let Phase::Reading { answers, .. } = &self.phase else { return false };
        answers.values().all(|answer| {
            founders.iter().all(|(member, instance)| {
                answer.roster.at(*member).map(|entry| entry.instance) == Some(*instance)
            })
        })
    }

    fn founding_document(
        &self,
        founders: &[(usize, Instance)],
        floor: Fence,
    ) -> Option<Arc<Membership>> {
        let origin = Origin::Founded;
        let mut document = Document { origin, floor, ..self.membership.document().clone() };
        for (member, instance) in founders {
            document.seats.get_mut(*member)?.instance = Some(*instance);
        }
        let read =
            |document: &Document| Membership::read(Arc::new(document.clone()), &self.config).ok();
        read(&document).or_else(|| {
            // The document with its hosts is too long: leave the hosts out, which every node has in
            // its settings.
            document.seats.iter_mut().for_each(|seat| seat.hosts.clear());
            read(&document)
        })
    }

    /// Handles the question of a blank for a promise. A grantor that has entered an epoch answers
    /// with that epoch, and so ends the founding.
    pub(super) fn on_found(&mut self, now: Time, from: &Sender, asked: &Found, out: &mut Out) {
        let line = self.membership.id();
        let member = self.membership.position(&from.who.name).filter(|_| from.proved);
        let Some(member) = member else {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        };
        if !self.blank && !self.is_upgraded() {
            return self.say_epoch(now, from, Time::ZERO, out);
        }
        let is_replaced = self.memories.heard(member) > Some(asked.instance);
        let why = if from.epoch != line {
            Ignored::OtherEpoch
        } else if is_replaced {
            Ignored::OtherMemory
        } else if !self.votes_on_founding()
            || self.leader_until > now
            || asked.ballot.is_too_far(self.votes.vote.promised)
        {
            Ignored::NoVote
        } else {
            return self.promise_founding(now, from, member, asked, out);
        };
        emit(out, None, OwnEvent::Ignored(why));
    }

    fn promise_founding(
        &mut self,
        now: Time,
        from: &Sender,
        member: usize,
        asked: &Found,
        out: &mut Out,
    ) {
        let (ballot, wall) = (asked.ballot, self.wall_at(now));
        if wall.abs_diff(asked.wall) > APART_MAX {
            let (asker, epoch, acceptor) = (from.who.inc, EpochId::NONE, self.acceptor());
            let outcome = PromiseOutcome::Apart { wall };
            return send(out, from, Promise { asker, epoch, ballot, acceptor, outcome });
        }
        self.promise(now, from, member, ballot, out);
    }

    /// Promises this grantor's own ballot; false if it has promised a later ballot.
    pub(super) fn promise_own(&mut self, now: Time, ballot: Ballot, out: &mut Out) -> bool {
        let promises = self.votes.vote.promise(ballot);
        if promises {
            self.write_vote(now, out);
        }
        promises
    }

    /// The question by which the proposer of a founding asks for a promise.
    pub(super) fn found(&self, now: Time, ballot: Ballot) -> Found {
        Found { ballot, instance: self.instance, wall: self.wall_at(now) }
    }

    /// Handles the question of a blank to accept its document.
    pub(super) fn on_accept_founding(
        &mut self,
        now: Time,
        from: &Sender,
        asked: &Accept,
        out: &mut Out,
    ) {
        let member = self.membership.position(&from.who.name).filter(|_| from.proved);
        let Some(member) = member.filter(|_| self.votes_on_founding()) else {
            return emit(out, None, OwnEvent::Ignored(Ignored::NoVote));
        };
        let again = ToGrantor::Accept(asked.clone());
        let Some(next) = self.need(now, from, asked.successor, Some(again), out) else { return };
        if !self.may_found(&next) || asked.ballot.is_too_far(self.votes.vote.promised) {
            return emit(out, None, OwnEvent::Ignored(Ignored::NoVote));
        }
        self.accept(now, from, member, asked.ballot, next, out);
    }

    /// Whether the document founds the cluster of this grantor's list, and names this memory.
    fn may_found(&self, next: &Membership) -> bool {
        let (line, document) = (self.membership.document(), next.document());
        let is_ours = next.names() == self.membership.names() && document.quorums == line.quorums;
        let named = next.instance(self.own_position());
        document.origin == Origin::Founded && is_ours && named == Some(self.instance)
    }

    /// Whether the memory that the founding names gave this promise. If another memory of `member`
    /// promises, ends the proposal and reads again.
    pub(super) fn is_of_founder(
        &mut self,
        now: Time,
        member: usize,
        promise: &Promise,
        out: &mut Out,
    ) -> bool {
        let Some(proposal) = &self.proposals.running else { return false };
        let named = proposal.own.instance(member);
        if named == Some(promise.acceptor.instance) || self.has_accepted_founding() {
            return true;
        }
        if let PromiseOutcome::Promised { accepted: Some(_) } = promise.outcome {
            return true;
        }
        self.proposals.running = None;
        if matches!(self.phase, Phase::Reading { .. }) {
            self.read_anew(now, out);
        }
        false
    }

    /// Reports a member whose clock is too far from the clock of this machine.
    pub(super) fn tell_apart(&self, now: Time, from: &Sender, wall: u64, out: &mut Out) {
        let (member, own) = (from.who.name.clone(), self.wall_at(now));
        let trouble = FoundingTrouble::Apart { member, theirs: wall, own };
        emit(out, None, OwnEvent::Founding(trouble));
    }

    /// Reports the members for which the running founding waits, when they change.
    pub(super) fn tell_founding(&mut self, out: &mut Out) {
        let Some(proposal) = &mut self.proposals.running else { return };
        let silent: Vec<_> = self.membership.named(proposal.proposer.missing());
        proposal.tries = proposal.tries.saturating_add(1);
        if proposal.tries > super::proposals::PATIENCE && proposal.told != silent {
            proposal.told.clone_from(&silent);
            emit(out, None, OwnEvent::Founding(FoundingTrouble::Waits { silent }));
        }
    }
}
