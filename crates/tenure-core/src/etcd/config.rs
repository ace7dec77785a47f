//! The settings of a participant, checked before anything starts.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use super::message::Revision;
use crate::backoff::Backoff;
use crate::bounds::{Bounds, Fault, OutOfRange, SettingsError};
use crate::drift::Drift;
use crate::fence::Fence;
use crate::timing::{LeaseBounds, LeaseTiming, TimingError};

/// Create revisions stay below this number, so that the epoch fits above them in a fence.
pub const REVISION_END: Revision = 1 << 48;

/// Pauses after failures.
pub const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

/// The settings of one process that takes part in elections on etcd. Only `namespace` and
/// `fence_epoch` must be the same for all participants of an election.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::etcd::Config;
///
/// let config = Config { lease: Duration::from_secs(20), ..Config::default() }.check()?;
/// assert_eq!(config.proven(20), Duration::from_nanos(19_960_039_960));
/// # Ok::<(), tenure_core::etcd::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The prefix of all keys, as in `clientv3/namespace`; it usually ends in a slash. At most 256
    /// bytes without control characters. Default: empty.
    pub namespace: String,
    /// The length of the lease to ask for, in whole seconds (etcd has no others), from 1 s to a
    /// day. If etcd grants a longer lease, the longer one is used. A short lease is a fast
    /// take-over after a crash; with a long lease the leader survives longer interruptions. A third
    /// of the lease, `grace` and `kill_margin` must fit into it. Default 10 s.
    pub lease: Duration,
    /// ρ, the bound on the rate error of clocks, on this machine and on etcd's servers; at most
    /// [`Config::DRIFT_MAX`]. Default 10⁻³, twice the rate at which Linux slews a clock.
    pub drift: Drift,
    /// The epoch of fences: a fence is `fence_epoch · 2⁴⁸ + create revision`. A restore of etcd
    /// from a backup sets revisions back; an operator then raises the epoch (ruling 8, E7). Default
    /// 0.
    pub fence_epoch: u16,
    /// Span before the end of a leader's lease: when the span begins, the leader's work is asked to
    /// stop. Default 1 s.
    pub grace: Duration,
    /// Span before the end of a leader's lease, at most `grace`: when the span begins, the leader's
    /// work is killed. Default 100 ms.
    pub kill_margin: Duration,
    /// Whether a candidate goes on with a new lease if it loses its lease before it has won.
    /// Default true.
    pub contend_again: bool,
    /// The maximum number of elections in which a process campaigns, and the maximum number of
    /// elections that the process observes. At least 1. Default 65,536.
    pub elections: usize,
}

impl Config {
    /// The largest allowed ρ.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(100_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a tenth is below one"),
    };
    pub const LEASE_MIN: Duration = Duration::from_secs(1);
    pub const LEASE_MAX: Duration = Duration::from_secs(86_400);
    pub const NAMESPACE_MAX: usize = 256;

    /// Checks the settings together. The error names the conflicting settings and their numbers.
    pub fn check(self) -> Result<Checked, ConfigError> {
        if self.namespace.len() > Self::NAMESPACE_MAX || self.namespace.contains(char::is_control) {
            let bytes = self.namespace.len();
            return Err(ConfigError::Namespace { bytes, max: Self::NAMESPACE_MAX });
        }
        if self.lease.subsec_nanos() != 0 {
            return Err(ConfigError::NotWholeSeconds { lease: self.lease });
        }
        Bounds::at_least("limit on elections", 1).check(self.elections)?;
        let Self { lease, drift, grace, kill_margin, .. } = self;
        let bounds = LeaseBounds {
            shortest: Self::LEASE_MIN,
            longest: Self::LEASE_MAX,
            step: Duration::from_secs(1),
            drift: Self::DRIFT_MAX,
            round_trips: (0, Duration::ZERO),
        };
        let timing = LeaseTiming { lease, drift, grace, kill_margin };
        timing.check(&bounds, |lease| proven(drift, lease).saturating_sub(lease / 3))?;
        Ok(Checked::new(self))
    }
}

fn proven(drift: Drift, lease: Duration) -> Duration {
    drift.shrink(drift.real_at_least(lease))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            lease: Duration::from_secs(10),
            drift: Drift::DEFAULT,
            fence_epoch: 0,
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            contend_again: true,
            elections: 65_536,
        }
    }
}

/// A [`Config`] that has passed [`Config::check`].
pub type Checked = crate::bounds::Checked<Config>;

impl Checked {
    /// The length of the lease to ask for, in seconds.
    #[must_use]
    pub fn ttl(&self) -> u32 {
        u32::try_from(self.lease.as_secs()).unwrap_or(u32::MAX)
    }

    /// The certain length of a lease on this machine's clock, counted from the send of the
    /// keep-alive (ruling 3, E2): `⌊TTL·(1 − ρ)/(1 + ρ)⌋` for a TTL in seconds. The server's clock
    /// may run fast while this machine's clock runs slow.
    #[must_use]
    pub fn proven(&self, ttl: u32) -> Duration {
        proven(self.drift, Duration::from_secs(u64::from(ttl)))
    }

    /// The longest wait for the answer to a call. Without a quorum etcd answers only after 7 to 10
    /// s.
    pub(super) fn patience(&self, ttl: u32) -> Duration {
        let quarter = Duration::from_secs(u64::from(ttl)) / 4;
        quarter.clamp(Duration::from_millis(250), Duration::from_secs(5))
    }

    /// The fence of a leader whose key has this create revision; `None` if the revision is too
    /// large.
    pub(super) fn fence(&self, revision: Revision) -> Option<Fence> {
        let epoch = u64::from(self.fence_epoch) * REVISION_END;
        (revision < REVISION_END).then(|| Fence::new(epoch + revision))
    }
}

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "the namespace has {bytes} bytes; it may have at most {max}, and no control characters"
    )]
    Namespace { bytes: usize, max: usize },
    #[error("lease is {lease:?}; it must be whole seconds, because etcd grants no other leases")]
    NotWholeSeconds { lease: Duration },
    #[error(transparent)]
    Timing(#[from] TimingError),
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
}

impl SettingsError for ConfigError {
    fn fault(&self) -> Fault<'_> {
        match self {
            Self::Namespace { .. } => Fault::Settings(&["namespace"]),
            Self::NotWholeSeconds { .. } => Fault::Settings(&["lease"]),
            Self::Timing(error) => error.fault(),
            Self::OutOfRange(error) => Fault::Value(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn check(change: impl FnOnce(&mut Config)) -> Result<(), String> {
        let mut config = Config::default();
        change(&mut config);
        config.check().map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn bounds_pass_inclusively() {
        check(|config| config.namespace = "x".repeat(256)).unwrap();
        let refused = check(|config| config.namespace = "x".repeat(257)).unwrap_err();
        assert!(refused.contains("257") && refused.contains("256"), "{refused}");
        check(|config| config.namespace = "x\n".into()).unwrap_err();

        check(|config| config.drift = "0.1".parse().unwrap()).unwrap();
        let refused = check(|config| config.drift = "0.100000001".parse().unwrap()).unwrap_err();
        assert!(refused.contains("at most 0.1"), "{refused}");

        check(|config| config.lease = 86_400 * SECOND).unwrap();
        check(|config| config.lease = 86_401 * SECOND).unwrap_err();
        check(|config| config.lease = SECOND * 5 / 2).unwrap_err();
        check(|config| config.lease = Duration::ZERO).unwrap_err();

        check(|config| config.kill_margin = config.grace).unwrap();
        check(|config| config.grace = config.kill_margin - Duration::from_nanos(1)).unwrap_err();
        check(|config| config.elections = 0).unwrap_err();
    }

    /// Grace, kill margin and a third of the lease must fit into the proven lease.
    #[test]
    fn renewal_fits_into_lease() {
        let room = |lease: u32| {
            let lease = lease * SECOND;
            check(|config| (config.lease, config.grace) = (lease, SECOND * 19 / 10))
        };
        room(4).unwrap();
        let refused = room(3).unwrap_err();
        assert!(refused.starts_with("lease 3s is too short"), "{refused}");
    }
}
