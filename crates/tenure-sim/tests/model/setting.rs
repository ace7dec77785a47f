//! What a configuration of the model allows to happen.

use std::ops::Range;
use std::time::Duration;

use tenure_core::nerio::{Checked, Config, Member};

use crate::clock::Rate;
use crate::node::{GRANTORS, NAMES, address};

/// How often each thing may happen on one way through the states. Everything not counted here
/// may happen in any order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Messages and timers that are not handled within the tick in which they could be. A
    /// message that is late arrives at any later time, or never: loss is included.
    pub late: u8,
    /// Troubles, that is everything below but campaigns, that come while messages of the same
    /// tick are on their way.
    pub hasty: u8,
    /// Requests of which a second copy goes on its way, to arrive late or never.
    pub repeated_requests: u8,
    /// The same of releases.
    pub repeated_releases: u8,
    /// Campaigns of each candidate, p first.
    pub campaigns: [u8; 2],
    /// Resignations of leaders.
    pub resigns: u8,
    /// Campaigns given up before they were won.
    pub withdrawals: u8,
    /// Candidates that stop, and go on later or never.
    pub pauses: u8,
    /// Candidates that begin another life.
    pub rebirths: u8,
    /// Grantors whose process starts again.
    pub crashes: u8,
    /// Grantors whose machine starts again.
    pub reboots: u8,
    /// Grantors whose state directory is lost.
    pub losses: u8,
}

impl Budget {
    /// Nothing happens at all.
    pub const NONE: Self = Self {
        late: 0,
        hasty: 0,
        repeated_requests: 0,
        repeated_releases: 0,
        campaigns: [0, 0],
        resigns: 0,
        withdrawals: 0,
        pauses: 0,
        rebirths: 0,
        crashes: 0,
        reboots: 0,
        losses: 0,
    };
}

/// One configuration of the model.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: &'static str,
    /// True time from one instant of the model to the next.
    pub tick: Duration,
    /// How many ticks there are.
    pub horizon: u8,
    /// The clocks of grantors and of candidates.
    pub rates: (Rate, Rate),
    /// Whether grantors may change places.
    pub alike: bool,
    /// The grantors that start again.
    pub struck: Range<usize>,
    pub budget: Budget,
    /// What has to be seen, or the exploration proves nothing.
    pub must_show: &'static [&'static str],
}

/// The lease, of the first and of all others, and the quarantine, in real time.
pub const LEASE: Duration = Duration::from_secs(1);

/// ρ at its largest, and a lease that every timer of the protocol is within a tick or two of.
pub fn config() -> Checked {
    let member = |n: usize| Member { name: NAMES[n].parse().unwrap(), address: address(n) };
    let mut config = Config::new("model".parse().unwrap(), GRANTORS.map(member).collect());
    config.drift = Config::DRIFT_MAX;
    config.lease = LEASE;
    config.delta_max = LEASE;
    config.verify_max = LEASE;
    config.refresh = Duration::from_millis(330);
    config.round_trip = Duration::from_millis(1);
    config.grace = Duration::from_millis(1);
    config.kill_margin = Duration::from_millis(1);
    config.check().unwrap()
}
