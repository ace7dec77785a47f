//! The settings of a voter, and the times that follow from them. H is `heartbeat`, m `tolerance`, t
//! `request_timeout`, L the lease.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::Deserialize;

use crate::drift::Drift;
use crate::name::{ElectionName, NodeName};
use crate::voter::identity::VoterUrl;

/// The settings of one voter.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::voter::{Config, Founding};
///
/// let mut config = Config::new(
///     "billing".parse().unwrap(),
///     "one".parse().unwrap(),
///     "http://127.0.0.1:7001".parse().unwrap(),
/// );
/// config.founding = Founding::Expected(3);
/// let config = config.check()?;
/// // A leader counts on (3 + 1) heartbeats by the slowest clock.
/// assert!(config.lease() > Duration::from_secs(4));
/// assert!(config.counted(config.lease()) <= Duration::from_secs(4) + Duration::from_nanos(2));
/// # Ok::<(), tenure_core::voter::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The election. A network elects one leader, and refuses requests for another election.
    pub election: ElectionName,
    /// `voter-id`: this voter's name, unique in its network. A UUID fits.
    pub id: NodeName,
    /// `voter-url`: the address under which others call this voter.
    pub url: VoterUrl,
    pub mode: Mode,
    pub founding: Founding,
    /// H, `heartbeat-interval`, from [`Config::HEARTBEAT_MIN`] to [`Config::HEARTBEAT_MAX`]. A
    /// short H replaces a lost leader sooner. A long H needs fewer requests: N² for each H. Default
    /// 1 s.
    pub heartbeat: Duration,
    /// m, `missed-heartbeat-tolerance`, from 1 to [`Config::TOLERANCE_MAX`]: the number of
    /// heartbeats in a row that may be missed. The lease follows from m and H: [`Config::lease`].
    /// Default 3.
    pub tolerance: u32,
    /// t, the longest wait for an answer, below H, so that a region that hangs delays no other
    /// region. Must exceed the slowest round trip; the time to open a connection is not included.
    /// Default 300 ms.
    pub request_timeout: Duration,
    /// The longest wait for votes, before a voter counts those that have arrived. At least 2t, so
    /// that the vote of a slow region is not left out. Default 600 ms.
    pub cast_timeout: Duration,
    /// The time after the cast timeout at which a ballot without a leader ends. Default 600 ms.
    pub result_timeout: Duration,
    /// The longest random delay before a voter starts an election, so that voters do not start
    /// together. Default 500 ms.
    pub spread: Duration,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME; at most [`Config::DRIFT_MAX`]. Default
    /// 10⁻³.
    pub drift: Drift,
    /// The longest promise that this voter gives; `None` stands for its own
    /// [`lease`](Config::lease). A leader that asks for more gets `lease_max`. After a restart a
    /// voter is silent for its longest promise ever.
    pub lease_max: Option<Duration>,
    pub admission: Admission,
    /// The time for which a dropped voter is searched for. Default 10 min.
    pub forget_after: Duration,
    /// Span before the end of a leader's lease: when the span begins, the leader's work is asked to
    /// stop. Default 1 s.
    pub grace: Duration,
    /// Span before the end of a leader's lease, at most `grace`: when the span begins, the leader's
    /// work is killed. Default 100 ms.
    pub kill_margin: Duration,
    /// The maximum number of voters that are known at a time; from 1 to [`Config::VOTERS_MAX`].
    /// Default 128.
    pub voters: usize,
}

/// The promise of a network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// At most one leader at any instant, with a fence.
    #[default]
    Majority,
    /// At most one leader among voters that can reach each other. Voters that cannot reach each
    /// other may have several leaders. No fence.
    Available,
}

/// The first set of voters (V2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Founding {
    /// `voter-list`: these voters, and this one.
    List(Vec<Listed>),
    /// `expected-voters`, together with seeds: the number of voters, this one included.
    Expected(u16),
    /// Any voters that answer: `available` only.
    Anybody,
}

/// A voter of a `voter-list`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
pub struct Listed {
    #[serde(rename = "voterId")]
    pub id: NodeName,
    #[serde(rename = "voterUrl")]
    pub url: VoterUrl,
}

/// The rule by which a known voter gets a vote (V9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Admission {
    #[default]
    Operator,
    Auto,
}

impl Config {
    /// The shortest heartbeat. With a shorter one, a delay of the scheduler would count as a dead
    /// leader.
    pub const HEARTBEAT_MIN: Duration = Duration::from_millis(20);
    pub const HEARTBEAT_MAX: Duration = Duration::from_secs(3_600);
    pub const TOLERANCE_MAX: u32 = 1_000;
    pub const VOTERS_MAX: usize = 256;
    /// The largest ρ.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(100_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a tenth is below one"),
    };

    /// The defaults of `majority`. The founding must still be set.
    #[must_use]
    pub fn new(election: ElectionName, id: NodeName, url: VoterUrl) -> Self {
        Self {
            election,
            id,
            url,
            mode: Mode::default(),
            founding: Founding::Anybody,
            heartbeat: Duration::from_secs(1),
            tolerance: 3,
            request_timeout: Duration::from_millis(300),
            cast_timeout: Duration::from_millis(600),
            result_timeout: Duration::from_millis(600),
            spread: Duration::from_millis(500),
            drift: Drift::DEFAULT,
            lease_max: None,
            admission: Admission::default(),
            forget_after: Duration::from_secs(600),
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            voters: 128,
        }
    }

    /// L, the promise that a leader asks for: `⌈(m + 1)·H·(1 + ρ)/(1 − ρ)⌉`.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.drift.real_at_most(self.drift.stretch(self.silence()))
    }

    /// The longest silence of a leader: `(m + 1)·H`.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.heartbeat.saturating_mul(self.tolerance.saturating_add(1))
    }

    /// The longest promise that this voter gives.
    #[must_use]
    pub fn lease_max(&self) -> Duration {
        self.lease_max.unwrap_or_else(|| self.lease())
    }

    /// The part of a promise p that its receiver may use, on its own clock, if both voters have the
    /// same ρ: `D(p) = ⌊p·(1 − ρ)/(1 + ρ)⌋`.
    #[must_use]
    pub fn counted(&self, promise: Duration) -> Duration {
        self.counted_of(promise, self.drift)
    }

    /// The part of a promise by a voter with another ρ′ that this voter may use:
    /// `⌊⌊p/(1 + ρ′)⌋·(1 − ρ)⌋`.
    #[must_use]
    pub fn counted_of(&self, promise: Duration, theirs: Drift) -> Duration {
        self.drift.shrink(theirs.real_at_least(promise))
    }

    /// The pause before the next poll, after others were not free: at most t, and at most H/2.
    pub(in crate::voter) fn poll_pause(&self) -> Duration {
        self.request_timeout.min(self.heartbeat / 2)
    }

    /// The longest time in which a connected majority elects a leader after a heal, without loss:
    /// `(L + spread + t + min(t, H/2) + cast + result)·(1 + ρ)/(1 − ρ)`; in mode `available` H + t
    /// in place of L.
    #[must_use]
    pub fn failover(&self) -> Duration {
        let ballot = self.cast_timeout.saturating_add(self.result_timeout);
        let wait = match self.mode {
            Mode::Majority => self.lease(),
            Mode::Available => self.heartbeat.saturating_add(self.request_timeout),
        };
        // A poll that comes a moment too early takes up to t, and the next poll follows after a
        // pause.
        let poll = self.request_timeout.saturating_add(self.poll_pause());
        let span = wait.saturating_add(self.spread).saturating_add(poll).saturating_add(ballot);
        self.drift.real_at_most(self.drift.stretch(span))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Majority => "majority",
            Self::Available => "available",
        })
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "operator",
            Self::Auto => "auto",
        })
    }
}
