//! Changes to the leases of a session, as they concern a candidate.

use super::{Candidate, CandidateContext, Phase, Step};
use crate::etcd::event::{Lost, Objection, OwnEvent};
use crate::etcd::key::LeaseId;
use crate::etcd::message::{KeyValue, Refusal};

impl Candidate {
    pub(in crate::etcd) fn wake(&mut self, context: &mut CandidateContext<'_>) {
        if matches!(self.phase, Phase::Creating { .. }) && self.call.is_none() {
            self.again = Some(context.now);
            self.run_due(context);
        }
    }

    pub(in crate::etcd) fn on_lease_refused(
        &mut self,
        refusal: Refusal,
        context: &mut CandidateContext<'_>,
    ) {
        // A key may be on its way all the same, on the lease of the term before.
        if matches!(self.phase, Phase::Creating { .. }) {
            self.leave(Objection::Refused(refusal).into(), context);
        }
    }

    /// The session gives back the lease on which etcd may still carry out a create: a key that
    /// appears goes with that lease.
    pub(in crate::etcd) fn on_lease_left(&mut self, context: &mut CandidateContext<'_>) {
        self.late_on = None;
        if self.phase == Phase::Over {
            self.drop_call(context);
            self.unwatch(context);
            self.again = None;
        }
    }

    /// E is proven. A candidate that was the first, and lacked only the proof, looks again.
    pub(in crate::etcd) fn on_proven(&mut self, context: &mut CandidateContext<'_>) {
        let lacked_it = matches!(self.phase, Phase::Queued { first: true, .. });
        if lacked_it && self.call.is_none() {
            self.look(context);
        }
    }

    /// The own key is on this lease now, and the claim counts from it: no leader of an earlier term
    /// knows that lease.
    pub(in crate::etcd) fn moved(&mut self, home: LeaseId, context: &mut CandidateContext<'_>) {
        self.home = Some(home);
        if matches!(self.call, Some((_, Step::Check | Step::Look | Step::Wait))) {
            // The answer may be from before the move.
            self.drop_call(context);
            self.again = Some(context.now);
            self.run_due(context);
        }
        let Some(until) = context.session.until(self.home, context.now) else { return };
        self.renew(until, context.now, context.length(), context.out);
        self.on_proven(context);
    }

    /// A lease of an earlier term has run out. A leader whose key is on it is over.
    pub(in crate::etcd) fn on_old_run_out(&mut self, context: &mut CandidateContext<'_>) {
        let is_over = || context.session.until(self.home, context.now).is_none();
        if self.fence().is_some() && self.home != context.lease() && is_over() {
            self.tell(OwnEvent::Lost(Lost::Expired), context.out);
            self.leave(Lost::Expired.into(), context);
        }
    }

    /// A confirmation has found the own key in place, but perhaps with another value.
    pub(in crate::etcd) fn on_confirmed(
        &mut self,
        own: &KeyValue,
        context: &mut CandidateContext<'_>,
    ) {
        if self.call.is_none() && self.revision() == Some(own.created) {
            self.check_value(own, context);
        }
    }

    /// A leader writes its value anew where the key has another one: etcd may carry out a
    /// proclamation of unknown outcome late, over a newer one.
    pub(super) fn check_value(&mut self, own: &KeyValue, context: &mut CandidateContext<'_>) {
        if self.fence().is_none() || !self.value.differs(&own.value) {
            return;
        }
        self.again = Some(self.value.mend(self.again, context.now));
        self.run_due(context);
    }
}
