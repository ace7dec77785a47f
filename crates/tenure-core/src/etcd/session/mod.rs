//! The leases that carry the elections of a process, from request to revocation.
//!
//! [`recipe.rs`](super::recipe) says when a session asks for a lease, and how renewals prove the
//! lease. Each file uses only files further to the left:
//!
//! ```text
//! own_keys < outcome, context < lease, grant, retired < move_rounds < mod < moves, answer
//! ```

mod answer;
mod context;
mod grant;
mod lease;
mod move_rounds;
mod moves;
mod outcome;
mod own_keys;
mod retired;

use alloc::vec::Vec;

pub(super) use self::grant::Grant;
pub(super) use self::lease::{Alive, GivenLease, Lease, Renewal};
use self::lease::{Draws, OldLease, third};
use self::move_rounds::Shift;
pub(super) use self::outcome::{MoveReport, SessionEvent};
pub(super) use self::own_keys::{FoundKey, OwnKey, PlacedKey};
use self::retired::RetiredLeases;
use super::config::BACKOFF;
use super::context::Context;
use super::key::{Bytes, LeaseId};
use super::message::{CallId, Refusal};
use super::timer::Timer;
use crate::backoff::Backoff;
use crate::name::ElectionName;
use crate::time::{Deadline, Time};

/// etcd's default limit of operations in one transaction.
const OPERATIONS_MAX: usize = 128;

/// The lease of one process, if there is one, and its former leases.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Session {
    pub(super) phase: SessionPhase,
    /// The lease in the names of keys: the first lease of this session, or the lease that was
    /// handed in.
    pub(super) name: Option<LeaseId>,
    /// A lease that was handed in, before its first use.
    pub(super) handed_in: Option<LeaseId>,
    /// An election with readable keys, and the prefix to read for the term.
    pub(super) probe: Option<(ElectionName, Bytes)>,
    /// The lease that was handed in, from its first use on.
    pub(super) given: Option<GivenLease>,
    /// The request for a lease of the next term.
    pub(super) next: Option<Grant>,
    pub(super) old: Vec<OldLease>,
    shift: Shift,
    pub(super) retired: RetiredLeases,
    pub(super) draws: Draws,
    pub(super) transactions: Transactions,
    pub(super) failures: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum SessionPhase {
    #[default]
    Idle,
    /// A keep-alive asks whether the lease that was handed in exists.
    Checking,
    /// Reads establish a term, in which etcd will grant a lease.
    Establishing {
        call: Option<CallId>,
        /// The time of the next read, while no call is open.
        again: Time,
    },
    Granting(Grant),
    Open(Lease),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Transactions {
    /// The maximum number of operations that etcd accepts, once it has refused more.
    operations: Option<usize>,
    /// The election whose key was the last in a confirmation.
    pub(super) last: Option<ElectionName>,
}

impl Transactions {
    /// The maximum number of comparisons, and the maximum number of operations in each branch.
    fn operations(&self) -> usize {
        self.operations.unwrap_or(OPERATIONS_MAX)
    }

    /// Notes a refusal of a transaction with `asked` operations. Returns whether the next
    /// transaction will have fewer.
    fn takes_fewer(&mut self, refusal: &Refusal, asked: usize) -> bool {
        let too_many = matches!(refusal, Refusal::TooManyOperations { .. });
        let fewer = too_many && asked > 1;
        if fewer {
            self.operations = Some(asked / 2);
        }
        fewer
    }
}

impl Session {
    pub(super) fn new(handed_in: Option<LeaseId>) -> Self {
        Self { handed_in, ..Self::default() }
    }

    pub(super) const fn lease(&self) -> Option<&Lease> {
        match &self.phase {
            SessionPhase::Open(lease) => Some(lease),
            _ => None,
        }
    }

    pub(super) const fn name(&self) -> Option<LeaseId> {
        self.name
    }

    /// Whether the names of keys have the id of a lease that was handed in. An earlier process with
    /// that lease may have made keys of these names.
    pub(super) const fn is_given(&self) -> bool {
        self.given.is_some()
    }

    pub(super) fn owns(&self, lease: Option<LeaseId>) -> bool {
        let current = self.lease().map(|lease| lease.id);
        let given = self.given.as_ref().map(|given| given.lease);
        lease.is_some()
            && (lease == current
                || lease == given
                || self.old.iter().any(|old| lease == Some(old.id)))
    }

    /// The end of the lease that carries a key, if that end is proven and after `now`.
    pub(super) fn until(&self, home: Option<LeaseId>, now: Time) -> Option<Time> {
        let current = self.lease()?;
        let proven = if home == Some(current.id) {
            current.proven
        } else {
            self.old.iter().find(|old| home == Some(old.id))?.proven
        };
        proven.filter(|until| now < *until)
    }

    pub(super) fn operations(&self) -> usize {
        self.transactions.operations()
    }

    pub(super) const fn cursor(&self) -> Option<&ElectionName> {
        self.transactions.last.as_ref()
    }

    /// Whether the last keep-alive waits for a key to confirm it.
    pub(super) const fn is_unconfirmed(&self) -> bool {
        matches!(
            self.phase,
            SessionPhase::Open(Lease { renewal: Renewal::Idle { bare: Some(_), .. }, .. })
        )
    }

    /// Keeps a keep-alive for the first key that can confirm it.
    pub(super) fn keep_bare(&mut self, alive: Alive) {
        if let SessionPhase::Open(Lease { renewal: Renewal::Idle { bare, .. }, .. }) =
            &mut self.phase
        {
            *bare = Some(alive);
        }
    }

    /// Moves the key of this election before the rest of the round, because its candidate leads
    /// now.
    pub(super) fn moves_first(&mut self, election: &ElectionName) {
        self.shift.move_first(election);
    }

    /// Makes the next keep-alive due now, unless a renewal is under way.
    pub(super) fn hurry(&mut self, now: Time) {
        if let SessionPhase::Open(Lease { renewal: Renewal::Idle { until, .. }, .. }) =
            &mut self.phase
        {
            *until = now.min(*until);
        }
    }

    /// Hurries the renewal, because etcd has reported that a key's lease is gone. If the end of the
    /// lease is not proven, no claim depends on the lease, and this report ends it.
    pub(super) fn doubt(&mut self, lease: Option<LeaseId>, now: Time) {
        self.hurry(now);
        if let SessionPhase::Open(open) = &mut self.phase
            && lease == Some(open.id)
            && open.proven.is_none()
        {
            open.promised = now;
        }
    }

    fn end(&self) -> Option<Time> {
        self.lease().map(|lease| lease.proven.unwrap_or(lease.promised))
    }

    /// Whether the lease has run out at `now`. The node asks before each input, so that no late
    /// answer revives a lease.
    pub(super) fn has_run_out(&self, now: Time) -> bool {
        self.end().is_some_and(|end| end <= now)
    }

    /// Whether a lease of an earlier term has run out since the last call.
    pub(super) fn has_old_run_out(&mut self, now: Time) -> bool {
        let mut any = false;
        for old in &mut self.old {
            if old.proven.is_some_and(|proven| proven <= now) {
                old.proven = None;
                any = true;
            }
        }
        any
    }

    /// Plans the next keep-alive: a third of the TTL after the last one, or sooner after a failure.
    pub(super) fn rest(&mut self, failed: bool, context: &Context<'_>) {
        let failures = if failed { self.failures.saturating_add(1) } else { 0 };
        self.failures = failures;
        let SessionPhase::Open(Lease { ttl, renewal, .. }) = &self.phase else { return };
        let ttl = *ttl;
        let renewal = renewal.clone();
        let until = match renewal {
            _ if failed => {
                let backoff = Backoff { longest: third(ttl), ..BACKOFF };
                context.now.after(context.pause(failures, backoff, "renewal"))
            }
            Renewal::KeepAliveSent { sent, .. }
            | Renewal::Confirming { alive: Alive { sent, .. }, .. } => {
                sent.after(self.draws.renewal_interval(ttl, context.draw))
            }
            Renewal::Idle { until, .. } => until,
        };
        let SessionPhase::Open(Lease { renewal, .. }) = &mut self.phase else { return };
        *renewal = Renewal::Idle { until: until.max(context.now), bare: None };
    }

    /// Retires all leases of the session: no candidate needs them, or they are over.
    /// [`Session::run_due`] revokes them once all claims are lowered; their keys go with them. The
    /// revocation of a lease whose grant is under way waits for the grant's answer: the revocation
    /// could arrive first, and find no lease.
    pub(super) fn retire(&mut self, context: &mut Context<'_>) -> Option<LeaseId> {
        let name = self.name.take();
        for old in core::mem::take(&mut self.old) {
            self.retired.give_back(old.id, old.ttl, context);
        }
        if let Some(next) = self.next.take() {
            self.retired.give_up(next, context);
        }
        self.shift.reset(context.calls);
        if let Some(GivenLease { lease, ttl, call, .. }) = self.given.take() {
            call.into_iter().for_each(|call| context.calls.forget(call));
            self.retired.give_back(lease, ttl, context);
        }
        let lease = match core::mem::take(&mut self.phase) {
            SessionPhase::Idle => return None,
            SessionPhase::Checking => name,
            SessionPhase::Establishing { call, .. } => {
                call.into_iter().for_each(|call| context.calls.forget(call));
                name
            }
            SessionPhase::Granting(grant) => {
                let lease = grant.lease;
                self.retired.give_up(grant, context);
                Some(lease)
            }
            SessionPhase::Open(lease) => {
                lease.renewal.forget_call(context.calls);
                self.retired.give_back(lease.id, lease.ttl, context);
                Some(lease.id)
            }
        };
        self.failures = 0;
        // Establish a term anew for the next lease: etcd may have another leader then.
        context.calls.term = None;
        lease
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.phase, SessionPhase::Idle) && self.retired.is_empty()
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        let end = || Some(Timer::LeaseEnd.at(self.end()?));
        let own = match &self.phase {
            SessionPhase::Idle | SessionPhase::Checking => None,
            SessionPhase::Establishing { call, again } => {
                (call.is_none() && self.probe.is_some()).then_some(Timer::Establish.at(*again))
            }
            SessionPhase::Granting(grant) => grant.due().map(|at| Timer::Establish.at(at)),
            SessionPhase::Open(Lease { renewal: Renewal::Idle { until, .. }, .. }) => {
                Deadline::first(end(), Some(Timer::Renewal.at(*until)))
            }
            SessionPhase::Open(_) => end(),
        };
        let next = self.next.as_ref().and_then(Grant::due).map(|at| Timer::NewTerm.at(at));
        let given = self.given.as_ref().and_then(GivenLease::due);
        let given = given.map(|at| Timer::GivenLease.at(at));
        let old = self.old.iter().filter_map(|old| old.proven).min();
        let old = old.map(|at| Timer::LeaseEnd.at(at));
        let shift = self.shift.due().map(|at| Timer::NewTerm.at(at));
        let retired = self.retired.due().map(|at| Timer::Revoke.at(at));
        [own, next, given, old, shift, retired].into_iter().fold(None, Deadline::first)
    }
}
