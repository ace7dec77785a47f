//! Which settings do not work together, and why.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::sums::{FENCE_EPOCHS, Sum};
use crate::drift::Drift;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No room for the role in an election's name.
    #[error(
        "the name has {bytes} bytes; at most {} are allowed, as /ROLE comes after it",
        Config::ELECTION_MAX
    )]
    Election {
        /// How long it is.
        bytes: usize,
    },
    /// No partition, or too many.
    #[error(
        "the topic has {partitions} partitions; they must be from 1 to {}: each process writes to \
         all of them each interval",
        Config::PARTITIONS_MAX
    )]
    Partitions {
        /// M.
        partitions: u32,
    },
    /// Records that come too fast.
    #[error(
        "publish interval is {interval:?}; it must be {:?} or more: each process writes to each \
         partition as often",
        Config::INTERVAL_MIN
    )]
    Interval {
        /// The interval.
        interval: Duration,
    },
    /// Members that are taken for dead because a report is late.
    #[error(
        "heartbeat interval is {heartbeat:?}; it must be more than nothing and at most a third of \
         the session timeout, {session:?}: two reports in a row may be lost"
    )]
    Heartbeat {
        /// The interval.
        heartbeat: Duration,
        /// S.
        session: Duration,
    },
    /// R below S.
    #[error(
        "max poll interval is {poll:?}; it must be at least the session timeout, {session:?}: \
         clients refuse less"
    )]
    Poll {
        /// R.
        poll: Duration,
        /// S.
        session: Duration,
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
    /// A leadership that takes too long to wait for.
    #[error("T is {takeover:?}; it must be at most {:?}", Config::TAKEOVER_MAX)]
    TakeoverTooLong {
        /// T.
        takeover: Duration,
    },
    /// A T with which the mode does not keep its promise.
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
    /// Work would be asked to stop though all goes well.
    #[error(
        "T is {takeover:?}: when a record was lost and the next one is read, {usable:?} are left \
         (less 2·publish interval, delivery timeout and fetch wait); that must exceed grace \
         {grace:?} + kill margin {kill_margin:?}: lengthen T, or shorten the grace"
    )]
    Grace {
        /// T.
        takeover: Duration,
        /// [`Config::usable`].
        usable: Duration,
        /// The grace.
        grace: Duration,
        /// The kill margin.
        kill_margin: Duration,
    },
    /// A base without room for any epoch above it.
    #[error(
        "fence base is {base}; it must be below {FENCE_EPOCHS}: leader epochs come on top of it"
    )]
    FenceBase {
        /// The base.
        base: u32,
    },
    /// No room at all, or more than fits into a record.
    #[error("room for {room} {what}: it must be from 1 to {most}")]
    Room {
        /// For what.
        what: &'static str,
        /// How many.
        room: usize,
        /// How many may be.
        most: usize,
    },
    /// Not a known mode.
    #[error(
        "a mode is one of: at-least-one (never none, at times two), at-most-one (never two, at \
         times none)"
    )]
    Mode,
}

/// A T with which a mode does not keep its promise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "T is {takeover:?}; in {mode} it must be {needed:?} or more, {} of {sum} = {:?}{}: lengthen T, \
     or shorten one of these",
    .mode.relation(), .sum.total(), .mode.further()
)]
pub struct TooShort {
    /// T.
    pub takeover: Duration,
    /// The shortest that would do.
    pub needed: Duration,
    /// For which promise.
    pub mode: Mode,
    /// The sum that it must hold.
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
