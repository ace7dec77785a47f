//! Which settings do not work together, and why.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::Config;
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A configured rank among the drawn ones.
    #[error(
        "rank is {rank}; it must be below {}: ranks from there on are drawn",
        Config::RANK_DRAWN
    )]
    Rank {
        /// The rank.
        rank: u64,
    },
    /// A heartbeat out of bounds.
    #[error(
        "heartbeat is {heartbeat:?}; it must be from {:?} to {:?}",
        Config::HEARTBEAT_MIN,
        Config::HEARTBEAT_MAX
    )]
    Heartbeat {
        /// The heartbeat.
        heartbeat: Duration,
    },
    /// A bound on clocks that no machine keeps.
    #[error(
        "max clock skew is {max_clock_skew:?}; it must be {:?} or more: it bounds how far any \
         machine's wall clock is from true time",
        Config::SKEW_MIN
    )]
    Skew {
        /// The bound.
        max_clock_skew: Duration,
    },
    /// ρ so large that the clocks are of no use.
    #[error(
        "the drift bound is {drift}; it must be at most {}: repair a clock that is further off",
        Config::DRIFT_MAX
    )]
    Drift {
        /// ρ.
        drift: Drift,
    },
    /// A lease that takes too long to wait for.
    #[error("lease is {lease:?}; it must be at most {:?}", Config::LEASE_MAX)]
    LeaseTooLong {
        /// The lease.
        lease: Duration,
    },
    /// Not `L ≥ 2·(3H + 2K)`.
    #[error(
        "lease is {lease:?}; with heartbeat {heartbeat:?} and max clock skew {max_clock_skew:?} it \
         must be at least 2·(3·{heartbeat:?} + 2·{max_clock_skew:?}) = {needed:?}: lengthen the \
         lease, or shorten one of the others"
    )]
    LeaseTooShort {
        /// L.
        lease: Duration,
        /// H.
        heartbeat: Duration,
        /// K.
        max_clock_skew: Duration,
        /// The shortest that would do.
        needed: Duration,
    },
    /// Work would be killed before it is asked to stop.
    #[error(
        "kill margin is {kill_margin:?}; it must be at most grace, {grace:?}: work is asked to \
         stop before it is killed"
    )]
    KillMargin {
        /// The margin.
        kill_margin: Duration,
        /// The grace.
        grace: Duration,
    },
    /// Work would be asked to stop before a renewal can have taken effect.
    #[error(transparent)]
    TooShort(Box<TooShort>),
    /// A limit of zero.
    #[error("room for no {what} at all: at least 1 is needed")]
    NoRoom {
        /// For what.
        what: &'static str,
    },
    /// Not a known answer to a conflict.
    #[error("on conflict a leader does one of: yield (stop at once), serve-out (do not renew)")]
    OnConflict,
}

/// Too little time between a renewal and the moment at which the work is asked to stop.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "lease {lease:?} is too short: when a renewal takes effect {usable:?} are left of the handle \
     (L − K − H = {held:?} less L/2 + 3/2·H, drift {drift}); that must exceed grace {grace:?} + \
     kill margin {kill_margin:?}: lengthen the lease, or shorten the grace"
)]
pub struct TooShort {
    /// L.
    pub lease: Duration,
    /// [`Config::held`].
    pub held: Duration,
    /// [`Config::usable`].
    pub usable: Duration,
    /// ρ.
    pub drift: Drift,
    /// The grace.
    pub grace: Duration,
    /// The kill margin.
    pub kill_margin: Duration,
}
