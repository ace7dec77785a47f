//! The settings themselves, and the times that follow from them.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

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
/// // Of (3 + 1) heartbeats a leader counts on what the slowest clock makes of it.
/// assert!(config.lease() > Duration::from_secs(4));
/// assert!(config.counted(config.lease()) <= Duration::from_secs(4) + Duration::from_nanos(2));
/// # Ok::<(), tenure_core::voter::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The election: a network elects one leader. A request that names another one is refused.
    pub election: ElectionName,
    /// `voter-id`: this voter's name, unique in its network. A UUID fits.
    pub id: NodeName,
    /// `voter-url`: where others call it.
    pub url: VoterUrl,
    /// What is promised.
    pub mode: Mode,
    /// Whose set of voters it begins with.
    pub founding: Founding,
    /// H, `heartbeat-interval`, from [`Config::HEARTBEAT_MIN`] to [`Config::HEARTBEAT_MAX`].
    /// Short: a lost leader is replaced sooner. Long: N² fewer requests. Default 1 s.
    pub heartbeat: Duration,
    /// m, `missed-heartbeat-tolerance`, from 1 to [`Config::TOLERANCE_MAX`]: how many heartbeats
    /// in a row may be missed. With H it makes the lease, [`Config::lease`]. Default 3.
    pub tolerance: u32,
    /// t, how long an answer is waited for, below H: one region that hangs delays nobody. Longer
    /// than the slowest round trip; connections are made beside it. Default 300 ms.
    pub request_timeout: Duration,
    /// How long a voter waits for the numbers of the others before it counts those it has. At
    /// least two requests' time, so that one region's slow cast is not left out. Default 600 ms.
    pub cast_timeout: Duration,
    /// How long after that a ballot without a leader is over. Default 600 ms.
    pub result_timeout: Duration,
    /// The random part of each wait before an election is started, so that voters do not start at
    /// once. Default 500 ms.
    pub spread: Duration,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME; at most [`Config::DRIFT_MAX`]. Default
    /// 10⁻³.
    pub drift: Drift,
    /// The longest promise that this voter gives; `None`: its own [`lease`](Config::lease). A
    /// leader that asks for more gets this. After a restart a voter is silent for the longest
    /// that it ever promised.
    pub lease_max: Option<Duration>,
    /// Who may give a known voter a vote.
    pub admission: Admission,
    /// How long a voter that was dropped from the known ones is still looked for. Default 10 min.
    pub forget_after: Duration,
    /// How long before the end of its lease a leader's work is asked to stop. Default 1 s.
    pub grace: Duration,
    /// How long before that end its work is ended by force; at most `grace`. Default 100 ms.
    pub kill_margin: Duration,
    /// The most voters that are known at a time; from 1 to [`Config::VOTERS_MAX`]. Default 128.
    pub voters: usize,
}

/// What a network promises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// At most one leader at any instant, with a fence.
    #[default]
    Majority,
    /// One leader in each region that can reach its own voters; nothing about time, and no fence.
    Available,
}

/// Whose set of voters a voter begins with (V2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Founding {
    /// `voter-list`: these and itself.
    List(Vec<Listed>),
    /// `expected-voters`, beside seeds: so many, itself included.
    Expected(u16),
    /// Whoever is there: `available` only.
    Anybody,
}

/// One of a `voter-list`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Listed {
    /// `voterId`.
    pub id: NodeName,
    /// `voterUrl`.
    pub url: VoterUrl,
}

/// Who may give a known voter a vote (V9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Admission {
    /// An operator only.
    #[default]
    Operator,
    /// The leader, to each that registers.
    Auto,
}

impl Config {
    /// The shortest heartbeat: below it, schedulers decide who leads.
    pub const HEARTBEAT_MIN: Duration = Duration::from_millis(20);
    /// The longest heartbeat.
    pub const HEARTBEAT_MAX: Duration = Duration::from_secs(3_600);
    /// The largest tolerance.
    pub const TOLERANCE_MAX: u32 = 1_000;
    /// The most voters that can be known.
    pub const VOTERS_MAX: usize = 256;
    /// The largest ρ.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(100_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a tenth is below one"),
    };

    /// The defaults, in `majority`. The founding is still to be said.
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

    /// `L = ⌈(m + 1)·H·(1 + ρ)/(1 − ρ)⌉`: what a leader asks others to promise.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.drift.real_at_most(self.drift.stretch(self.silence()))
    }

    /// `(m + 1)·H`: how long a leader may be silent.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.heartbeat.saturating_mul(self.tolerance.saturating_add(1))
    }

    /// The longest promise that this voter gives.
    #[must_use]
    pub fn lease_max(&self) -> Duration {
        self.lease_max.unwrap_or_else(|| self.lease())
    }

    /// `D(p) = ⌊p·(1 − ρ)/(1 + ρ)⌋` for one with the same ρ: how much of a promise p its receiver
    /// counts on, by its own clock.
    #[must_use]
    pub fn counted(&self, promise: Duration) -> Duration {
        self.counted_of(promise, self.drift)
    }

    /// The same, of a voter with this ρ: `⌊⌊p/(1 + ρ′)⌋·(1 − ρ)⌋`.
    #[must_use]
    pub fn counted_of(&self, promise: Duration, theirs: Drift) -> Duration {
        self.drift.shrink(theirs.real_at_least(promise))
    }

    /// How long one that was told that others are not free does not ask again: at most a request's
    /// time, however long heartbeats are.
    pub(in crate::voter) fn poll_pause(&self) -> Duration {
        self.request_timeout.min(self.heartbeat / 2)
    }

    /// Within which time a connected majority has a leader again after a heal, without loss:
    /// `(L + spread + t + min(t, H/2) + cast + result)·(1 + ρ)/(1 − ρ)`; with `available` H + t in
    /// place of L.
    #[must_use]
    pub fn failover(&self) -> Duration {
        let ballot = self.cast_timeout.saturating_add(self.result_timeout);
        let wait = match self.mode {
            Mode::Majority => self.lease(),
            Mode::Available => self.heartbeat.saturating_add(self.request_timeout),
        };
        // A poll that comes a moment too early takes up to t, and the next one comes after a pause.
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
