//! The rules that settings must keep together, and the texts of choices.

use alloc::boxed::Box;
use core::str::FromStr;

use super::error::{ConfigError, TooShort};
use super::settings::{Callers, Config, Limits, OnConflict};
use crate::bounds::{self, Bounds};

/// A [`Config`] that has passed [`Config::check`].
pub type Checked = bounds::Checked<Config>;

impl Config {
    /// Checks the settings together. The error names the conflicting settings and their numbers.
    pub fn check(self) -> Result<Checked, ConfigError> {
        check(&self)?;
        Ok(Checked::new(self))
    }
}

fn check(config: &Config) -> Result<(), ConfigError> {
    let Config { heartbeat, lease, max_clock_skew, drift, grace, kill_margin, .. } = *config;
    if let Some(rank) = config.rank {
        let bounds = Bounds::at_most("rank", Config::RANK_DRAWN - 1);
        bounds.because("a process without a set rank draws a higher number").check(rank)?;
    }
    let bounds = Bounds::between("heartbeat", Config::HEARTBEAT_MIN, Config::HEARTBEAT_MAX);
    bounds.check(heartbeat)?;
    Bounds::at_least("max-clock-skew", Config::SKEW_MIN)
        .because("this is the largest error of any machine's wall clock, and no clock is exact")
        .check(max_clock_skew)?;
    bounds::drift(Config::DRIFT_MAX).check(drift)?;
    Bounds::at_most("lease", Config::LEASE_MAX).check(lease)?;
    let needed = config.lease_needed();
    if lease < needed {
        return Err(ConfigError::LeaseTooShort { lease, heartbeat, max_clock_skew, needed });
    }
    bounds::kill_margin(grace).check(kill_margin)?;
    let held = config.held();
    let usable = config.usable();
    if usable <= grace.saturating_add(kill_margin) {
        let short = TooShort { lease, held, usable, drift, grace, kill_margin };
        return Err(ConfigError::TooShort(Box::new(short)));
    }
    let Limits { elections, participants, claims } = config.limits;
    Bounds::at_least("limit on elections", 1).check(elections)?;
    Bounds::at_least("limit on participants", 1).check(participants)?;
    Bounds::at_least("limit on claims", 1).check(claims)?;
    Ok(())
}

/// The error for a text that names no choice of callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("callers must be all, or few:K with K from 1 to 65535, such as few:3")]
pub struct CallersError;

impl FromStr for OnConflict {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "yield" => Ok(Self::Yield),
            "serve-out" => Ok(Self::ServeOut),
            _ => Err(ConfigError::OnConflict),
        }
    }
}

impl FromStr for Callers {
    type Err = CallersError;

    fn from_str(text: &str) -> Result<Self, CallersError> {
        match text.split_once(':') {
            None if text == "all" => Ok(Self::All),
            Some(("few", few)) => few.parse().map(Self::Few).map_err(|_| CallersError),
            _ => Err(CallersError),
        }
    }
}
