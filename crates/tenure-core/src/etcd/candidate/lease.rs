//! Consequences for a candidate of changes to the session's leases.

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
        // A queued candidate stays: its key is on the earlier lease, or a create under way puts it
        // there.
        if matches!(self.phase, Phase::Creating { .. }) {
            self.leave(Objection::Refused(refusal).into(), context);
        }
    }

    /// Ends the search for a late key, because the session gives back the lease of that key: the
    /// key goes with its lease.
    pub(in crate::etcd) fn on_lease_left(&mut self, context: &mut CandidateContext<'_>) {
        self.late_on = None;
        if self.phase == Phase::Over {
            self.drop_call(context);
            self.unwatch(context);
            self.again = None;
        }
    }

    /// Queries the queue again, if this candidate was the first and lacked only a proven E.
    pub(in crate::etcd) fn on_proven(&mut self, context: &mut CandidateContext<'_>) {
        let lacked_it = matches!(self.phase, Phase::Queued { first: true, .. });
        if lacked_it && self.call.is_none() {
            self.look(context);
        }
    }

    /// Bases the claim on the new lease, to which the key was moved: no leader of an earlier term
    /// knows this lease.
    pub(in crate::etcd) fn moved(&mut self, home: LeaseId, context: &mut CandidateContext<'_>) {
        self.home = Some(home);
        if matches!(self.call, Some((_, Step::Check | Step::Look | Step::Wait))) {
            // The answer may show the state before the move.
            self.drop_call(context);
            self.again = Some(context.now);
            self.run_due(context);
        }
        let Some(until) = context.session.until(self.home, context.now) else { return };
        self.renew(until, context.now, context.length(), context.out);
        self.on_proven(context);
    }

    /// Ends a leadership whose key is on an earlier lease that has run out.
    pub(in crate::etcd) fn on_old_run_out(&mut self, context: &mut CandidateContext<'_>) {
        let is_over = || context.session.until(self.home, context.now).is_none();
        if self.fence().is_some() && self.home != context.lease() && is_over() {
            self.tell(OwnEvent::Lost(Lost::Expired), context.out);
            self.leave(Lost::Expired.into(), context);
        }
    }

    /// Checks the value of the candidate's key, which a confirmation has found in its place.
    pub(in crate::etcd) fn on_confirmed(
        &mut self,
        own: &KeyValue,
        context: &mut CandidateContext<'_>,
    ) {
        if self.call.is_none() && self.revision() == Some(own.created) {
            self.check_value(own, context);
        }
    }

    /// Writes the leader's value again if the key has another value: etcd may carry out an earlier
    /// proclamation late, over a newer one.
    pub(super) fn check_value(&mut self, own: &KeyValue, context: &mut CandidateContext<'_>) {
        if self.fence().is_none() || !self.value.differs(&own.value) {
            return;
        }
        self.again = Some(self.value.mend(self.again, context.now));
        self.run_due(context);
    }
}
