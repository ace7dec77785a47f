//! The errors of settings that do not work together.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::Config;
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "rank is {rank}; it must be below {}: ranks from there on are drawn",
        Config::RANK_DRAWN
    )]
    Rank { rank: u64 },
    #[error(
        "heartbeat is {heartbeat:?}; it must be from {:?} to {:?}",
        Config::HEARTBEAT_MIN,
        Config::HEARTBEAT_MAX
    )]
    Heartbeat { heartbeat: Duration },
    #[error(
        "max clock skew is {max_clock_skew:?}; it must be {:?} or more: it bounds how far any \
         machine's wall clock is from true time",
        Config::SKEW_MIN
    )]
    Skew { max_clock_skew: Duration },
    #[error(
        "the drift bound is {drift}; it must be at most {}: repair a clock that is further off",
        Config::DRIFT_MAX
    )]
    Drift { drift: Drift },
    #[error("lease is {lease:?}; it must be at most {:?}", Config::LEASE_MAX)]
    LeaseTooLong { lease: Duration },
    #[error(
        "lease is {lease:?}; with heartbeat {heartbeat:?} and max clock skew {max_clock_skew:?} it \
         must be at least 2·(3·{heartbeat:?} + 2·{max_clock_skew:?}) = {needed:?}: lengthen the \
         lease, or shorten one of the others"
    )]
    LeaseTooShort {
        lease: Duration,
        heartbeat: Duration,
        max_clock_skew: Duration,
        needed: Duration,
    },
    #[error(
        "kill margin is {kill_margin:?}; it must be at most grace, {grace:?}: work is asked to \
         stop before it is killed"
    )]
    KillMargin { kill_margin: Duration, grace: Duration },
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error("room for no {what} at all: at least 1 is needed")]
    NoRoom { what: &'static str },
    #[error("on conflict a leader does one of: yield (stop at once), serve-out (do not renew)")]
    OnConflict,
}

/// Too little time from a renewal until the work is asked to stop.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "lease {lease:?} is too short: when a renewal takes effect {usable:?} are left of the handle \
     (L − K − H = {held:?} less L/2 + 3/2·H, drift {drift}); that must exceed grace {grace:?} + \
     kill margin {kill_margin:?}: lengthen the lease, or shorten the grace"
)]
pub struct TooShort {
    pub lease: Duration,
    pub held: Duration,
    pub usable: Duration,
    pub drift: Drift,
    pub grace: Duration,
    pub kill_margin: Duration,
}
