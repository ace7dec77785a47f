//! The rules that settings must keep together, and the texts of modes.

use alloc::boxed::Box;
use core::str::FromStr;

use super::error::{ConfigError, TooShort};
use super::settings::{Config, Limits, Mode};
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
    shape(config)?;
    let Config { takeover, mode, grace, kill_margin, .. } = *config;
    Bounds::at_most("takeover", Config::TAKEOVER_MAX).check(takeover)?;
    let (sum, needed) = config.needed();
    if takeover < needed {
        let short = TooShort { takeover, needed, mode, sum };
        return Err(ConfigError::TooShort(Box::new(short)));
    }
    bounds::kill_margin(grace).check(kill_margin)?;
    let usable = config.usable();
    if usable <= grace.saturating_add(kill_margin) {
        return Err(ConfigError::Grace { takeover, usable, grace, kill_margin });
    }
    Ok(())
}

fn shape(config: &Config) -> Result<(), ConfigError> {
    let bytes = config.election.as_str().len();
    if bytes > Config::ELECTION_MAX {
        return Err(ConfigError::Election { bytes });
    }
    Bounds::between("partitions", 1, Config::PARTITIONS_MAX)
        .because("each process writes to all partitions each interval")
        .check(config.partitions)?;
    Bounds::at_least("publish-interval", Config::INTERVAL_MIN)
        .because("each process writes to each partition at this interval")
        .check(config.publish_interval)?;
    let session = config.session_timeout;
    Bounds::at_least("session-timeout", Config::HEARTBEAT_MIN * 3)
        .because("a member sends three heartbeats in a session")
        .check(session)?;
    Bounds::between("heartbeat-interval", Config::HEARTBEAT_MIN, session / 3)
        .of("a third of the session timeout", &["session-timeout"])
        .because("two heartbeats in a row may be lost")
        .check(config.heartbeat_interval)?;
    Bounds::at_least("max-poll-interval", session)
        .of("the session timeout", &["session-timeout"])
        .because("clients refuse a shorter interval")
        .check(config.max_poll_interval)?;
    bounds::drift(Config::DRIFT_MAX).check(config.drift)?;
    Bounds::at_most("fence-base", Config::FENCE_BASE_MAX)
        .because("each fence adds a leader epoch to it")
        .check(config.fence_base)?;
    let Limits { roles, processes } = config.limits;
    Bounds::between("limit on roles", 1, Limits::ROLES_MAX).check(roles)?;
    Bounds::at_least("limit on processes", 1).check(processes)?;
    Ok(())
}

impl FromStr for Mode {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "at-least-one" => Ok(Self::AtLeastOne),
            "at-most-one" => Ok(Self::AtMostOne),
            _ => Err(ConfigError::Mode),
        }
    }
}
