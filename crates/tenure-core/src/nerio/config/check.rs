//! The rules by which settings must fit together.

use alloc::sync::Arc;
use core::ops::Deref;
use core::time::Duration;

use super::super::epoch::{Document, Membership};
use super::super::quorum::Quorums;
use super::super::ring::RingConfig;
use super::{Config, ConfigError, Limits};
use crate::bounds::{Bounds, NANOSECOND};
use crate::timing::{LeaseBounds, LeaseTiming, TimingError};

/// A [`Config`] that [`Config::check`] has accepted, and from which a node is built. Cheap to
/// clone; reads like the `Config` and cannot be changed any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Checked(Arc<Inner>);

#[derive(PartialEq, Eq, Hash, Debug)]
struct Inner {
    config: Config,
    membership: Arc<Membership>,
}

impl Checked {
    /// The settings that all nodes must share, as 64 bits: cluster, names of the members, quorum
    /// system and ρ. The digest depends neither on the order of the members list nor on the version
    /// of Rust or the machine. The digest finds mistakes, not forgers.
    ///
    /// The module document says why each part is included and the others are not.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0.membership.id().digest
    }

    /// These settings with another lease, which is no shorter than a checked lease: every rule
    /// holds for a longer lease, too.
    pub(in crate::nerio) fn with_other_lease(&self, lease: Duration) -> Self {
        let config = Config { lease, ..self.0.config.clone() };
        Self(Arc::new(Inner { config, membership: Arc::clone(&self.0.membership) }))
    }

    /// The membership of epoch 0: `members` and `quorums` of these settings, in the order of the
    /// names.
    #[must_use]
    pub fn membership(&self) -> &Arc<Membership> {
        &self.0.membership
    }
}

impl Deref for Checked {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.0.config
    }
}

impl Config {
    /// Accepts settings that work together, or reports the first broken rule, with the numbers and
    /// a remedy.
    pub fn check(self) -> Result<Checked, ConfigError> {
        self.check_members()?;
        self.check_leases()?;
        self.check_timers()?;
        self.check_ring()?;
        self.check_limits()?;
        let document = Document::of_line(&self);
        let quorums = Quorums::of_document(document.quorums.as_str(), &document.names())?;
        let membership = Membership::new(document, quorums);
        Ok(Checked(Arc::new(Inner { config: self, membership: Arc::new(membership) })))
    }

    fn check_members(&self) -> Result<(), ConfigError> {
        let (count, max) = (self.members.len(), Self::MEMBERS_MAX);
        if count == 0 {
            return Err(ConfigError::NoMembers);
        }
        if count > max {
            return Err(ConfigError::TooManyMembers { count, max });
        }
        for (nth, member) in self.members.iter().enumerate() {
            if !member.address.is_one_process() {
                let (name, address) = (member.name.clone(), member.address.clone());
                return Err(ConfigError::Unreachable { name, address });
            }
            for earlier in &self.members[..nth] {
                if earlier.name == member.name {
                    return Err(ConfigError::DuplicateName {
                        name: member.name.clone(),
                        first: earlier.address.clone(),
                        second: member.address.clone(),
                    });
                }
                if earlier.address.is(&member.address) {
                    return Err(ConfigError::DuplicateAddress {
                        first: earlier.name.clone(),
                        second: member.name.clone(),
                        address: member.address.clone(),
                    });
                }
            }
        }
        let expected = self.quorums.members();
        if expected != count {
            return Err(ConfigError::QuorumMembers { expected, found: count });
        }
        Ok(())
    }

    fn check_leases(&self) -> Result<(), ConfigError> {
        self.check_lease(self.round_trip)?;
        let delta_max = Bounds::between("lease-max", Self::LEASE_MIN, Self::DELTA_MAX_MAX);
        delta_max.check(self.delta_max)?;
        Bounds::at_most("verify-max", Self::DELTA_MAX_MAX).check(self.verify_max)?;
        if let Some(skew) = self.clock_skew_max {
            Bounds::between("clock-skew-max", Self::SKEW_MIN, Self::SKEW_MAX)
                .because("clocks that are further apart are not synchronized")
                .check(skew)?;
        }
        Ok(())
    }

    /// Checks whether the lease leaves room for four round trips of this length.
    pub(in crate::nerio) fn check_lease(&self, round_trip: Duration) -> Result<(), TimingError> {
        self.timing().check(&Self::lease_bounds(round_trip), |lease| self.usable_of(lease))
    }

    /// The shortest lease with room for four round trips of this length.
    pub(in crate::nerio) fn shortest_lease(&self, round_trip: Duration) -> Option<Duration> {
        self.timing().shortest(&Self::lease_bounds(round_trip), |lease| self.usable_of(lease))
    }

    const fn timing(&self) -> LeaseTiming {
        let Self { lease, drift, grace, kill_margin, .. } = *self;
        LeaseTiming { lease, drift, grace, kill_margin }
    }

    const fn lease_bounds(round_trip: Duration) -> LeaseBounds {
        LeaseBounds {
            shortest: Self::LEASE_MIN,
            longest: Self::DELTA_MAX_MAX,
            step: Duration::from_millis(1),
            drift: Self::DRIFT_MAX,
            round_trips: (4, round_trip),
        }
    }

    fn check_timers(&self) -> Result<(), ConfigError> {
        let trips = self.round_trip.saturating_mul(2);
        Bounds::at_least("refresh", trips.max(NANOSECOND))
            .of("two round trips", &["round-trip"])
            .because("an answer must arrive before the question is repeated")
            .check(self.refresh)?;
        // `first_needed` is at most the lease if and only if this bound holds.
        Bounds::at_most("refresh", self.lease.saturating_sub(trips) / 3)
            .of("a third of the lease less two round trips", &["lease", "round-trip"])
            .because("the first lease must outlast a dead candidate")
            .check(self.refresh)?;
        Ok(())
    }

    fn check_ring(&self) -> Result<(), ConfigError> {
        let Some(ring) = self.ring else { return Ok(()) };
        let trips = self.round_trip.saturating_mul(8);
        Bounds::at_least("ring-silence", trips.max(NANOSECOND * 4))
            .of("eight round trips", &["round-trip"])
            .because("several questions are answered before a member counts as failed")
            .check(ring.silence)?;
        Bounds::at_most("ring-silence", RingConfig::SILENCE_MAX).check(ring.silence)?;
        Ok(())
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let Limits { elections, parked, watermarks, names } = self.limits;
        Bounds::at_least("limit on elections", 1).check(elections)?;
        Bounds::at_least("limit on parked requests", 1).check(parked)?;
        Bounds::at_least("limit on watermarks", 1).check(watermarks)?;
        Bounds::at_least("limit on names", 1).check(names)?;
        Ok(())
    }
}
