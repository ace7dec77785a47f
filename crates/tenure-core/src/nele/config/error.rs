//! Which settings do not work together, and why.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::sums::Sum;
use crate::bounds::{Fault, OutOfRange, SettingsError};

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
    /// A setting beyond its bounds.
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    /// A T with which the mode does not keep its promise.
    #[error(transparent)]
    TooShort(Box<TooShort>),
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
    /// Not a known mode.
    #[error(
        "a mode is one of: at-least-one (never none, at times two), at-most-one (never two, at \
         times none)"
    )]
    Mode,
}

/// The settings that T follows from in `at_least_one`.
const OF_HANDOVER: &[&str] =
    &["takeover", "mode", "session-timeout", "max-poll-interval", "publish-interval"];

impl SettingsError for ConfigError {
    fn fault(&self) -> Fault<'_> {
        Fault::Settings(match self {
            Self::Election { .. } => &["election"],
            Self::OutOfRange(error) => return Fault::Value(error),
            Self::TooShort(short) => match short.mode {
                Mode::AtLeastOne => OF_HANDOVER,
                Mode::AtMostOne => &["takeover", "mode", "publish-interval"],
            },
            Self::Grace { .. } => &["takeover", "publish-interval", "grace", "kill-margin"],
            Self::Mode => &["mode"],
        })
    }
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
