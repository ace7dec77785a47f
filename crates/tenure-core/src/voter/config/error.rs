//! Which settings do not work together, and why.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::settings::{Admission, Config, Mode};
use crate::drift::Drift;
use crate::name::NodeName;
use crate::voter::electorate::MEMBERS_MAX;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A heartbeat out of bounds.
    #[error(
        "heartbeat interval is {heartbeat:?}; it must be from {:?} to {:?}",
        Config::HEARTBEAT_MIN,
        Config::HEARTBEAT_MAX
    )]
    Heartbeat {
        /// H.
        heartbeat: Duration,
    },
    /// No heartbeat may be missed, or too many.
    #[error(
        "missed-heartbeat tolerance is {tolerance}; it must be from 1 to {}",
        Config::TOLERANCE_MAX
    )]
    Tolerance {
        /// m.
        tolerance: u32,
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
    /// A wait that ends before an answer may come.
    #[error("{what} is {time:?}; it must be at least {request_timeout:?}, the request timeout")]
    NoTime {
        /// Which.
        what: &'static str,
        /// How long.
        time: Duration,
        /// t.
        request_timeout: Duration,
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
    /// No room.
    #[error("room for {voters} known voters; it must be from 1 to {}", Config::VOTERS_MAX)]
    Room {
        /// As configured.
        voters: usize,
    },
    /// Not a known way to admit voters.
    #[error("admission is one of: operator (an operator gives votes), auto (the leader does)")]
    Admission,
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
