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
    /// The election, `NAME`: role j is the election `NAME/j`. At most [`Config::ELECTION_MAX`]
    /// bytes, so that there is room for the role. Two groups that fill the same roles, for
    /// availability, have the same election; groups that only share a topic have different
    /// elections.
    pub election: ElectionName,
    /// The group. [`Config::group_id`] adds the election and the number of partitions.
    pub group: ClusterName,
    /// Whether observers of this process see the leaders of all groups even in `at_most_one`. An
    /// asker that names no group needs this. Default false.
    pub all_groups: bool,
    /// This process's name in views and logs, unique in the group.
    pub id: NodeName,
    /// The machine of the process. Processes of two groups on one machine fail together (ruling 9).
    /// Default: the process's name.
    pub host: NodeName,
    /// M, the number of partitions of the topic, from 1 to [`Config::PARTITIONS_MAX`]. Partition j
    /// mod M decides on role j, so M must not change while any process runs. Choose M near the
    /// number of processes, and no higher than the number of roles: each process writes M records
    /// in each interval.
    pub partitions: u32,
    pub mode: Mode,
    /// T, the time for which a process leads without news; up to [`Config::TAKEOVER_MAX`].
    ///
    /// In `at_least_one` T must exceed [`Config::handover`]; otherwise a role has no leader while
    /// its partition changes hands. A longer T only lengthens the overlap. Default 25 s.
    ///
    /// In `at_most_one` T must be long enough for three records and a round trip, and a claimant
    /// waits for about T ([`Config::grace_period`]). A short T is a fast take-over; a long T
    /// survives longer interruptions. Default 5 s.
    pub takeover: Duration,
    /// The interval between records to each partition, from [`Config::INTERVAL_MIN`]. Default 500
    /// ms.
    pub publish_interval: Duration,
    /// S, the effective session timeout: when a process has been silent for S, the coordinator
    /// assigns its partitions to others. Default 6 s, the shortest that a broker allows by default.
    pub session_timeout: Duration,
    /// The interval between a member's reports to its coordinator, from [`Config::HEARTBEAT_MIN`]
    /// to S/3. The answer to a report brings news of a rebalance; a cooperative rebalance takes two
    /// reports. Default 1.5 s.
    pub heartbeat_interval: Duration,
    /// R, `max.poll.interval.ms`: the longest time for a member's answer to a rebalance, at least
    /// S. Default: S. With a longer R a partition may stay without an owner for longer.
    pub max_poll_interval: Duration,
    /// `delivery.timeout.ms`: without an acknowledgement within this time a record has failed. In
    /// `at_most_one` at most T/2. Default 1 s.
    pub delivery_timeout: Duration,
    /// `fetch.wait.max.ms`: the longest time for which a broker holds a fetch back. Default 100 ms.
    pub fetch_wait: Duration,
    /// The longest time to find the end of a partition and to begin to read there. Default 1 s.
    pub seek: Duration,
    /// Whether roles keep their leaders when the group's coordinator fails over (`at_least_one`). T
    /// must then be longer by another S, because sessions begin anew. Default true.
    pub failover: bool,
    /// ρ, the bound on the rate error of CLOCK_BOOTTIME, at most [`Config::DRIFT_MAX`]. Default
    /// 10⁻³, twice the rate at which Linux slews a clock.
    pub drift: Drift,
    /// The base of fences: a fence is `(fence_base + leader epoch)·2⁴⁰ + offset`. Leader epochs
    /// begin again when the topic is created anew; an operator then raises the base above all
    /// earlier bases and epochs. Base and epoch together stay below 2²⁴. Default 0.
    pub fence_base: u32,
    /// Span before the end of a leader's lease: when the span begins, the leader's work is asked to
    /// stop. Default 1 s.
    pub grace: Duration,
    /// Span before the end of a leader's lease, at most `grace`: when the span begins, the leader's
    /// work is killed. Default 100 ms.
    pub kill_margin: Duration,
    pub limits: Limits,
}

/// The promise for one role in one group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A role has at least one leader, and two while leadership changes hands. No fence.
    #[default]
    AtLeastOne,
    /// A role has at most one leader, and none while leadership changes hands. Fences order the
    /// leaders.
    AtMostOne,
}

/// Bounds on the memory of a process, for any input. Each is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The maximum number of roles for which a process stands, and the maximum number of roles that
    /// the process observes; up to [`Limits::ROLES_MAX`]. Default 1,024.
    pub roles: usize,
    /// The maximum number of other processes that a process remembers. Default 1,024.
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
    /// The maximum number of bytes of an election's name before the role.
    pub const ELECTION_MAX: usize = ElectionName::MAX_BYTES - "/4294967295".len();
    pub const PARTITIONS_MAX: u32 = 4_096;
    /// The shortest interval between records.
    pub const INTERVAL_MIN: Duration = Duration::from_millis(10);
    /// The shortest interval of reports: clients count whole milliseconds.
    pub const HEARTBEAT_MIN: Duration = Duration::from_millis(1);
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
            all_groups: false,
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

    /// The group's id at the coordinator: `ELECTION.GROUP.mM`. Processes with another M or another
    /// election are in another group. So all members agree on M (ruling 5), and stand for roles of
    /// one election.
    #[must_use]
    pub fn group_id(&self) -> String {
        format!("{}.{}.m{}", self.election, self.group, self.partitions)
    }

    /// The role that this election names; `None` for an election of another name.
    #[must_use]
    pub fn role(&self, election: &ElectionName) -> Option<Role> {
        let number = election.as_str().strip_prefix(self.election.as_str())?.strip_prefix('/')?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (number == "0" || !number.starts_with('0'));
        number.parse().ok().filter(|_| plain).map(Role)
    }

    #[must_use]
    pub fn election_of(&self, role: Role) -> ElectionName {
        // Cannot fail: a checked name leaves room for a role, and has no forbidden characters.
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
