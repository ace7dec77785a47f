//! Leases of a session: the current one, those of earlier terms, and one that was handed in. E is
//! the end of a lease on this process's clock.

use alloc::vec::Vec;
use core::time::Duration;

use crate::draw::Draw;
use crate::etcd::calls::Calls;
use crate::etcd::context::Context;
use crate::etcd::key::LeaseId;
use crate::etcd::message::{CallId, Op, Revision};
use crate::name::ElectionName;
use crate::time::Time;

/// The lease on which candidates make keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct Lease {
    pub(in crate::etcd) id: LeaseId,
    /// The granted length, in seconds.
    pub(in crate::etcd) ttl: u32,
    /// The term of etcd's leader in which the lease was requested; renewals count only in this
    /// term. A leader of an earlier term may revoke late, but only leases that it knew (ruling 14,
    /// E3b).
    pub(in crate::etcd) term: u64,
    /// E, proven by a grant or by a keep-alive that a read of a key has confirmed. `None` before
    /// the first proof, and while no claim depends on the lease.
    pub(in crate::etcd) proven: Option<Time>,
    /// E according to the last keep-alive, confirmed or not: no claim depends on this E.
    pub(in crate::etcd) promised: Time,
    pub(in crate::etcd) renewal: Renewal,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) enum Renewal {
    Idle {
        until: Time,
        /// The last keep-alive, if there was no key to confirm it.
        bare: Option<Alive>,
    },
    KeepAliveSent {
        call: CallId,
        sent: Time,
    },
    Confirming {
        call: CallId,
        alive: Alive,
        asked: Vec<(ElectionName, Revision)>,
        /// The index of the key that the transaction deletes if it does not exist.
        witness: usize,
    },
}

/// An answered keep-alive. E is measured from its send (ruling 3, E2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct Alive {
    pub(in crate::etcd) sent: Time,
    /// The TTL in the answer, in seconds.
    pub(in crate::etcd) ttl: u32,
    pub(in crate::etcd) term: u64,
}

/// A lease of an earlier term. The session no longer renews it, and its E does not move.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct OldLease {
    pub(in crate::etcd) id: LeaseId,
    pub(in crate::etcd) ttl: u32,
    pub(in crate::etcd) proven: Option<Time>,
}

/// A lease that was handed in: keys have its id in their names, but are on other leases. The
/// session renews this lease while there are candidates, and ends with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct GivenLease {
    pub(in crate::etcd) lease: LeaseId,
    pub(in crate::etcd) ttl: u32,
    pub(in crate::etcd) call: Option<CallId>,
    /// The time of the next keep-alive, while no call is open.
    pub(super) again: Time,
}

/// The number of draws of each kind, so that each draw has its own number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::etcd) struct Draws {
    leases: u64,
    renewals: u64,
}

impl Lease {
    pub(in crate::etcd) fn run_due(&mut self, context: &mut Context<'_>) {
        if let Renewal::Idle { until, .. } = self.renewal
            && until <= context.now
        {
            let within = context.config.patience(self.ttl);
            let call = context.ask(within, Op::KeepAlive { lease: self.id });
            self.renewal = Renewal::KeepAliveSent { call, sent: context.now };
        }
    }
}

impl Renewal {
    /// An answered keep-alive, for which no transaction was sent yet.
    pub(super) fn answered(alive: Alive) -> Self {
        Self::Confirming { call: CallId::default(), alive, asked: Vec::new(), witness: 0 }
    }

    pub(super) fn forget_call(&self, calls: &mut Calls) {
        if let Self::KeepAliveSent { call, .. } | Self::Confirming { call, .. } = self {
            calls.forget(*call);
        }
    }
}

impl GivenLease {
    pub(in crate::etcd) fn new(lease: LeaseId, context: &Context<'_>) -> Self {
        Self { lease, ttl: context.config.ttl(), call: None, again: context.now }
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.call.is_none().then_some(self.again)
    }

    pub(in crate::etcd) fn run_due(&mut self, context: &mut Context<'_>) {
        if self.call.is_none() && self.again <= context.now {
            let within = context.config.patience(self.ttl.min(context.config.ttl()));
            self.call = Some(context.ask(within, Op::KeepAlive { lease: self.lease }));
        }
    }

    /// Plans the next check of the lease that was handed in. The check comes within a third of the
    /// session's lease of `ttl` seconds, so that a revocation is noticed in time.
    pub(in crate::etcd) fn look_within_third_of(&mut self, ttl: u32, now: Time) {
        self.again = self.again.min(now.after(third(ttl)));
    }
}

impl Draws {
    /// Draws an id in [1, 2⁶³ − 1]: Go would print other numbers with a sign (ruling 6).
    pub(in crate::etcd) fn lease_id(&mut self, draw: Draw) -> LeaseId {
        self.leases += 1;
        let number = draw.number("session", "lease", self.leases);
        LeaseId((number >> 1).max(1).cast_signed())
    }

    /// Draws the interval of keep-alives: a third of the lease, less a random part, so that
    /// processes that started together do not renew together.
    pub(super) fn renewal_interval(&mut self, ttl: u32, draw: Draw) -> Duration {
        self.renewals += 1;
        let third = third(ttl);
        third.saturating_sub(draw.span(third / 8, "session", "renewal", self.renewals))
    }
}

pub(super) fn third(ttl: u32) -> Duration {
    Duration::from_secs(u64::from(ttl)) / 3
}
