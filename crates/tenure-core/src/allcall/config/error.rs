//! Which settings do not work together, and why.

use alloc::boxed::Box;
use core::time::Duration;

#[cfg(doc)]
use super::settings::Config;
use crate::bounds::{Fault, OutOfRange, SettingsError};
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A setting beyond its bounds.
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
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
    /// Work would be asked to stop before a renewal can have taken effect.
    #[error(transparent)]
    TooShort(Box<TooShort>),
    /// Not a known answer to a conflict.
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
