//! The settings of a process, and the names that follow from them.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// This process's name in views and logs, unique in the group.
    pub id: NodeName,
    /// The machine of the process: two groups on one machine fail together (ruling 9). Default: the
    /// process's name.
    pub host: NodeName,
    /// M, the number of partitions of the topic, from 1 to [`Config::PARTITIONS_MAX`]. The number
    /// never changes while any process runs: partition j mod M decides on role j. Choose about the
    /// number of processes, and no more than roles: each process writes M records each interval.
    pub partitions: u32,
    pub mode: Mode,
    /// T, the time that a process leads without news; up to [`Config::TAKEOVER_MAX`].
    ///
    /// In `at_least_one` T must exceed [`Config::handover`], or a role is without a leader while
    /// its partition changes hands; a longer T only lengthens the overlap. Default 25 s. In
    /// `at_most_one` T must hold three records and a round trip, and a claimant waits as long
    /// ([`Config::grace_period`]): short is a fast take-over, long survives longer interruptions.
    /// Default 5 s.
    pub takeover: Duration,
    /// The interval between records to each partition, from [`Config::INTERVAL_MIN`]. Default 500
    /// ms.
    pub publish_interval: Duration,
    /// S, the effective session timeout: after it the coordinator assigns the partitions of a
    /// silent process to others. Default 6 s, the least that a broker allows by default.
    pub session_timeout: Duration,
    /// The interval between a member's reports to its coordinator, at most a third of S. A report
    /// brings news of a rebalance; cooperative rebalancing takes two reports. Default 1.5 s.
    pub heartbeat_interval: Duration,
    /// R, `max.poll.interval.ms`: the longest time for a member's answer to a rebalance, at least
    /// S. Default: S, as a longer time may leave a partition without an owner for longer.
    pub max_poll_interval: Duration,
    /// `delivery.timeout.ms`: a record without an acknowledgement has failed after this time; in
    /// `at_most_one` at most T/2. Default 1 s.
    pub delivery_timeout: Duration,
    /// `fetch.wait.max.ms`: the longest time for which a broker holds a fetch back. Default 100 ms.
    pub fetch_wait: Duration,
    /// The longest time to find the end of a partition and to begin reading there. Default 1 s.
    pub seek: Duration,
    /// Whether a change of the group's coordinator may leave no gap (`at_least_one`): T must exceed
    /// one S more, as sessions begin anew at the next coordinator. Default true.
    pub failover: bool,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME, at most [`Config::DRIFT_MAX`]. Default
    /// 10⁻³, twice the rate at which Linux slews a clock.
    pub drift: Drift,
    /// An operator raises the base after the topic was created anew, where leader epochs begin
    /// again: a fence is `(fence_base + leader epoch)·2⁴⁰ + offset`. The base is higher than all
    /// earlier bases and epochs; base and epoch together stay below 2²⁴. Default 0.
    pub fence_base: u32,
    /// A leader's work is asked to stop so long before the end of its handle. Default 1 s.
    pub grace: Duration,
    /// A leader's work is killed so long before that end; at most `grace`. Default 100 ms.
    pub kill_margin: Duration,
    pub limits: Limits,
}

/// The promise for one role in one group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A role has a leader, and two leaders while leadership changes hands. No fence.
    #[default]
    AtLeastOne,
    /// A role has at most one leader, and fences order the leaders. No leader while leadership
    /// changes hands.
    AtMostOne,
}

/// Bounds on the memory of a process, for any input. Each is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The most roles for which a process stands, and the most that it observes; at most
    /// [`Limits::ROLES_MAX`]. Default 1,024.
    pub roles: usize,
    /// The most other processes that a process remembers. Default 1,024.
    pub processes: usize,
}

impl Limits {
    /// The highest limit of roles: a record names all roles that its sender leads.
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
    pub const PARTITIONS_MAX: u32 = 4_096;
    /// The shortest interval between records.
    pub const INTERVAL_MIN: Duration = Duration::from_millis(10);
    pub const TAKEOVER_MAX: Duration = Duration::from_secs(86_400);
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

    /// The group as the coordinator knows it: `ELECTION.GROUP.mM`. M is part of the name, so that
    /// processes that count partitions in different ways are not members of one group (ruling 5);
    /// the election is, so that each member stands for roles of the same election.
    #[must_use]
    pub fn group_id(&self) -> String {
        format!("{}.{}.m{}", self.election, self.group, self.partitions)
    }

    /// The role of this election, if it belongs to the configured one.
    #[must_use]
    pub fn role(&self, election: &ElectionName) -> Option<Role> {
        let number = election.as_str().strip_prefix(self.election.as_str())?.strip_prefix('/')?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (number == "0" || !number.starts_with('0'));
        number.parse().ok().filter(|_| plain).map(Role)
    }

    #[must_use]
    pub fn election_of(&self, role: Role) -> ElectionName {
        // A role always fits, and a checked name has no forbidden characters.
        ElectionName::new(&format!("{}/{}", self.election, role.0))
            .unwrap_or_else(|_| self.election.clone())
    }

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
