//! The errors of settings that do not work together.

use alloc::boxed::Box;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::sums::Sum;
use crate::bounds::{Fault, OutOfRange, SettingsError};

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "the election's name has {bytes} bytes; at most {} are allowed, because /ROLE follows",
        Config::ELECTION_MAX
    )]
    Election { bytes: usize },
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    #[error(transparent)]
    TooShort(Box<TooShort>),
    #[error(
        "takeover {takeover:?} is too short: a leader that loses one record has only {usable:?} \
         left at its next record (takeover − 2·publish interval − delivery timeout − fetch wait). \
         A leader needs more than grace {grace:?} + kill margin {kill_margin:?}. Lengthen \
         takeover, or shorten grace"
    )]
    Grace { takeover: Duration, usable: Duration, grace: Duration, kill_margin: Duration },
    #[error(
        "a mode is one of: at-least-one (keeps a leader, at times two), at-most-one (never two \
         leaders, at times none)"
    )]
    Mode,
}

/// The settings on which the smallest allowed T (`takeover`) depends in `at_least_one`.
const OF_HANDOVER: &[&str] = &[
    "takeover",
    "mode",
    "session-timeout",
    "heartbeat-interval",
    "max-poll-interval",
    "publish-interval",
];

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

/// T (`takeover`) is too short for the promise of a mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "takeover is {takeover:?}; mode {mode} needs at least {needed:?}, {} {sum} = {:?}{}: lengthen \
     takeover, or shorten one of these",
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
            Self::AtLeastOne => "which is this sum with drift added:",
            Self::AtMostOne => "the larger of",
        }
    }

    const fn further(self) -> &'static str {
        match self {
            Self::AtLeastOne => "",
            Self::AtMostOne => " and two delivery timeouts",
        }
    }
}
