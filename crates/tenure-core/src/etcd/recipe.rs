//! The election recipe of etcd, from top to bottom. Each section begins with the sentences of the
//! notes that it carries out; the [module document](super) has the rulings. E is the end of a lease
//! on this process's clock.
//!
//! A process gets a lease, and a candidate puts a key on it. The candidate looks for keys that were
//! created before its own, and waits until the key just before its own has gone. The first
//! candidate leads while the lease is proven, and each confirmed renewal proves it for longer. A
//! candidate that leaves deletes its key, and a lease that no candidate needs is revoked.
//!
//! Around this file, `session/` keeps the leases of a process, `candidate/` handles the answers to
//! a candidate, and `node/` chooses the keys that confirm a renewal or move to another lease.
//! `observer.rs` queries the leader.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::candidate::{Candidate, CandidateContext, Phase, Step};
use super::context::Context;
use super::event::{Event, Ignored, Lost, Objection, OwnEvent};
use super::key::{self, Keys};
use super::message::{Act, Compare, Header, KeyValue, Op, Pick, Read, Revision, Txn};
use super::session::{
    Alive, GivenLease, Grant, Lease, OwnKey, Renewal, Session, SessionEvent, SessionPhase,
};
use super::words::{Effect, emit};
use crate::event::{End, Loss};
use crate::name::Value;

/// The shortest interval between a waiting candidate's queries while no key is deleted. Queries are
/// needed because a watch above the revision of a restored store is silent (ruling 7, E6).
const LOOK_AGAIN: Duration = Duration::from_secs(10);

// # Leases
//
// "Each participant in leader election requests a lease, that will serve as the session." A session
// uses a lease only in the term of etcd's leader in which the lease was granted (ruling 14, E3b).
impl Session {
    /// Gets a lease for a candidate. A lease that was handed in is checked first.
    pub(super) fn want(&mut self, context: &mut Context<'_>) {
        if !matches!(self.phase, SessionPhase::Idle) {
            return;
        }
        self.failures = 0;
        self.phase = match self.handed_in.take() {
            Some(lease) => {
                self.given = Some(GivenLease::new(lease, context));
                SessionPhase::Checking
            }
            None => SessionPhase::Establishing { call: None, again: context.now },
        };
        self.run_due(context);
    }

    /// Sends each request that is due: a read that shows the term, a grant, a keep-alive, a
    /// revocation.
    pub(super) fn run_due(&mut self, context: &mut Context<'_>) {
        match &mut self.phase {
            SessionPhase::Establishing { call: None, again } if *again <= context.now => {
                self.establish(context);
            }
            SessionPhase::Granting(grant) => grant.run_due(context),
            SessionPhase::Open(lease) => lease.run_due(context),
            SessionPhase::Idle | SessionPhase::Checking | SessionPhase::Establishing { .. } => {}
        }
        if let Some(next) = &mut self.next {
            next.run_due(context);
        }
        if let Some(given) = &mut self.given {
            given.run_due(context);
        }
        self.retired.run_due(context);
    }

    /// Reads a key, so that the answer shows the term of etcd's leader. The first header proves
    /// nothing, because etcd fills it after the read; a second header of that member does.
    fn establish(&mut self, context: &mut Context<'_>) {
        let Some((_, key)) = &self.probe else { return };
        let read = Act::read(key.clone());
        let txn = Txn { when: [].into(), then: [read].into(), otherwise: [].into() };
        let asked = context.ask(context.patience(), Op::Txn(txn));
        if let SessionPhase::Establishing { call, .. } = &mut self.phase {
            *call = Some(asked);
        }
    }

    /// Asks for a lease in the established term. A lease that was requested before gets a
    /// successor: a leader of an earlier term may know the requested lease (ruling 14, E3b).
    pub(super) fn on_term(&mut self, context: &mut Context<'_>) {
        let Some(term) = context.calls.term else { return };
        match &self.phase {
            SessionPhase::Establishing { call, .. } => {
                call.iter().for_each(|call| context.calls.forget(*call));
                self.ask_for_first(term, context);
            }
            SessionPhase::Granting(grant) if grant.term != term => {
                if let SessionPhase::Granting(grant) = core::mem::take(&mut self.phase) {
                    self.retired.give_up(grant, context);
                }
                self.ask_for_first(term, context);
            }
            SessionPhase::Open(lease) if lease.term != term => {
                if self.next.as_ref().is_some_and(|next| next.term == term) {
                    return;
                }
                if let Some(earlier) = self.next.take() {
                    self.retired.give_up(earlier, context);
                }
                let lease = self.draws.lease_id(context.draw);
                self.next = Some(Grant::new(lease, term, context.now));
            }
            _ => return,
        }
        self.run_due(context);
    }

    fn ask_for_first(&mut self, term: u64, context: &Context<'_>) {
        let lease = self.draws.lease_id(context.draw);
        self.phase = SessionPhase::Granting(Grant::new(lease, term, context.now));
    }

    /// Opens the first lease: candidates can make keys on it.
    pub(super) fn on_lease(&mut self, lease: Lease, context: &mut Context<'_>) -> SessionEvent {
        let Lease { id, ttl, .. } = lease;
        self.name = Some(self.name.unwrap_or(id));
        self.phase = SessionPhase::Open(lease);
        self.failures = 0;
        if let Some(given) = &mut self.given {
            given.look_within_third_of(ttl, context.now);
        }
        let asked = context.config.ttl();
        emit(None, OwnEvent::Opened { lease: id, asked, granted: ttl }, context.out);
        SessionEvent::Opened
    }
}

// # Keys
//
// "The key for each participant is constructed by joining the election name and the session id.
// The key-value pair is associated with the lease, so it is automatically deleted by etcd when the
// lease expires."
impl Candidate {
    /// Begins a campaign, unless the election has one (ruling 10, E9). While the last campaign is
    /// leaving, the new one waits.
    pub(super) fn contend(&mut self, value: Value, context: &mut CandidateContext<'_>) {
        if self.is_active() {
            return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
        }
        if matches!(self.phase, Phase::Leaving { .. }) {
            self.next = Some(value);
            return;
        }
        self.begin(value, context);
    }

    fn begin(&mut self, value: Value, context: &mut CandidateContext<'_>) {
        self.before = None;
        self.drop_call(context);
        self.unwatch(context);
        self.value.begin(value);
        self.phase = Phase::Creating { unsure: false };
        self.since = context.calls.seen;
        self.failures = 0;
        self.again = Some(context.now);
        self.run_due(context);
    }

    /// Sends the transaction of the current phase, once it is due. Each transaction compares the
    /// create revision of the candidate's key, so that a late transaction does no harm.
    pub(super) fn run_due(&mut self, context: &mut CandidateContext<'_>) {
        if self.due().is_none_or(|due| context.now < due) {
            return;
        }
        let Some(lease) = context.lease() else {
            // The session wakes its candidates when it gets or loses a lease.
            self.again = None;
            return;
        };
        let key = self.key(context);
        let read = || Act::read(key.clone());
        let only = |revision: Revision, then: Act| Txn {
            when: vec![Compare::Created { key: key.clone(), revision }],
            then: vec![then],
            otherwise: vec![read()],
        };
        let value = || self.value.as_str().into();
        let put = || Act::Put { key: key.clone(), value: value(), lease };
        // A key that has moved meanwhile stays on its new lease (E3b).
        let proclaim = || Act::Proclaim { key: key.clone(), value: value() };
        let delete = || Act::Delete { key: key.clone() };
        let (step, txn) = match self.phase {
            Phase::Creating { .. } => {
                self.home = Some(lease);
                (Step::Create, only(0, put()))
            }
            Phase::Clearing { revision } => (Step::Clear, only(revision, delete())),
            Phase::Queued { revision, .. } => self.look_for(revision, context),
            Phase::Leading { revision, .. } if self.value.may_write(context.now) => {
                let txn = only(revision, proclaim());
                self.value.mark_written();
                (Step::Proclaim, txn)
            }
            // The watch has ended: a read shows the changes that it missed.
            Phase::Leading { revision, .. } if self.watch.is_none() => {
                (Step::Check, only(revision, read()))
            }
            Phase::Leading { .. } => {
                self.again = self.value.due();
                return;
            }
            Phase::Leaving { revision: Some(revision) } => (Step::Leave, only(revision, delete())),
            Phase::Leaving { revision: None } => (Step::Leave, only(0, read())),
            Phase::Over if self.late_on.is_some() => (Step::Sweep, only(0, read())),
            Phase::Over => return,
        };
        self.again = None;
        self.ask(step, txn, context);
    }

    /// Handles a key that a create has found. The candidate takes the key over only if this
    /// campaign made it (ruling 6, E5). The fence of an earlier campaign's key was used, and a
    /// restored store may bring such a key back (E7). With a lease that was handed in, the maker of
    /// a key is unknown.
    pub(super) fn on_found(&mut self, found: &KeyValue, context: &mut CandidateContext<'_>) {
        let made_here = !context.session.is_given();
        let ours = self.phase == (Phase::Creating { unsure: true })
            && made_here
            && found.lease == context.lease()
            && found.created > self.since
            && found.value == self.value.as_str().into();
        if ours {
            self.home = found.lease;
            return self.queue(found.created, context);
        }
        if self.make_room(found, context) {
            self.again = Some(context.now);
            self.run_due(context);
        }
    }

    /// Queues: the candidate's key exists, and its create revision gives the place in the queue and
    /// the fence.
    pub(super) fn queue(&mut self, revision: Revision, context: &mut CandidateContext<'_>) {
        self.phase = Phase::Queued { revision, first: false };
        if context.config.fence(revision).is_none() {
            return self.leave(Objection::RevisionTooHigh { revision }.into(), context);
        }
        self.look(context);
    }
}

// # The queue
//
// "The participants find the key with the highest creation revision that is still lower than their
// own. They only wait until that one key is deleted." After each departure a candidate queries the
// queue again, because the deleted key may have been in its middle (ruling 1).
impl Candidate {
    pub(super) fn look(&mut self, context: &mut CandidateContext<'_>) {
        self.again = Some(context.now);
        self.run_due(context);
    }

    /// Chooses the query. If the key before this candidate's key is known, the query reads only
    /// that key; any other query makes etcd sort the whole queue.
    fn look_for(&self, revision: Revision, context: &CandidateContext<'_>) -> (Step, Txn) {
        match self.before.clone() {
            Some((before, created)) => {
                let key = self.key(context);
                let is_there = |key, revision| Compare::Created { key, revision };
                let when = vec![is_there(key.clone(), revision), is_there(before, created)];
                let own = Act::read(key);
                (Step::Wait, Txn { when, then: vec![own.clone()], otherwise: vec![own] })
            }
            None => (Step::Look, self.first(revision, context)),
        }
    }

    /// Returns the query of ruling 2 (E1). A linearizable transaction shows whether the
    /// candidate's key exists and is the first, and which key is just before it. The query leaves
    /// values out, because they may be too large. etcd 3.7 then leaves leases out, too, so the
    /// transaction compares the lease. Each branch reads a key, because a transaction without
    /// operations is not linearizable.
    pub(super) fn first(&self, revision: Revision, context: &CandidateContext<'_>) -> Txn {
        let key = self.key(context);
        let keys = Keys::Prefix(key::prefix(&context.config.namespace, &self.election));
        let of_all = |pick| Act::Read(Read { keys: keys.clone(), pick, keys_only: true });
        let before = Pick::LastUpTo(revision.saturating_sub(1));
        let then = vec![of_all(Pick::First), of_all(before)];
        let otherwise = vec![Act::read(key.clone())];
        let mut when = vec![Compare::Created { key: key.clone(), revision }];
        when.extend(self.home.map(|lease| Compare::Lease { key, lease }));
        Txn { when, then, otherwise }
    }

    /// Handles the answer to a query: the first key of all, and the key just before this
    /// candidate's key.
    pub(super) fn on_look_answer(
        &mut self,
        first: Option<KeyValue>,
        before: Option<KeyValue>,
        header: Header,
        context: &mut CandidateContext<'_>,
    ) {
        let Some(before) = before else {
            self.before = None;
            let key = self.key(context);
            // Compare names, too: two puts of one transaction share a create revision (E9).
            let is_own =
                |first: &KeyValue| Some(first.created) == self.revision() && first.key == key;
            if first.as_ref().is_some_and(is_own) {
                return self.win(header, context);
            }
            return self.on_key_lost(context);
        };
        self.before = Some((before.key.clone(), before.created));
        if self.watch.as_ref().is_none_or(|watch| watch.key != before.key) {
            self.say_behind(&before.key, context);
            self.unwatch(context);
            self.watch(before.key, header.revision + 1, context);
        }
        self.look_later(context);
    }

    /// Waits on: the key before this candidate's key is unchanged. New keys go to the end of the
    /// queue, so no key can come between the two.
    pub(super) fn wait_on(&mut self, header: Header, context: &mut CandidateContext<'_>) {
        if let Some((before, _)) = self.before.clone().filter(|_| self.watch.is_none()) {
            // The end of the watch was reported as an obstacle: report the awaited key again.
            self.say_behind(&before, context);
            self.watch(before, header.revision + 1, context);
        }
        self.look_later(context);
    }

    /// Handles the loss of the key before this candidate's key, or of this candidate's key.
    pub(super) fn wait_no_longer(
        &mut self,
        own: Option<&KeyValue>,
        context: &mut CandidateContext<'_>,
    ) {
        self.before = None;
        if own.is_some_and(|own| Some(own.created) == self.revision()) {
            return self.look(context);
        }
        self.on_key_lost(context);
    }

    /// Handles the deletion of the watched key before this candidate's key.
    pub(super) fn on_departure(&mut self, context: &mut CandidateContext<'_>) {
        self.before = None;
        self.unwatch(context);
        self.drop_call(context);
        // The deleted key may have been in the middle of the queue (ruling 1).
        self.look(context);
    }

    /// Plans the next query, which does not depend on the watch (ruling 1).
    fn look_later(&mut self, context: &CandidateContext<'_>) {
        let least = context.length().max(LOOK_AGAIN);
        let jitter = self.draw(least / 8, "look", context);
        self.again = Some(context.now.after(least + jitter));
    }
}

// # The leader
//
// "The participant whose key-value pair has the *lowest* creation revision is the leader." The
// leader leads until E of the lease that its key is on (ruling 2, E1).
impl Candidate {
    /// Leads with the first key, if the lease that carries it is proven.
    pub(super) fn win(&mut self, header: Header, context: &mut CandidateContext<'_>) {
        let Some(revision) = self.revision() else { return };
        let Some(fence) = context.config.fence(revision) else { return };
        let Some(until) = context.session.until(self.home, context.now) else {
            // The lease exists, but no renewal has proven it yet.
            context.session.hurry(context.now);
            self.phase = Phase::Queued { revision, first: true };
            return self.look_later(context);
        };
        self.unwatch(context);
        let key = self.key(context);
        self.watch(key.clone(), header.revision + 1, context);
        self.phase = Phase::Leading { revision, fence, settled: false };
        self.again = self.value.is_stale().then_some(context.now);
        let election = self.election.clone();
        context.out.push(Effect::Raise { election, until, fence: Some(fence) });
        let id = key::id(&context.config.namespace, &self.election, &key);
        self.tell(Event::Elected { id, fence: Some(fence) }, context.out);
        self.tell_settled(until, context.now, context.length(), context.out);
        if self.home != context.lease() {
            context.session.moves_first(&self.election);
        }
        self.run_due(context);
    }
}

// # Renewal
//
// "Leases […] need to be refreshed or they expire." E is measured from the send of a keep-alive
// (ruling 3, E2). The renewal counts once an entry of the log has found a key of this process
// unchanged, in the same term (ruling 4, E3). `Lease::run_due` sends the keep-alive, a third of the
// TTL after the previous keep-alive, and `Session::on_alive` handles the answer. An answer that the
// lease is gone ends the lease at once.
impl Session {
    /// Confirms the keep-alive by these keys: a member that is cut off or stuck answers
    /// keep-alives, too (ruling 4, E3).
    pub(super) fn confirm(&mut self, own: Vec<OwnKey>, context: &mut Context<'_>) {
        let Self { phase, old, .. } = self;
        let SessionPhase::Open(Lease { proven, promised, renewal, .. }) = phase else { return };
        let Renewal::Confirming { alive, .. } = *renewal else { return };
        let end = alive.sent.after(context.config.proven(alive.ttl));
        if !own.is_empty() {
            return self.read_own(alive, own, context);
        }
        // While the lease has no key, candidates can make keys on it, but cannot lead: the first
        // key proves the lease anew. The earlier proof stays only while leaders have keys on an
        // earlier lease.
        *promised = end.max(*promised);
        let leads_elsewhere = old.iter().any(|old| old.proven.is_some());
        if !leads_elsewhere {
            *proven = None;
        }
        self.rest(false, context);
        self.keep_bare(alive);
    }

    /// Confirms the last keep-alive late, after a key was made on the lease or moved to it.
    pub(super) fn confirm_late(&mut self, own: Vec<OwnKey>, context: &mut Context<'_>) {
        let SessionPhase::Open(Lease { renewal, .. }) = &self.phase else { return };
        if let Renewal::Idle { bare: Some(alive), .. } = *renewal {
            self.read_own(alive, own, context);
        }
    }

    /// Reads keys in a transaction that etcd puts into its log, because the transaction could
    /// write. If one key, the witness, does not exist, the transaction deletes it, which changes
    /// nothing. A plain read may name an earlier term after a snapshot.
    fn read_own(&mut self, alive: Alive, own: Vec<OwnKey>, context: &mut Context<'_>) {
        // After a failure take another witness: this user may have no permission for the last one.
        let witness = (self.failures as usize).checked_rem(own.len()).unwrap_or(0);
        let reads: Vec<Act> = own.iter().map(|own| Act::read(own.key.clone())).collect();
        let mut txn = Txn { when: Vec::new(), then: reads, otherwise: Vec::new() };
        if let Some(OwnKey { key, .. }) = own.get(witness) {
            txn.when.push(Compare::Created { key: key.clone(), revision: 0 });
            txn.otherwise.clone_from(&txn.then);
            txn.then.remove(witness);
            txn.then.insert(0, Act::Delete { key: key.clone() });
        }
        let asked: Vec<_> = own.into_iter().map(|own| (own.election, own.revision)).collect();
        self.transactions.last = asked.last().map(|(election, _)| election.clone());
        let within = context.config.patience(alive.ttl);
        let call = context.ask(within, Op::Txn(txn));
        if let SessionPhase::Open(Lease { renewal, .. }) = &mut self.phase {
            *renewal = Renewal::Confirming { call, alive, asked, witness };
        }
    }

    /// Ends a confirmation; `alive` if a key was found in its place. Returns whether E has moved.
    pub(super) fn confirmed(&mut self, alive: bool, context: &mut Context<'_>) -> bool {
        let SessionPhase::Open(Lease { term, proven, promised, renewal, .. }) = &mut self.phase
        else {
            return false;
        };
        let Renewal::Confirming { alive: Alive { sent, ttl, term: renewed }, .. } = renewal else {
            return false;
        };
        // Leaders of earlier terms know a lease of an earlier term, and may revoke it late (ruling
        // 14, E3b).
        let counts = renewed == term;
        let end = sent.after(context.config.proven(*ttl));
        let moved =
            alive && counts && context.now < end && proven.is_none_or(|proven| proven < end);
        if moved {
            *proven = Some(end);
            *promised = end.max(*promised);
        }
        self.rest(!alive, context);
        moved
    }
}

// # Losses
//
// "When the lease expires the key-values are automatically deleted." Nothing revives a lease after
// E (ruling 3, E2): `Etcd::expire`, in `node/input.rs`, ends the lease before any other input is
// handled. Up to E a leader goes on, and its session tries again.
impl Candidate {
    /// Handles the end of the lease, and so of all keys on it.
    pub(super) fn on_lease_lost(&mut self, lost: Lost, context: &mut CandidateContext<'_>) {
        self.drop_call(context);
        self.unwatch(context);
        self.late_on = None;
        self.again = None;
        match self.phase {
            Phase::Over => {}
            Phase::Leaving { .. } => self.left(context),
            Phase::Leading { .. } => {
                self.lower(context);
                self.lose(lost, context);
            }
            Phase::Creating { .. } | Phase::Clearing { .. } | Phase::Queued { .. } => {
                self.contend_again(lost, context);
            }
        }
    }

    fn lose(&mut self, lost: Lost, context: &mut CandidateContext<'_>) {
        self.tell(OwnEvent::Lost(lost), context.out);
        self.tell(Event::Ended(lost.into()), context.out);
        self.left(context);
    }

    /// Handles the loss of the candidate's key: the key is gone, or another key has its name. The
    /// lease and all other elections stay (ruling 10, E9).
    pub(super) fn on_key_lost(&mut self, context: &mut CandidateContext<'_>) {
        match self.phase {
            Phase::Leading { .. } => {
                self.tell(OwnEvent::Lost(Lost::KeyGone), context.out);
                self.leave(Lost::KeyGone.into(), context);
            }
            Phase::Queued { .. } => self.contend_again(Lost::KeyGone, context),
            _ => {}
        }
    }

    /// Begins the campaign again, if the settings allow that, as by default (ruling 13).
    fn contend_again(&mut self, lost: Lost, context: &mut CandidateContext<'_>) {
        if !context.config.contend_again {
            self.drop_call(context);
            self.unwatch(context);
            return self.lose(lost, context);
        }
        self.tell(OwnEvent::Again(lost), context.out);
        let value = self.value.get();
        self.begin(value, context);
    }
}

// # Departure
//
// "When the participant terminates (or asks for the lease to be revoked) the protocol can assume
// the participant is really dead." A candidate deletes its key by revision, again and again until
// the lease would have ended (ruling 5, E4).
impl Candidate {
    pub(super) fn resign(&mut self, context: &mut CandidateContext<'_>) {
        if self.next.take().is_some() {
            return self.tell(Event::Ended(End::Withdrawn), context.out);
        }
        let end = match self.phase {
            Phase::Over | Phase::Leaving { .. } => {
                return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
            }
            Phase::Leading { .. } => End::Lost(Loss::Resigned),
            Phase::Creating { .. } | Phase::Clearing { .. } | Phase::Queued { .. } => {
                End::Withdrawn
            }
        };
        self.leave(end, context);
    }

    /// Ends the campaign or the leadership, and deletes the key that the candidate has made or may
    /// have made.
    pub(super) fn leave(&mut self, end: End, context: &mut CandidateContext<'_>) {
        if self.fence().is_some() {
            self.lower(context);
        }
        // etcd may still carry out the create under way.
        let creating = self.is_creating();
        self.late_on = self.home.filter(|_| creating).or(self.late_on);
        let nothing = !creating && self.phase == (Phase::Creating { unsure: false });
        let revision = self.revision();
        self.drop_call(context);
        self.unwatch(context);
        self.tell(Event::Ended(end), context.out);
        self.phase = Phase::Leaving { revision };
        self.failures = 0;
        self.again = Some(context.now);
        if nothing {
            return self.left(context);
        }
        self.run_due(context);
    }

    /// Completes the departure: the key is gone, or its lease is over.
    pub(super) fn left(&mut self, context: &mut CandidateContext<'_>) {
        self.tell(Event::Released, context.out);
        self.phase = Phase::Over;
        self.denied = false;
        self.again = None;
        if let Some(next) = self.next.take() {
            return self.begin(next, context);
        }
        if self.late_on.is_some() {
            let key = self.key(context);
            self.watch(key, context.calls.seen + 1, context);
            self.again = Some(context.now);
            self.run_due(context);
        }
    }
}
