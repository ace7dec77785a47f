//! The settings on which a cluster agrees, checked before anything starts.
//!
//! | must be the same everywhere (the [digest](Checked::digest)) | because |
//! |---|---|
//! | cluster, names of the members, quorums | quorums of different lists need not meet |
//! | ρ (`drift`) | the candidate shortens a lease by ρ, and the grantor lengthens the lease by ρ |
//!
//! | may differ from node to node | because |
//! |---|---|
//! | addresses of members | a name identifies a member, and each host may know another address |
//! | `lease` | every request carries its own δ, and a grantor refuses one above its `delta_max` |
//! | `delta_max` | a lease is the minimum over its quorum; a grantor that lost its memory waits |
//! | | for the longest of the quorum whose fences it reads |
//! | `round_trip`, `refresh` | pauses between questions: a grantor with a shorter `refresh` than |
//! | | a candidate's forgets the candidate early, which costs time and never safety |
//! | `verify_max`, `grace`, `kill_margin` | only the leader itself uses them |
//! | `limits` | they bound this node's memory |

mod check;
mod digest;
mod error;
mod host;
mod member;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

pub use check::Checked;
pub(in crate::nerio) use digest::{Covered, settings_digest};
pub use error::ConfigError;
pub use host::{HostPort, HostPortError};
pub use member::{Member, MemberError, members};

use super::quorum::{MemberSet, Quorums};
use crate::drift::Drift;
use crate::name::{ClusterName, NodeName};

/// The settings of a Nerio cluster. Build a `Config` with [`Config::new`], change fields where
/// necessary, and hand it to [`Config::check`]. Some settings must be the same on every node of a
/// cluster: their [digest](Checked::digest) travels in every datagram.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::nerio::{Config, members};
///
/// let members = members("a=10.0.0.1:7101,b=db-2.internal:7101,c=[fd00::3]:7101")?;
/// let config = Config::new("prod".parse().unwrap(), members);
/// let config = config.with_lease(Duration::from_secs(10)).check()?;
/// assert_eq!(config.quarantine(), Duration::from_millis(20_020));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Keeps clusters that share a network apart: a node ignores datagrams of another one.
    pub cluster: ClusterName,
    /// The grantors, each name and each host with its port once, 1 to 31 of them. Three survive the
    /// loss of one, five of two; more than seven only cost time. The order means nothing, except
    /// for the places of a grid. A list that differs from node to node is a digest mismatch, not
    /// two leaders. A node counts members by the [`membership`](Checked::membership).
    pub members: Vec<Member>,
    /// The sets of grantors that suffice (section 2), over as many members as the list has. Any two
    /// of them meet; the constructor proves that. Use a majority unless grantors differ in
    /// reliability or location. Default: majority.
    pub quorums: Quorums,
    /// ρ, the bound on every clock's rate error (section 3), at most [`Config::DRIFT_MAX`]. Too
    /// small, and two leaders are possible; larger costs ρ of every lease. Default 10⁻³, twice
    /// the rate at which Linux slews a clock.
    pub drift: Drift,
    /// δ, the length of a lease that this node asks for, in real time: from
    /// [`Config::LEASE_MIN`] to [`Config::DELTA_MAX_MAX`]. A quorum of grantors must allow it by
    /// their `delta_max`; until then the candidate waits. Short: fast take-over after a crash.
    /// Long: the leader survives longer interruptions. After the first renewal is due there must
    /// be room for `grace`, `kill_margin` and 4 round trips, see [`Config::usable`]; that also
    /// implies section 10.1, see [`Config::lease_needed`]. Default 5 s.
    pub lease: Duration,
    /// Longest lease that the grantor of this node gives, in real time, and so the wait before it
    /// grants again after it lost its memory ([`Config::quarantine`]). From [`Config::LEASE_MIN`]
    /// to [`Config::DELTA_MAX_MAX`]; it binds no candidate of this node. Leave room to lengthen
    /// leases later: a grantor restarted with a larger `delta_max` gives the longer leases only
    /// after `(1 + ρ)` of it. A grantor restarted with a smaller one still waits as long as the
    /// largest that it ever had. Default 2 × lease. (Our extension: restart.)
    pub delta_max: Duration,
    /// d, a high percentile of round trips before any was measured (section 8). Too small costs
    /// needless retries, never safety; too large asks for a longer lease than needed. Default
    /// 10 ms.
    pub round_trip: Duration,
    /// R, the interval at which a waiting candidate refreshes its parked requests. Above 0 and at
    /// least 2 d, so that an answer arrives before the question is repeated; 3 R + 2 d at most the
    /// lease, because the first lease must bridge a forgotten candidate ([`Config::lease_first`]).
    /// Short: a dead candidate is forgotten sooner. Long: less traffic from waiting candidates.
    /// Default 250 ms. (Our extension: parked requests. Oks of several Starts may be combined, so R
    /// ≥ 2 d saves messages here; only the strict form, in which a new Start aborts the old, would
    /// need it.)
    pub refresh: Duration,
    /// Longest promise of a verification answer (section 10.5), and so the longest delay of a
    /// resignation or hand-over by promises, however many there are: a lowered claim promises
    /// nothing. Set some round trips, so that an answer is still good on arrival. At most
    /// [`Config::DELTA_MAX_MAX`]; above the lease nothing is left to promise, and at 0 every answer
    /// has run out on arrival. Default: a tenth of the lease.
    pub verify_max: Duration,
    /// Span before the end of its lease at which a leader's work is asked to stop (SIGTERM, or
    /// `expiring`). As long as the work needs to end in order: too short, and it is killed; too
    /// long, and a few lost renewals stop it for nothing. Default 1 s.
    pub grace: Duration,
    /// Span before the end of its lease at which a leader's work is ended by force. At most
    /// `grace`; as long as that, work is killed without being asked first. Must cover the time in
    /// which the machine carries out a kill: too short, and work outlives the lease on a busy
    /// machine. Default 100 ms.
    pub kill_margin: Duration,
    pub limits: Limits,
}

/// Bounds on the memory of a node, whatever messages arrive. Each bound is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Elections that a grantor keeps at once. The grantor refuses further ones until one of the
    /// kept ones has ended. Default 65,536.
    pub elections: usize,
    /// Waiting candidates that a grantor keeps for each election; the lowest in the common order is
    /// evicted and asks again. Too few: a take-over may have to wait for that. Default 64.
    pub parked: usize,
    /// Released candidacies that a grantor remembers for each election. Too few: a delayed request
    /// of a forgotten candidacy takes a grant for one lease, to no use. Default 64.
    pub watermarks: usize,
    /// Names that two incarnations used in one election, which a grantor remembers to see whether
    /// both still do. Too few: two processes with one name go unnoticed. Default 4,096.
    pub names: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { elections: 65_536, parked: 64, watermarks: 64, names: 4_096 }
    }
}

impl Config {
    /// Most members of a cluster.
    pub const MEMBERS_MAX: usize = MemberSet::MEMBERS_MAX;
    /// The shortest lease: below it, timers and schedulers decide who leads.
    pub const LEASE_MIN: Duration = Duration::from_millis(10);
    /// The largest `delta_max` and lease: a restarted grantor makes the cluster wait for at most a
    /// day.
    pub const DELTA_MAX_MAX: Duration = Duration::from_secs(24 * 60 * 60);
    /// The largest ρ, a quarter: a clock that is further off is broken, and above two thirds no
    /// lease would outlive its first renewal.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(250_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a quarter is below one"),
    };

    /// The shortest first lease when the lease allows it: gives a new leader's work time to
    /// begin before the first renewal.
    const FIRST_MIN: Duration = Duration::from_secs(1);
    /// The shortest pause before a lost renewal is repeated, when the lease allows it.
    const RETRY_MIN: Duration = Duration::from_millis(50);

    /// The defaults for these members, with majority quorums.
    #[must_use]
    pub fn new(cluster: ClusterName, members: Vec<Member>) -> Self {
        let lease = Duration::from_secs(5);
        Self {
            quorums: Quorums::majority_of(members.len()),
            cluster,
            members,
            drift: Drift::DEFAULT,
            lease,
            delta_max: lease * 2,
            round_trip: Duration::from_millis(10),
            refresh: Duration::from_millis(250),
            verify_max: lease / 10,
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            limits: Limits::default(),
        }
    }

    /// Sets the lease, and with it the two settings whose default follows it: `delta_max`
    /// (2 × lease) and `verify_max` (a tenth of the lease).
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, delta_max: lease.saturating_mul(2), verify_max: lease / 10, ..self }
    }

    /// δ_first: `max(3R + 2d, 1 s)`, at most the lease. The first lease of a leadership is this
    /// short, and the leader renews it at once, so that a successor that died unnoticed costs `(1 +
    /// ρ)·δ_first` once. A dead candidate stays parked and eligible for 3R + 2d. (Our extension:
    /// succession.)
    #[must_use]
    pub fn lease_first(&self) -> Duration {
        self.first_needed().max(Self::FIRST_MIN).min(self.lease)
    }

    /// `3R + 2d`, the least that [`Config::lease_first`] may be.
    pub(crate) const fn first_needed(&self) -> Duration {
        self.parked_for().saturating_add(self.round_trip.saturating_mul(2))
    }

    /// The time of a leader's renewal: `⌊lease / 3⌋` after the Start of the last granted request.
    /// The paper's `E − (1+ρ)d` (section 8) is the latest moment, after the request to stop: too
    /// late to begin.
    #[must_use]
    pub fn renew_after(&self) -> Duration {
        self.lease / 3
    }

    /// `⌊(1 − ρ)·lease⌋ − ⌊lease / 3⌋`, about two thirds: the rest of a lease on the leader's own
    /// clock when its first renewal is due. The rest must exceed `grace`, `kill_margin` and four
    /// round trips together, so that a renewal, a lost one and its repetition fit before the work
    /// is asked to stop.
    #[must_use]
    pub fn usable(&self) -> Duration {
        self.usable_of(self.lease)
    }

    fn usable_of(&self, lease: Duration) -> Duration {
        self.drift.shrink(lease).saturating_sub(lease / 3)
    }

    /// `d + max(i, (1 + ρ)·remaining)`: the least δ of section 10.1 for a leader that renews
    /// with `remaining` (E − C) left, when round trips take `round_trip` (d) and renewals are
    /// spaced by `interval` (i).
    ///
    /// A checked lease is at least this for its own settings, whenever a renewal is due. With a
    /// measured d the result shows whether the lease has become too short for the network.
    #[must_use]
    pub fn lease_needed(
        &self,
        round_trip: Duration,
        interval: Duration,
        remaining: Duration,
    ) -> Duration {
        round_trip.saturating_add(interval.max(self.drift.stretch(remaining)))
    }

    /// `max(2d, 50 ms)`, at most a sixth of the lease: the pause after which an unanswered renewal
    /// is repeated, when round trips take `round_trip` (d). A sixth leaves room for three
    /// repetitions between the first renewal and the end, however slow the network was.
    #[must_use]
    pub fn retry_after(&self, round_trip: Duration) -> Duration {
        round_trip.saturating_mul(2).max(Self::RETRY_MIN).min(self.lease / 6)
    }

    /// `⌈(1 + ρ)·delta_max⌉` on its own clock: the least span for which a grantor that lost its
    /// memory grants nothing.
    #[must_use]
    pub fn quarantine(&self) -> Duration {
        self.drift.stretch(self.delta_max)
    }

    /// `3R`: the span for which a grantor keeps a parked request that is not refreshed.
    #[must_use]
    pub const fn parked_for(&self) -> Duration {
        self.refresh.saturating_mul(3)
    }

    /// `2R`: the age up to which a leader's news of a candidate suffices to name it as the next.
    #[must_use]
    pub const fn heard_within(&self) -> Duration {
        self.refresh.saturating_mul(2)
    }

    /// The members' names in the order of the list, for reading or printing the
    /// [`quorums`](Self::quorums) of these settings.
    #[must_use]
    pub fn names(&self) -> Vec<NodeName> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }
}
