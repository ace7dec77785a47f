//! The rules that settings must keep together.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::error::{ConfigError, TooShort};
use super::settings::{Config, Founding, Mode};
use crate::bounds::{self, Bounds};
use crate::voter::electorate::MEMBERS_MAX;

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
    let Config { heartbeat, tolerance, request_timeout, drift, .. } = *config;
    let most = Config::HEARTBEAT_MAX;
    Bounds::between("heartbeat-interval", Config::HEARTBEAT_MIN, most).check(heartbeat)?;
    let bounds = Bounds::between("missed-heartbeat-tolerance", 1, Config::TOLERANCE_MAX);
    bounds.check(tolerance)?;
    bounds::drift(Config::DRIFT_MAX).check(drift)?;
    if request_timeout.is_zero() || request_timeout >= heartbeat {
        return Err(ConfigError::Timeout { timeout: request_timeout, heartbeat });
    }
    let waits = [("cast-timeout", config.cast_timeout), ("result-timeout", config.result_timeout)];
    for (setting, wait) in waits {
        let bounds = Bounds::at_least(setting, request_timeout);
        bounds.of("the request timeout", &["request-timeout"]).check(wait)?;
    }
    bounds::kill_margin(config.grace).check(config.kill_margin)?;
    Bounds::between("limit on known voters", 1, Config::VOTERS_MAX).check(config.voters)?;
    if config.mode == Mode::Majority {
        check_lease(config)?;
    }
    check_founding(config)
}

/// Refuses a lease that is too short for one of its parts (V6).
fn check_lease(config: &Config) -> Result<(), ConfigError> {
    let (lease, counted) = (config.lease(), config.counted(config.lease()));
    if let Some(UnfitPart { what, needed, relation, limit }) = lacking(config) {
        let Config { tolerance, heartbeat, drift, .. } = *config;
        let does = |tolerance: &u32| {
            lacking(&Config { tolerance: *tolerance, ..config.clone() }).is_none()
        };
        let enough = (tolerance + 1..=Config::TOLERANCE_MAX).find(does);
        return Err(ConfigError::TooShort(Box::new(TooShort {
            lease,
            counted,
            tolerance,
            heartbeat,
            drift,
            what,
            needed,
            relation,
            limit,
            enough,
        })));
    }
    let (lease_max, needed) = (config.lease_max(), renewal(config));
    if config.counted(lease_max) <= needed {
        Err(ConfigError::LeaseMax { lease_max, lease, needed })
    } else {
        Ok(())
    }
}

/// A part that does not fit into the lease, and the remedy.
struct UnfitPart {
    what: &'static str,
    needed: Duration,
    relation: &'static str,
    limit: Duration,
}

/// H + 2t.
const fn renewal(config: &Config) -> Duration {
    config.heartbeat.saturating_add(config.request_timeout.saturating_mul(2))
}

fn lacking(config: &Config) -> Option<UnfitPart> {
    let Config { heartbeat, request_timeout, grace, kill_margin, .. } = *config;
    let counted = config.counted(config.lease());
    let ballot = config.cast_timeout.saturating_add(config.result_timeout);
    let ballot = ballot.saturating_add(request_timeout);
    let stop = grace.saturating_add(kill_margin).saturating_add(heartbeat);
    let stop = stop.saturating_add(request_timeout);
    let (what, needed, relation, limit) = if counted <= renewal(config) {
        let what = "heartbeat interval + 2 request timeouts";
        (what, renewal(config), "less than", counted)
    } else if ballot > counted / 2 {
        let what = "cast timeout + result timeout + request timeout";
        (what, ballot, "at most half of the usable time,", counted / 2)
    } else if stop >= counted {
        let what = "grace + kill margin + heartbeat interval + request timeout";
        (what, stop, "less than", counted)
    } else {
        return None;
    };
    Some(UnfitPart { what, needed, relation, limit })
}

fn check_founding(config: &Config) -> Result<(), ConfigError> {
    let voters = match &config.founding {
        Founding::Anybody if config.mode == Mode::Majority => return Err(ConfigError::NoFounding),
        Founding::Anybody => return Ok(()),
        Founding::Expected(expected) => usize::from(*expected),
        Founding::List(listed) => {
            let mut ids: Vec<_> = listed.iter().map(|listed| &listed.id).collect();
            ids.sort();
            if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(ConfigError::Twice { id: twice[0].clone() });
            }
            ids.iter().filter(|id| ***id != config.id).count() + 1
        }
    };
    if (1..=MEMBERS_MAX).contains(&voters) { Ok(()) } else { Err(ConfigError::Voters { voters }) }
}
