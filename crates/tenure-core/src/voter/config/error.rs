//! The errors of settings that do not work together.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::settings::{Admission, Mode};
use crate::bounds::{Fault, OutOfRange, SettingsError};
use crate::drift::Drift;
use crate::name::NodeName;
use crate::voter::electorate::MEMBERS_MAX;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    #[error(
        "request timeout is {timeout:?}; it must be more than 0 and less than the heartbeat \
         interval, {heartbeat:?}: otherwise a voter that hangs delays the next heartbeat"
    )]
    Timeout { timeout: Duration, heartbeat: Duration },
    #[error(
        "lease max is {lease_max:?}, and with these settings a leader asks for a lease of \
         {lease:?}. A leader with a lease of lease max needs more than {needed:?} (heartbeat \
         interval + 2 request timeouts) on any clock: lengthen lease max, or remove it"
    )]
    LeaseMax { lease_max: Duration, lease: Duration, needed: Duration },
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error(
        "mode majority needs its first voters: give the voter list, or seeds and the number of \
         expected voters; mode available needs none of these"
    )]
    NoFounding,
    #[error("{voters} voters are expected, with this voter; the number must be 1 to {MEMBERS_MAX}")]
    Voters { voters: usize },
    #[error("the voter list has {id} twice: give each voter an id of its own")]
    Twice { id: NodeName },
    #[error("admission is one of: operator (an operator gives votes), auto (the leader does)")]
    Admission,
}

/// The settings that determine the lease, or that must fit into it.
const OF_LEASE: &[&str] = &[
    "heartbeat-interval",
    "missed-heartbeat-tolerance",
    "request-timeout",
    "grace",
    "kill-margin",
    "drift",
];

impl SettingsError for ConfigError {
    fn fault(&self) -> Fault<'_> {
        Fault::Settings(match self {
            Self::OutOfRange(error) => return Fault::Value(error),
            Self::Timeout { .. } => &["request-timeout", "heartbeat-interval"],
            Self::LeaseMax { .. } => &["lease-max"],
            Self::TooShort(_) => OF_LEASE,
            Self::NoFounding => &["mode", "voter-list", "seed-host", "expected-voters"],
            Self::Voters { .. } => &["voter-list", "expected-voters"],
            Self::Twice { .. } => &["voter-list"],
            Self::Admission => &["admission"],
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("mode is one of: majority (at most one leader), available (one in each region)")]
pub struct ModeError;

/// A lease that is too short for one of its parts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a leader can use {:?} of its lease of {:?}, which is (tolerance {tolerance} + 1) times \
     heartbeat interval {heartbeat:?}, with drift {drift} added. The sum {what} = {needed:?} must \
     be {relation} {:?}: {}, or shorten this sum",
    to_ms(*.counted),
    to_ms(*.lease),
    below(*.needed, *.limit),
    Remedy(*.enough)
)]
pub struct TooShort {
    pub lease: Duration,
    pub counted: Duration,
    pub tolerance: u32,
    pub heartbeat: Duration,
    pub drift: Drift,
    pub what: &'static str,
    pub needed: Duration,
    pub relation: &'static str,
    pub limit: Duration,
    /// The smallest `missed-heartbeat-tolerance` that is enough, with the other settings unchanged.
    pub enough: Option<u32>,
}

/// Rounds a span to whole milliseconds, for messages.
fn to_ms(span: Duration) -> Duration {
    let ms = span.saturating_add(Duration::from_micros(500)).as_millis();
    Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// Rounds a limit to whole milliseconds, unless a limit below `needed` would then look as large as
/// `needed`.
fn below(needed: Duration, limit: Duration) -> Duration {
    let shown = to_ms(limit);
    if shown >= needed && limit < needed { limit } else { shown }
}

/// The remedy: the setting to raise.
struct Remedy(Option<u32>);

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(tolerance) => {
                write!(f, "raise the tolerance to {tolerance}, or the heartbeat interval")
            }
            None => f.write_str("raise the heartbeat interval"),
        }
    }
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "majority" => Ok(Self::Majority),
            "available" => Ok(Self::Available),
            _ => Err(ModeError),
        }
    }
}

impl FromStr for Admission {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "operator" => Ok(Self::Operator),
            "auto" => Ok(Self::Auto),
            _ => Err(ConfigError::Admission),
        }
    }
}
