//! The errors of settings that do not work together.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::sums::{FENCE_EPOCHS, Sum};
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "the name has {bytes} bytes; at most {} are allowed, as /ROLE comes after it",
        Config::ELECTION_MAX
    )]
    Election { bytes: usize },
    #[error(
        "the topic has {partitions} partitions; they must be from 1 to {}: each process writes to \
         all of them each interval",
        Config::PARTITIONS_MAX
    )]
    Partitions { partitions: u32 },
    #[error(
        "publish interval is {interval:?}; it must be {:?} or more: each process writes to each \
         partition as often",
        Config::INTERVAL_MIN
    )]
    Interval { interval: Duration },
    #[error(
        "heartbeat interval is {heartbeat:?}; it must be more than nothing and at most a third of \
         the session timeout, {session:?}: two reports in a row may be lost"
    )]
    Heartbeat { heartbeat: Duration, session: Duration },
    #[error(
        "max poll interval is {poll:?}; it must be at least the session timeout, {session:?}: \
         clients refuse less"
    )]
    Poll { poll: Duration, session: Duration },
    #[error(
        "the drift bound is {drift}; it must be at most {}: repair a clock that is further off",
        Config::DRIFT_MAX
    )]
    Drift { drift: Drift },
    #[error("T is {takeover:?}; it must be at most {:?}", Config::TAKEOVER_MAX)]
    TakeoverTooLong { takeover: Duration },
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error(
        "kill margin is {kill_margin:?}; it must be at most grace, {grace:?}: work is asked to \
         stop before it is killed"
    )]
    KillMargin { kill_margin: Duration, grace: Duration },
    #[error(
        "T is {takeover:?}: when a record was lost and the next one is read, {usable:?} are left \
         (less 2·publish interval, delivery timeout and fetch wait); that must exceed grace \
         {grace:?} + kill margin {kill_margin:?}: lengthen T, or shorten the grace"
    )]
    Grace { takeover: Duration, usable: Duration, grace: Duration, kill_margin: Duration },
    #[error(
        "fence base is {base}; it must be below {FENCE_EPOCHS}: leader epochs come on top of it"
    )]
    FenceBase { base: u32 },
    #[error("room for {room} {what}: it must be from 1 to {most}")]
    Room { what: &'static str, room: usize, most: usize },
    #[error(
        "a mode is one of: at-least-one (never none, at times two), at-most-one (never two, at \
         times none)"
    )]
    Mode,
}

/// A T that is too short for the promise of a mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "T is {takeover:?}; in {mode} it must be {needed:?} or more, {} of {sum} = {:?}{}: lengthen T, \
     or shorten one of these",
    .mode.relation(), .sum.total(), .mode.further()
)]
pub struct TooShort {
    pub takeover: Duration,
    pub needed: Duration,
    pub mode: Mode,
    pub sum: Sum,
}

impl Mode {
    const fn relation(self) -> &'static str {
        match self {
            Self::AtLeastOne => "more than the sum by any clock",
            Self::AtMostOne => "the sum",
        }
    }

    const fn further(self) -> &'static str {
        match self {
            Self::AtLeastOne => "",
            Self::AtMostOne => ", and two delivery timeouts",
        }
    }
}
