//! Which settings do not work together, and why.

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
    /// A setting beyond its bounds.
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    /// An answer would be waited for beyond the next heartbeat.
    #[error(
        "request timeout is {timeout:?}; it must be more than 0 and less than the heartbeat \
         interval, {heartbeat:?}: one region that hangs would delay the next heartbeat"
    )]
    Timeout {
        /// t.
        timeout: Duration,
        /// H.
        heartbeat: Duration,
    },
    /// A promise too short for any leader.
    #[error(
        "lease max is {lease_max:?}; a leader of these settings asks for {lease:?}, and must be \
         able to count on more than {needed:?}: lengthen it, or leave it out"
    )]
    LeaseMax {
        /// As configured.
        lease_max: Duration,
        /// L.
        lease: Duration,
        /// H + 2t.
        needed: Duration,
    },
    /// Too short a lease for what must fit into it.
    #[error(transparent)]
    TooShort(Box<TooShort>),
    /// `majority` without a set of voters to begin with.
    #[error(
        "mode majority needs the set of voters it begins with: give the voter list, or seeds and \
         the number of expected voters; mode available does without"
    )]
    NoFounding,
    /// A set of voters that is none.
    #[error("{voters} voters are expected, this one included; it must be from 1 to {MEMBERS_MAX}")]
    Voters {
        /// How many.
        voters: usize,
    },
    /// One id for two voters.
    #[error("the voter list has {id} twice: each voter needs an id of its own")]
    Twice {
        /// The id.
        id: NodeName,
    },
    /// Not a known way to admit voters.
    #[error("admission is one of: operator (an operator gives votes), auto (the leader does)")]
    Admission,
}

/// The settings of which each bounds the lease, or must fit into it.
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

/// Not a known mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("mode is one of: majority (at most one leader), available (one in each region)")]
pub struct ModeError;

/// A lease into which something does not fit, with what makes it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a leader may count on {:?} of its lease of {:?} (tolerance {tolerance} and 1, times \
     {heartbeat:?}, drift {drift}); {what} = {needed:?} must be {relation} {:?}: {}, or shorten \
     what must fit",
    to_ms(*.counted),
    to_ms(*.lease),
    below(*.needed, *.limit),
    Enough(*.enough)
)]
pub struct TooShort {
    /// L.
    pub lease: Duration,
    /// D(L).
    pub counted: Duration,
    /// m.
    pub tolerance: u32,
    /// H.
    pub heartbeat: Duration,
    /// ρ.
    pub drift: Drift,
    /// What must fit.
    pub what: &'static str,
    /// How long that is.
    pub needed: Duration,
    /// How it is compared.
    pub relation: &'static str,
    /// With what.
    pub limit: Duration,
    /// The smallest m that would do with the rest as it is, if one does.
    pub enough: Option<u32>,
}

/// As people read it.
fn to_ms(span: Duration) -> Duration {
    let ms = span.saturating_add(Duration::from_micros(500)).as_millis();
    Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// A limit as people read it, and less than what does not fit if it is.
fn below(needed: Duration, limit: Duration) -> Duration {
    let shown = to_ms(limit);
    if shown >= needed && limit < needed { limit } else { shown }
}

/// What to raise.
struct Enough(Option<u32>);

impl fmt::Display for Enough {
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
