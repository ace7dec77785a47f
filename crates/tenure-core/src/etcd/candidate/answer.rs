//! The meaning of each answer of etcd for a candidate: keys found, moved, gone or made late;
//! refusals; answers that never came.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Candidate, CandidateContext, Phase, Step};
use crate::etcd::event::{Ignored, Objection, OwnEvent};
use crate::etcd::key::LeaseId;
use crate::etcd::message::{Answer, Change, Header, KeyValue, Refusal, Reply, Revision};
use crate::name::Value;

/// The pause between creates while another process has a key of the same name.
const ROOM_AGAIN: Duration = Duration::from_secs(1);

impl Candidate {
    pub(in crate::etcd) fn proclaim(&mut self, value: Value, context: &mut CandidateContext<'_>) {
        if !self.is_active() {
            return self.tell(OwnEvent::Ignored(Ignored::Command), context.out);
        }
        if let Some(next) = &mut self.next {
            *next = value;
            return;
        }
        self.value.propose(value, context.now);
        if matches!(self.phase, Phase::Leading { .. }) {
            self.again = Some(context.now);
            self.run_due(context);
        }
    }

    pub(in crate::etcd) fn on_answer(
        &mut self,
        answer: Answer,
        context: &mut CandidateContext<'_>,
    ) {
        let Answer { call, header, reply } = answer;
        if self.watch.as_ref().is_some_and(|watch| watch.call == call) {
            return self.on_watched(reply, context);
        }
        let Some((_, step)) = self.call.filter(|(asked, _)| *asked == call) else {
            return self.tell(OwnEvent::Ignored(Ignored::Unasked), context.out);
        };
        self.call = None;
        match (reply, header) {
            (Reply::Txn { succeeded, found }, Some(header)) => {
                // A transaction that runs only because the watch does not open is no progress.
                let looks = matches!(step, Step::Look | Step::Wait | Step::Check);
                if self.watch.is_some() || !looks {
                    self.failures = 0;
                }
                let fits = self.on_txn(step, succeeded, found, header, context);
                if fits.is_none() {
                    self.tell(OwnEvent::Ignored(Ignored::Misfit), context.out);
                    self.pause(context);
                }
            }
            (Reply::LeaseGone, _) => {
                context.session.doubt(self.home, context.now);
                self.pause(context);
            }
            (Reply::Refused(refusal), _) => self.on_refused(step, refusal, context),
            (Reply::Unknown { why }, _) => {
                self.tell(OwnEvent::Unsure { doing: step.words(), why }, context.out);
                if step == Step::Create {
                    self.create_unsure();
                }
                if step == Step::Proclaim {
                    self.value.mark_stale();
                }
                self.pause(context);
            }
            _ => {
                self.tell(OwnEvent::Ignored(Ignored::Misfit), context.out);
                self.pause(context);
            }
        }
    }

    /// Handles the answer to a transaction; `None` if it does not fit the question.
    fn on_txn(
        &mut self,
        step: Step,
        succeeded: bool,
        found: Vec<Option<KeyValue>>,
        header: Header,
        context: &mut CandidateContext<'_>,
    ) -> Option<()> {
        let mut found = found.into_iter();
        match (step, succeeded) {
            (Step::Create, true) => self.queue(header.revision, context),
            (Step::Create, false) => {
                let found = found.next()??;
                self.on_found(&found, context);
            }
            (Step::Clear, true) => self.create(context),
            (Step::Clear, false) => match found.next()? {
                Some(found) => {
                    if self.make_room(&found, context) {
                        self.pause(context);
                    }
                }
                None => {
                    self.phase = Phase::Creating { unsure: true };
                    self.pause(context);
                }
            },
            (Step::Look, true) => {
                let first = found.next()?;
                let before = found.next()?;
                self.on_look_answer(first, before, header, context);
            }
            (Step::Wait, true) => self.wait_on(header, context),
            (Step::Wait, false) => self.wait_no_longer(found.next()?.as_ref(), context),
            (Step::Look, false) => self.look_elsewhere(found.next()?.as_ref(), context),
            (Step::Proclaim | Step::Check, false) => self.on_key_lost(context),
            (Step::Proclaim, true) => {
                if self.watch.is_none() {
                    self.look(context);
                }
            }
            (Step::Check, true) => {
                let own = found.next()??;
                self.on_checked(&own, header, context);
            }
            (Step::Leave, true) => self.left(context),
            (Step::Leave, false) => self.on_other(found.next()?, context),
            (Step::Sweep, true) => self.sweep_later(header, context),
            (Step::Sweep, false) => {
                let found = found.next()??;
                self.on_late_key(found.created, found.lease, context);
                // The key is on a lease of another process, so it is not ours.
                if self.phase == Phase::Over {
                    self.sweep_later(header, context);
                }
            }
        }
        Some(())
    }

    /// Makes room for the candidate's key, because a key of another campaign has the same name. If
    /// that key is on a lease of another process, the same lease was handed to both processes, and
    /// the other process may lead: the candidate waits. Returns whether the other key must be
    /// deleted; the caller decides when.
    pub(in crate::etcd) fn make_room(
        &mut self,
        found: &KeyValue,
        context: &mut CandidateContext<'_>,
    ) -> bool {
        if found.lease.is_some() && !context.session.owns(found.lease) {
            self.phase = Phase::Creating { unsure: false };
            self.again = Some(context.now.after(ROOM_AGAIN));
            self.say_behind(&found.key, context);
            return false;
        }
        self.phase = Phase::Clearing { revision: found.created };
        true
    }

    /// Handles the answer that the key to be deleted does not exist. If this session has another
    /// key of the same name, deletes that key.
    fn on_other(&mut self, found: Option<KeyValue>, context: &mut CandidateContext<'_>) {
        match found.filter(|found| context.session.owns(found.lease)) {
            Some(found) => {
                self.phase = Phase::Leaving { revision: Some(found.created) };
                self.again = Some(context.now);
                self.run_due(context);
            }
            None => self.left(context),
        }
    }

    /// Handles a read of the candidate's key. On a lease of another process the key is not ours.
    fn on_checked(&mut self, own: &KeyValue, header: Header, context: &mut CandidateContext<'_>) {
        if !context.session.owns(own.lease) {
            return self.on_key_lost(context);
        }
        self.watch(own.key.clone(), header.revision + 1, context);
        self.check_value(own, context);
    }

    /// Handles a candidate's key that is not in its expected place. If the key is on another lease
    /// of this session, the session has moved the key, and the answer was lost. On any other lease
    /// the key is not ours.
    fn look_elsewhere(&mut self, own: Option<&KeyValue>, context: &mut CandidateContext<'_>) {
        let own = own.filter(|own| Some(own.created) == self.revision());
        let lease = own.and_then(|own| own.lease).filter(|_| self.fence().is_none());
        if lease == self.home || !context.session.owns(lease) {
            return self.on_key_lost(context);
        }
        self.home = lease;
        self.look(context);
    }

    fn create(&mut self, context: &mut CandidateContext<'_>) {
        self.phase = Phase::Creating { unsure: false };
        self.again = Some(context.now);
        self.run_due(context);
    }

    /// Notes a create without a certain outcome: the key may be there, or appear later.
    fn create_unsure(&mut self) {
        self.late_on = self.home;
        self.phase = Phase::Creating { unsure: true };
    }

    fn on_watched(&mut self, reply: Reply, context: &mut CandidateContext<'_>) {
        match reply {
            Reply::Watching => self.failures = 0,
            Reply::Changed(changes) => self.on_changes(&changes, context),
            // The watch has ended. A read will show the changes that it missed.
            reply => {
                self.watch = None;
                let doing = "watching a key";
                match reply {
                    Reply::Unknown { why } => {
                        self.tell(OwnEvent::Unsure { doing, why }, context.out)
                    }
                    Reply::Refused(refusal) => {
                        self.tell(OwnEvent::Obstacle { doing, refusal }, context.out);
                    }
                    _ => {}
                }
                self.pause(context);
            }
        }
    }

    fn on_changes(&mut self, changes: &[Change], context: &mut CandidateContext<'_>) {
        let Some(watched) = self.watch.as_ref().map(|watch| watch.key.clone()) else { return };
        let gone = changes
            .iter()
            .any(|change| matches!(change, Change::Deleted { key, .. } if *key == watched));
        match self.phase {
            Phase::Queued { .. } if gone => self.on_departure(context),
            Phase::Leading { revision, .. } => self.on_own_changes(revision, changes, context),
            Phase::Over => {
                for change in changes {
                    if let Change::Put(kv) = change {
                        return self.on_late_key(kv.created, kv.lease, context);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_own_changes(
        &mut self,
        revision: Revision,
        changes: &[Change],
        context: &mut CandidateContext<'_>,
    ) {
        let other = |change: &Change| match change {
            Change::Deleted { revision: at, .. } => *at > revision,
            Change::Put(kv) => kv.created != revision,
            Change::TooLarge { .. } => false,
        };
        if changes.iter().any(other) {
            return self.on_key_lost(context);
        }
        // The session may have moved the key since this change, or another process may have moved
        // it to its own lease: a read shows which.
        let elsewhere = |change: &Change| match change {
            Change::Deleted { .. } => false,
            Change::Put(kv) => !context.session.owns(kv.lease),
            Change::TooLarge { .. } => true,
        };
        if changes.iter().any(elsewhere) {
            self.unwatch(context);
            return self.look(context);
        }
        for change in changes {
            if let Change::Put(kv) = change {
                self.check_value(kv, context);
            }
        }
    }

    /// Plans another search for a late key of an earlier create, as long as its lease exists.
    fn sweep_later(&mut self, header: Header, context: &mut CandidateContext<'_>) {
        if self.watch.is_none() {
            let key = self.key(context);
            self.watch(key, header.revision + 1, context);
        }
        self.again = Some(context.now.after(context.length()));
    }

    /// Deletes a key that a create has made after the candidate left: the key would block the
    /// election for ever.
    fn on_late_key(
        &mut self,
        created: Revision,
        lease: Option<LeaseId>,
        context: &mut CandidateContext<'_>,
    ) {
        if self.phase != Phase::Over || !context.session.owns(lease) {
            return;
        }
        let key = self.key(context);
        self.tell(OwnEvent::LateKey { key }, context.out);
        self.drop_call(context);
        self.unwatch(context);
        self.phase = Phase::Leaving { revision: Some(created) };
        self.again = Some(context.now);
        self.run_due(context);
    }

    fn on_refused(&mut self, step: Step, refusal: Refusal, context: &mut CandidateContext<'_>) {
        let is_permanent = refusal.is_permanent();
        let contends = matches!(step, Step::Create | Step::Clear | Step::Look | Step::Wait);
        if is_permanent && contends {
            return self.leave(Objection::Refused(refusal).into(), context);
        }
        // When a write crosses the quota, etcd carries it out and still reports a full store.
        let full = matches!(refusal, Refusal::NoSpace { .. });
        if step == Step::Create && full {
            self.create_unsure();
        }
        self.tell(OwnEvent::Obstacle { doing: step.words(), refusal }, context.out);
        if step == Step::Proclaim {
            self.value.mark_stale();
        }
        self.pause(context);
        if is_permanent && step == Step::Leave {
            // The key goes with its lease, and this candidate no longer needs that lease. Meanwhile
            // the candidate repeats the deletion: permissions may change.
            self.denied = true;
            self.again = self.again.max(Some(context.now.after(context.length() / 3)));
        }
    }
}
