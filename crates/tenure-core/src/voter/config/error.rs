//! The errors of settings that do not work together.

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
    #[error(
        "heartbeat interval is {heartbeat:?}; it must be from {:?} to {:?}",
        Config::HEARTBEAT_MIN,
        Config::HEARTBEAT_MAX
    )]
    Heartbeat { heartbeat: Duration },
    #[error(
        "missed-heartbeat tolerance is {tolerance}; it must be from 1 to {}",
        Config::TOLERANCE_MAX
    )]
    Tolerance { tolerance: u32 },
    #[error(
        "the drift bound is {drift}; it must be at most {}: repair a clock that is further off",
        Config::DRIFT_MAX
    )]
    Drift { drift: Drift },
    #[error(
        "request timeout is {timeout:?}; it must be more than 0 and less than the heartbeat \
         interval, {heartbeat:?}: one region that hangs would delay the next heartbeat"
    )]
    Timeout { timeout: Duration, heartbeat: Duration },
    #[error("{what} is {time:?}; it must be at least {request_timeout:?}, the request timeout")]
    NoTime { what: &'static str, time: Duration, request_timeout: Duration },
    #[error(
        "lease max is {lease_max:?}; a leader of these settings asks for {lease:?}, and must be \
         able to count on more than {needed:?}: lengthen it, or leave it out"
    )]
    LeaseMax { lease_max: Duration, lease: Duration, needed: Duration },
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error(
        "kill margin is {kill_margin:?}; it must be at most grace, {grace:?}: work is asked to \
         stop before it is killed"
    )]
    KillMargin { kill_margin: Duration, grace: Duration },
    #[error(
        "mode majority needs the set of voters it begins with: give the voter list, or seeds and \
         the number of expected voters; mode available does without"
    )]
    NoFounding,
    #[error("{voters} voters are expected, this one included; it must be from 1 to {MEMBERS_MAX}")]
    Voters { voters: usize },
    #[error("the voter list has {id} twice: each voter needs an id of its own")]
    Twice { id: NodeName },
    #[error("room for {voters} known voters; it must be from 1 to {}", Config::VOTERS_MAX)]
    Room { voters: usize },
    #[error("admission is one of: operator (an operator gives votes), auto (the leader does)")]
    Admission,
}

/// A word that names no mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("mode is one of: majority (at most one leader), available (one in each region)")]
pub struct ModeError;

/// A lease that is too short for one of its parts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a leader may count on {:?} of its lease of {:?} (tolerance {tolerance} and 1, times \
     {heartbeat:?}, drift {drift}); {what} = {needed:?} must be {relation} {:?}: {}, or shorten \
     what must fit",
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
    /// The smallest m that is enough, with the other settings as they are.
    pub enough: Option<u32>,
}

/// A span in whole milliseconds, for messages.
fn to_ms(span: Duration) -> Duration {
    let ms = span.saturating_add(Duration::from_micros(500)).as_millis();
    Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// A limit in whole milliseconds, below `needed` if the limit is.
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
