//! The errors of settings that do not work together.

use alloc::boxed::Box;
use core::time::Duration;

use crate::bounds::{Fault, OutOfRange, SettingsError};
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    #[error(
        "lease is {lease:?}; with heartbeat {heartbeat:?} and max clock skew {max_clock_skew:?} it \
         must be at least 2·(3·{heartbeat:?} + 2·{max_clock_skew:?}) = {needed:?}: lengthen the \
         lease, or shorten heartbeat or max clock skew"
    )]
    LeaseTooShort {
        lease: Duration,
        heartbeat: Duration,
        max_clock_skew: Duration,
        needed: Duration,
    },
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error("on conflict a leader does one of: yield (stop at once), serve-out (do not renew)")]
    OnConflict,
}

impl SettingsError for ConfigError {
    fn fault(&self) -> Fault<'_> {
        Fault::Settings(match self {
            Self::OutOfRange(error) => return Fault::Value(error),
            Self::LeaseTooShort { .. } => &["lease", "heartbeat", "max-clock-skew"],
            Self::TooShort(_) => {
                &["lease", "heartbeat", "max-clock-skew", "grace", "kill-margin", "drift"]
            }
            Self::OnConflict => &["on-conflict"],
        })
    }
}

/// Between a renewal and the end of the lease there is too little time to stop the work.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "lease {lease:?} is too short: when a renewal takes effect, a leader has {usable:?} left, and \
     needs more than grace {grace:?} + kill margin {kill_margin:?}. The time left is {held:?} \
     (lease − max clock skew − heartbeat) minus (lease/2 + 3/2·heartbeat), with drift {drift}. \
     Lengthen the lease, or shorten the grace"
)]
pub struct TooShort {
    pub lease: Duration,
    pub held: Duration,
    pub usable: Duration,
    pub drift: Drift,
    pub grace: Duration,
    pub kill_margin: Duration,
}
