//! The rules that settings must keep together, and the texts of modes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Deref;
use core::str::FromStr;

use super::error::{ConfigError, TooShort};
use super::settings::{Config, Limits, Mode};
use super::sums::FENCE_EPOCHS;

/// A [`Config`] that [`Config::check`] has let pass. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Checked(Arc<Config>);

impl Deref for Checked {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.0
    }
}

impl Config {
    /// Checks the settings together. The error names those that do not fit, with the numbers.
    pub fn check(self) -> Result<Checked, ConfigError> {
        check(&self)?;
        Ok(Checked(Arc::new(self)))
    }
}

fn check(config: &Config) -> Result<(), ConfigError> {
    shape(config)?;
    let Config { takeover, mode, grace, kill_margin, .. } = *config;
    if takeover > Config::TAKEOVER_MAX {
        return Err(ConfigError::TakeoverTooLong { takeover });
    }
    let (sum, needed) = config.needed();
    if takeover < needed {
        let short = TooShort { takeover, needed, mode, sum };
        return Err(ConfigError::TooShort(Box::new(short)));
    }
    if kill_margin > grace {
        return Err(ConfigError::KillMargin { kill_margin, grace });
    }
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
    let partitions = config.partitions;
    if !(1..=Config::PARTITIONS_MAX).contains(&partitions) {
        return Err(ConfigError::Partitions { partitions });
    }
    let interval = config.publish_interval;
    if interval < Config::INTERVAL_MIN {
        return Err(ConfigError::Interval { interval });
    }
    let heartbeat = config.heartbeat_interval;
    let session = config.session_timeout;
    if heartbeat.is_zero() || heartbeat.saturating_mul(3) > session {
        return Err(ConfigError::Heartbeat { heartbeat, session });
    }
    let poll = config.max_poll_interval;
    if poll < session {
        return Err(ConfigError::Poll { poll, session });
    }
    let drift = config.drift;
    if drift > Config::DRIFT_MAX {
        return Err(ConfigError::Drift { drift });
    }
    let base = config.fence_base;
    if u64::from(base) >= FENCE_EPOCHS {
        return Err(ConfigError::FenceBase { base });
    }
    let Limits { roles, processes } = config.limits;
    let rooms = [("roles", roles, Limits::ROLES_MAX), ("processes", processes, usize::MAX)];
    match rooms.into_iter().find(|(_, room, most)| !(1..=*most).contains(room)) {
        Some((what, room, most)) => Err(ConfigError::Room { what, room, most }),
        None => Ok(()),
    }
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
