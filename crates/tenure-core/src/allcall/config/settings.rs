//! The settings of a participant, and the times that follow from them. H is `heartbeat`, L `lease`,
//! K `max_clock_skew`.

use core::fmt;
use core::num::NonZeroU16;
use core::time::Duration;

use crate::allcall::message::Times;
use crate::drift::Drift;
use crate::name::{ClusterName, NodeName};

/// The settings of one process that takes part in elections on a bus.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::allcall::Config;
///
/// let config = Config::new("prod".parse().unwrap(), "web-1".parse().unwrap()).check()?;
/// // A leader's handle ends K + H before its lease, and the lease L after its grant.
/// assert_eq!(config.held(), Duration::from_secs(8));
/// # Ok::<(), tenure_core::allcall::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The name of the cluster, in subjects and packets: it keeps clusters on one bus apart.
    pub cluster: ClusterName,
    /// This process's name in views and logs, unique among processes that run at the same time. Two
    /// processes with the same name are still two participants.
    pub id: NodeName,
    /// The rank: the participant with the lowest rank is preferred as leader, and 128 random bits
    /// decide between equal ranks. Must be below [`Config::RANK_DRAWN`], so that a configured rank
    /// comes before all drawn ones. Default: drawn when the process starts.
    pub rank: Option<u64>,
    /// H, the interval of a participant's calls, from [`Config::HEARTBEAT_MIN`] to
    /// [`Config::HEARTBEAT_MAX`]. Rounds are void if a message takes H/2 or more. A short H fills a
    /// vacancy sooner; a long H needs fewer messages. Default 1 s.
    pub heartbeat: Duration,
    /// L, the length of a lease, at most [`Config::LEASE_MAX`] and at least `2·(3H + 2K)`. The
    /// second half of a lease must have room for two attempts to renew, and for the stop at H + K
    /// before the end. A short L is a fast take-over after a crash. With a long L leaders survive
    /// longer interruptions, but two leaders overlap for longer with `serve-out`. Default 10 s.
    pub lease: Duration,
    /// K, the maximum distance of any machine's wall clock from true time, at least
    /// [`Config::SKEW_MIN`]. Two clocks may differ by 2K. If K is too small, two leaders may
    /// overlap at a change. If K is larger than necessary, a leader stops that much earlier, and
    /// others wait that much longer for a dead leader. NTP holds a few milliseconds; the default
    /// leaves room for machines that have just resumed. Default 1 s.
    pub max_clock_skew: Duration,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME, at most [`Config::DRIFT_MAX`]. Drift
    /// shortens a lease at its holder and lengthens it at the others. Default 10⁻³, twice the rate
    /// at which Linux slews a clock.
    pub drift: Drift,
    /// The behaviour of a leader that hears of a better leader. Default: it yields.
    pub on_conflict: OnConflict,
    /// Whether a participant that does not lead waits L + K after a round in which it did not hear
    /// its own call. Such a participant may have missed a claim. Without this wait, a participant
    /// that was cut off for a moment may lead beside another leader until they hear each other.
    /// Default true.
    pub rejoin_wait: bool,
    /// The participants that call. Default: all.
    pub callers: Callers,
    /// Span before the end of a handle's claim: when the span begins, the leader's work is asked to
    /// stop. Default 1 s.
    pub grace: Duration,
    /// Span before the end of a handle's claim, at most `grace`: when the span begins, the leader's
    /// work is killed. Default 100 ms.
    pub kill_margin: Duration,
    pub limits: Limits,
}

/// The behaviour of a leader that hears a greater claim first-hand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum OnConflict {
    /// The leader stops at once: after a partition heals, there are two leaders for at most a
    /// heartbeat and a message's delay.
    #[default]
    Yield,
    /// The leader serves its lease out, and does not renew. Its work is not interrupted, but after
    /// a partition heals there are two leaders for up to a lease.
    ServeOut,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Callers {
    /// All participants call, as in the text: N calls and N² deliveries per heartbeat.
    #[default]
    All,
    /// The leader calls, and so does each candidate that is about to stand. Another participant
    /// calls if it has heard fewer than this number of better callers in the last three heartbeats.
    /// If the number is two or three, one caller may be lost without a gap.
    Few(NonZeroU16),
}

/// Bounds on the memory of a process, for any input. Each is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The maximum number of elections in which a process takes part or that it observes. Each call
    /// lists all of them. Default 4,096.
    pub elections: usize,
    /// The maximum number of other participants that a process remembers, in the cluster and in
    /// each election. Further participants do not count as present. Default 1,024.
    pub participants: usize,
    /// The maximum number of leaders that a process remembers of each election, and the maximum
    /// number of tombstones. Default 16.
    pub claims: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { elections: 4_096, participants: 1_024, claims: 16 }
    }
}

impl Config {
    /// Drawn ranks begin at this number, and stay below twice this number.
    pub const RANK_DRAWN: u64 = 1 << 32;
    /// The shortest heartbeat: below it, delays of the scheduler would make rounds void.
    pub const HEARTBEAT_MIN: Duration = Duration::from_millis(20);
    pub const HEARTBEAT_MAX: Duration = Duration::from_secs(600);
    /// The smallest K: no machine's clock is right to the nanosecond.
    pub const SKEW_MIN: Duration = Duration::from_millis(1);
    pub const LEASE_MAX: Duration = Duration::from_secs(86_400);
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(10_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a hundredth is below one"),
    };

    /// The defaults.
    #[must_use]
    pub fn new(cluster: ClusterName, id: NodeName) -> Self {
        Self {
            cluster,
            id,
            rank: None,
            heartbeat: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            max_clock_skew: Duration::from_secs(1),
            drift: Drift::DEFAULT,
            on_conflict: OnConflict::default(),
            rejoin_wait: true,
            callers: Callers::default(),
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            limits: Limits::default(),
        }
    }

    /// The shortest lease for these times: `2·(3H + 2K)`.
    #[must_use]
    pub fn lease_needed(&self) -> Duration {
        let beats = self.heartbeat.saturating_mul(3);
        beats.saturating_add(self.max_clock_skew.saturating_mul(2)).saturating_mul(2)
    }

    /// The span of a handle's claim after a grant or a renewal, by a right wall clock: `L − K − H`.
    /// Without another renewal the leader stops at the end of this span.
    #[must_use]
    pub const fn held(&self) -> Duration {
        self.lease.saturating_sub(self.max_clock_skew.saturating_add(self.heartbeat))
    }

    /// The shortest time that is left of [`held`](Self::held) when the first attempt to renew takes
    /// effect. The leader renews at the first heartbeat when L/2 or less remains, and hears its
    /// claim within H/2.
    #[must_use]
    pub fn usable(&self) -> Duration {
        let renewed =
            (self.lease - self.lease / 2).saturating_add(self.heartbeat.saturating_mul(3) / 2);
        self.drift.shrink(self.held()).saturating_sub(renewed)
    }

    /// The times, as packets carry them.
    #[must_use]
    pub const fn times(&self) -> Times {
        let Self { heartbeat, lease, max_clock_skew, .. } = *self;
        Times { heartbeat, lease, max_clock_skew }
    }
}

impl fmt::Display for OnConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yield => "yield",
            Self::ServeOut => "serve-out",
        })
    }
}

impl fmt::Display for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Few(few) => write!(f, "few:{few}"),
        }
    }
}
