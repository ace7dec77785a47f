//! A campaign: the lease that this process has granted itself, its renewal, and its end. E is the
//! end of a lease in wall time, H `heartbeat`, L `lease`, K `max_clock_skew`.

use crate::allcall::context::{Context, Me};
use crate::allcall::message::LeaderClaim;
use crate::name::Value;
use crate::time::{Time, WallTime};
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) struct Campaign {
    value: Value,
    pub(in crate::allcall) phase: Phase,
    pub(in crate::allcall) waits: Option<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) enum Phase {
    Waiting,
    /// The process has granted itself a lease, but has not heard its own claim yet.
    Granted {
        lease: Lease,
    },
    Leading {
        lease: Lease,
        /// The next lease, until the process has heard its own claim to that lease.
        renewal: Option<Lease>,
        /// Whether the process has heard of a greater claim in this term, and so does not renew
        /// (ruling 2).
        beaten: bool,
        /// Whether the process has reported that it does not renew, because a better candidate
        /// could lead.
        gives_way: bool,
        published: WallTime,
    },
}

/// A lease that this process granted itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) struct Lease {
    pub(in crate::allcall) term: u64,
    /// E, in wall time.
    pub(in crate::allcall) until: WallTime,
    /// E − K − H on CLOCK_BOOTTIME, fixed at the grant: no step of the wall clock moves it.
    pub(in crate::allcall) ends: Time,
    /// The time at which the renewal is due: when L/2 remains.
    pub(in crate::allcall) renews: Time,
}

/// An ended leadership, while others may not know of its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) struct Release {
    pub(in crate::allcall) term: u64,
    /// The time at which the lease has run out by every clock.
    pub(in crate::allcall) ends: Time,
}

impl Lease {
    /// A lease that begins now, before its claim is sent.
    pub(in crate::allcall) fn new(term: u64, context: &Context<'_>) -> Self {
        let whole = context.config.lease;
        let until = context.now.wall.after(whole);
        let renews = context.boot().after(whole - whole / 2);
        Self { term, until, ends: context.holder_ends(until), renews }
    }
}

impl Phase {
    pub(in crate::allcall) const fn leading(lease: Lease) -> Self {
        let published = lease.until;
        Self::Leading { lease, renewal: None, beaten: false, gives_way: false, published }
    }
}

impl Campaign {
    pub(in crate::allcall) fn new(value: Value) -> Self {
        Self { value, phase: Phase::Waiting, waits: None }
    }

    pub(in crate::allcall) fn ends(&self) -> Option<Time> {
        match &self.phase {
            Phase::Leading { lease, .. } => Some(lease.ends),
            Phase::Waiting | Phase::Granted { .. } => None,
        }
    }

    pub(in crate::allcall) fn is_beaten(&self) -> bool {
        matches!(self.phase, Phase::Leading { beaten: true, .. })
    }

    pub(in crate::allcall) fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }

    /// Whether the process has claimed a lease, but not heard its own claim yet.
    pub(in crate::allcall) fn stands(&self) -> bool {
        matches!(self.phase, Phase::Granted { .. })
    }

    /// Term and latest published E of this process's claim, even if the renewal to that E had no
    /// effect. Others go by the published E, so only this E decides which of two leaders is greater
    /// (ruling 2).
    pub(in crate::allcall) fn claimed(&self) -> Option<(u64, WallTime)> {
        match &self.phase {
            Phase::Waiting => None,
            Phase::Granted { lease } => Some((lease.term, lease.until)),
            Phase::Leading { lease, published, .. } => Some((lease.term, *published)),
        }
    }

    pub(in crate::allcall) fn claim(&self, me: &Me) -> Option<LeaderClaim> {
        let (term, until) = self.claimed()?;
        Some(LeaderClaim {
            leader: me.who.clone(),
            rank: me.rank,
            term,
            until,
            value: self.value.clone(),
        })
    }
}
