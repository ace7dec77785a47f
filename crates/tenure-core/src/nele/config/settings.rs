//! The settings themselves, and the names that follow from them.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::drift::Drift;
use crate::name::{ClusterName, ElectionName, NodeName};
use crate::nele::identity::{Partition, Role};

/// The settings of one process that stands for roles on a shared, partitioned ledger.
///
/// ```
/// use tenure_core::nele::{Config, Mode};
///
/// let [election, group] = ["prices", "blue"];
/// let (election, group) = (election.parse().unwrap(), group.parse().unwrap());
/// let config = Config::new(election, group, "web-1".parse().unwrap(), 16, Mode::AtMostOne);
/// let config = config.check()?;
/// assert_eq!(config.group_id(), "prices.blue.m16");
/// let role = config.role(&"prices/19".parse().unwrap()).unwrap();
/// assert_eq!(config.partition_of(role).0, 3);
/// # Ok::<(), tenure_core::nele::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The election: role j is `NAME/j`. At most [`Config::ELECTION_MAX`] bytes, so that there is
    /// room for the role. Groups that fill the same roles for the sake of availability have the
    /// same election; groups that only share a topic have different ones.
    pub election: ElectionName,
    /// The group, to which the election and the number of partitions are added
    /// ([`Config::group_id`]).
    pub group: ClusterName,
    /// This process's name, unique in the group: it is what views and logs show.
    pub id: NodeName,
    /// The machine on which it runs: two groups are no help to each other on one machine
    /// (ruling 9). Default: the process's name.
    pub host: NodeName,
    /// M, the number of partitions of the topic, from 1 to [`Config::PARTITIONS_MAX`]. The number
    /// never changes while any process runs: role j is decided on partition j mod M. About as many
    /// as processes, and no more than roles; many more make records: each process writes M of them
    /// each interval.
    pub partitions: u32,
    /// The promise.
    pub mode: Mode,
    /// T, how long a process leads without news; up to [`Config::TAKEOVER_MAX`].
    ///
    /// In `at_least_one` it must exceed [`Config::handover`], or a role is without a leader while
    /// its partition changes hands; what it has beyond that is overlap. Default 25 s. In
    /// `at_most_one` it must hold three records and a round trip, and a claimant waits as long
    /// ([`Config::grace_period`]): short is a fast take-over, long survives longer interruptions.
    /// Default 5 s.
    pub takeover: Duration,
    /// How often a process writes to each partition, from [`Config::INTERVAL_MIN`]. Default
    /// 500 ms.
    pub publish_interval: Duration,
    /// S, the effective session timeout: after it the coordinator assigns the partitions of one
    /// that is silent to others. Default 6 s, the least that a broker allows by default.
    pub session_timeout: Duration,
    /// How often a member reports to its coordinator, at most a third of S. A rebalance is heard of
    /// with such a report, and with cooperative rebalancing takes two of them. Default 1.5 s.
    pub heartbeat_interval: Duration,
    /// R, `max.poll.interval.ms`: how long a member may take to answer a rebalance, at least S.
    /// Default: S, as every second more is one more without an owner.
    pub max_poll_interval: Duration,
    /// `delivery.timeout.ms`: after it a record that is not acknowledged has failed; in
    /// `at_most_one` at most T/2. Default 1 s.
    pub delivery_timeout: Duration,
    /// `fetch.wait.max.ms`: how long a broker may hold a fetch back. Default 100 ms.
    pub fetch_wait: Duration,
    /// How long it takes at most to find the end of a partition and to begin reading there. Default
    /// 1 s.
    pub seek: Duration,
    /// Whether a change of the group's coordinator is to leave no gap (`at_least_one`): T must
    /// exceed one S more, as sessions begin anew at the next coordinator. Default true.
    pub failover: bool,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME, at most [`Config::DRIFT_MAX`]. Default
    /// 10⁻³, twice the rate at which Linux slews a clock.
    pub drift: Drift,
    /// Raised by an operator after the topic was created anew, where leader epochs begin again: a
    /// fence is `(fence_base + leader epoch)·2⁴⁰ + offset`. Higher than all bases and epochs
    /// before, together below 2²⁴. Default 0.
    pub fence_base: u32,
    /// How long before the end of its handle a leader's work is asked to stop. Default 1 s.
    pub grace: Duration,
    /// How long before the end of its handle a leader's work is ended by force; at most `grace`.
    /// Default 100 ms.
    pub kill_margin: Duration,
    /// The bounds on the memory of a process.
    pub limits: Limits,
}

/// The promise for one role in one group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// There is a leader, and while leadership changes hands there may be two. No fence.
    #[default]
    AtLeastOne,
    /// There is never more than one leader, and leaders are ordered by fences. While leadership
    /// changes hands there is none.
    AtMostOne,
}

/// Bounds on the memory of a process, for any input. Each is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The most roles for which a process stands, and the most that it observes; at most
    /// [`Limits::ROLES_MAX`]. Default 1,024.
    pub roles: usize,
    /// The most other processes that are remembered. Default 1,024.
    pub processes: usize,
}

impl Limits {
    /// The most roles that there can be room for: a record names all that its sender leads.
    pub const ROLES_MAX: usize = 4_096;
}

impl Default for Limits {
    fn default() -> Self {
        Self { roles: 1_024, processes: 1_024 }
    }
}

impl Config {
    /// The most bytes of an election's name before the role.
    pub const ELECTION_MAX: usize = ElectionName::MAX_BYTES - "/4294967295".len();
    /// The most partitions.
    pub const PARTITIONS_MAX: u32 = 4_096;
    /// The shortest interval between records.
    pub const INTERVAL_MIN: Duration = Duration::from_millis(10);
    /// The longest T.
    pub const TAKEOVER_MAX: Duration = Duration::from_secs(86_400);
    /// The largest ρ.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(100_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a tenth is below one"),
    };

    /// The defaults of a mode.
    #[must_use]
    pub fn new(
        election: ElectionName,
        group: ClusterName,
        id: NodeName,
        partitions: u32,
        mode: Mode,
    ) -> Self {
        let session_timeout = Duration::from_secs(6);
        let takeover = match mode {
            Mode::AtLeastOne => Duration::from_secs(25),
            Mode::AtMostOne => Duration::from_secs(5),
        };
        Self {
            election,
            group,
            host: id.clone(),
            id,
            partitions,
            mode,
            takeover,
            publish_interval: Duration::from_millis(500),
            session_timeout,
            heartbeat_interval: session_timeout / 4,
            max_poll_interval: session_timeout,
            delivery_timeout: Duration::from_secs(1),
            fetch_wait: Duration::from_millis(100),
            seek: Duration::from_secs(1),
            failover: true,
            drift: Drift::DEFAULT,
            fence_base: 0,
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            limits: Limits::default(),
        }
    }

    /// The group as the coordinator knows it: `ELECTION.GROUP.mM`. M is part of it, so that
    /// processes which count partitions in different ways are not members of one group (ruling 5);
    /// and the election is, so that no partition belongs to one that stands for none of its roles.
    #[must_use]
    pub fn group_id(&self) -> String {
        format!("{}.{}.m{}", self.election, self.group, self.partitions)
    }

    /// The role whose election this is, if it is one of these elections.
    #[must_use]
    pub fn role(&self, election: &ElectionName) -> Option<Role> {
        let number = election.as_str().strip_prefix(self.election.as_str())?.strip_prefix('/')?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (number == "0" || !number.starts_with('0'));
        number.parse().ok().filter(|_| plain).map(Role)
    }

    /// The election of a role.
    #[must_use]
    pub fn election_of(&self, role: Role) -> ElectionName {
        // There is room for any role, and a name that was checked holds nothing that must not be.
        ElectionName::new(&format!("{}/{}", self.election, role.0))
            .unwrap_or_else(|_| self.election.clone())
    }

    /// The partition that decides on a role.
    #[must_use]
    pub const fn partition_of(&self, role: Role) -> Partition {
        role.partition(self.partitions)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtLeastOne => "at-least-one",
            Self::AtMostOne => "at-most-one",
        })
    }
}
