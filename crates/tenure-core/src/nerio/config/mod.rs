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
//! | `lease`, `lease_auto` | each request has its δ; a grantor refuses a δ above its `delta_max` |
//! | `delta_max` | a lease is at most the smallest of its quorum; a grantor that lost its memory |
//! | | waits for the largest of the quorum whose fences it reads |
//! | `round_trip`, `refresh` | pauses between questions: a grantor with a shorter `refresh` than |
//! | | a candidate's forgets the candidate early, which costs time and never safety |
//! | `verify_max`, `grace`, `kill_margin` | only the leader itself uses them |
//! | `ring` | each member judges for itself which others have failed; no safety rests on it |
//! | `replace` | a member begins or supports replacements only with it; no safety rests on it |
//! | `limits` | they bound what this node keeps |
//!
//! Δ (`clock_skew_max`) must be the same everywhere, too. Requests and oks carry Δ, and nodes with
//! different Δ refuse each other. So the digest and the documents of epochs need not name Δ, and
//! clusters without Δ keep their digests and documents.

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

use super::clock_bound::ClockBound;
use super::quorum::{MemberSet, Quorums};
use super::ring::RingConfig;
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
    /// Keeps clusters that share a network apart: a node ignores datagrams of another cluster.
    pub cluster: ClusterName,
    /// The grantors, 1 to 31, each name and each address once. Three grantors survive the loss of
    /// one, five the loss of two; more than seven only cost time. Only a grid depends on the order.
    /// Grantors whose lists have different names report a digest mismatch, and never elect two
    /// leaders. A node that is no grantor needs the name of one grantor that runs, and learns the
    /// others. The position of a member is its place in the [`membership`](Checked::membership),
    /// not in this list.
    pub members: Vec<Member>,
    /// The sets of grantors that suffice (section 2), over as many members as the list has. Any two
    /// of them meet; the constructor proves that. Use a majority unless grantors differ in
    /// reliability or location. Default: majority.
    pub quorums: Quorums,
    /// ρ, the bound on every clock's rate error (section 3), at most [`Config::DRIFT_MAX`]. A value
    /// that is too small makes two leaders possible; a larger value shortens every claim. Default
    /// 10⁻³, twice the rate at which Linux slews a clock.
    pub drift: Drift,
    /// Δ, the bound on the difference of any two wall clocks of the cluster (section 4), from
    /// [`Config::SKEW_MIN`] to [`Config::SKEW_MAX`]. Where it is set, a claim ends in time if
    /// either bound holds: the wall clocks of leader and grantors within Δ, or their rates within
    /// ρ. A grant lasts at most 2Δ longer than its lease, even if the request comes late. Requests
    /// and oks of nodes with another Δ do not count. Set it to several times the error that
    /// synchronized clocks have. Default: wall clocks are not compared.
    pub clock_skew_max: Option<Duration>,
    /// δ, the length of a lease that this node asks for, in real time: from [`Config::LEASE_MIN`]
    /// to [`Config::DELTA_MAX_MAX`]. The candidate waits until a quorum of grantors allows this
    /// length by `delta_max`. Short: fast take-over after a crash. Long: the leader survives longer
    /// interruptions. When the first renewal is due, the rest of the lease must exceed `grace`,
    /// `kill_margin` and 4 round trips ([`Config::usable`]). This rule implies the bound of section
    /// 10.1 ([`Config::lease_needed`]). Default 5 s.
    pub lease: Duration,
    /// Whether the lease follows the measured network (section 10.1): `lease` is then the least and
    /// `delta_max`, if longer, the greatest lease of this node's leaders. Default false.
    pub lease_auto: bool,
    /// Longest lease that this node's grantor gives, in real time: from [`Config::LEASE_MIN`] to
    /// [`Config::DELTA_MAX_MAX`]. This setting binds candidates of this node only with
    /// `lease_auto`. Before a grantor that lost its memory grants, it waits for about the largest
    /// `delta_max` that it ever had ([`Config::quarantine`]). Leave room to lengthen leases later:
    /// after a start with a larger `delta_max` the grantor gives longer leases only when
    /// `(1 + ρ)·delta_max` have passed. Default 2 × lease. (Our extension: restart.)
    pub delta_max: Duration,
    /// d, the assumed high percentile of round trips, until enough of them were measured (section
    /// 8). A value that is too small costs needless retries, never safety; a value that is too
    /// large asks for longer leases than needed. Default 10 ms.
    pub round_trip: Duration,
    /// R, the interval at which a waiting candidate refreshes its parked requests. R is above 0 and
    /// at least 2 d, so that an answer arrives before the question is repeated. 3 R + 2 d is at
    /// most the lease, because the first lease must outlast a dead candidate in the queue
    /// ([`Config::lease_first`]). Short: a dead candidate is forgotten sooner. Long: less traffic
    /// from waiting candidates. Default 250 ms. (Our extension: parked requests. Here R ≥ 2 d only
    /// saves messages, because oks of several Starts count together. In the paper a new Start
    /// aborts the last one, and no round would complete with a shorter R.)
    pub refresh: Duration,
    /// Longest promise of a verification answer (section 10.5), at most [`Config::DELTA_MAX_MAX`].
    /// All promises together delay a resignation or a hand-over by no more than this span, because
    /// a leader whose claim is lowered promises nothing. Set it to some round trips, so that an
    /// answer still holds on arrival; with 0 no answer holds. A value above the lease has no
    /// further effect. Default: a tenth of the lease.
    pub verify_max: Duration,
    /// Span before the end of the lease at which the leader's work is asked to stop (SIGTERM, or
    /// `expiring`). Set it to the time that the work needs to end in order. With a shorter span the
    /// work is killed; with a longer span a few lost renewals stop the work in vain. Default 1 s.
    pub grace: Duration,
    /// Span before the end of the lease at which the leader's work is ended by force, at most
    /// `grace`. Set it to the time in which a busy machine carries out a kill: with a shorter span
    /// the work outlives the lease. With a span equal to `grace` the work is killed without being
    /// asked first. Default 100 ms.
    pub kill_margin: Duration,
    /// Whether the members by themselves replace a member whose directory was lost, in epochs whose
    /// documents name memories. Give all nodes the same setting: a member counts for a replacement
    /// only with this setting, and a node with an empty directory asks only with it. Default
    /// `None`: an operator replaces the member. [`Config::auto_replace`] has spans for these
    /// settings. (Our extension: lost directories.)
    pub replace: Option<AutoReplace>,
    /// The ring of section 9, on which members find a weak leader of their partition (10.3).
    /// Default `None`: no ring. (Section 9; no safety rests on the ring.)
    pub ring: Option<RingConfig>,
    pub limits: Limits,
}

/// The spans of replacements without an operator. No safety rests on them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AutoReplace {
    /// Span for which a quorum of members, each on its own clock, hears nothing of the lost memory.
    /// With a short span, a second node that was started by mistake under a member's name takes the
    /// place of a member that is only busy for a moment. With a long span, the cluster is without a
    /// spare node for longer.
    pub silence: Duration,
    /// Least span between two replacements of one member. Each other member measures the span on
    /// its own clock, and knows only the replacements since its own start. With a short span, a
    /// node that starts again and again, and forgets everything at each start, makes the members
    /// change again and again.
    pub pause: Duration,
}

/// Bounds on what a node keeps, whatever messages arrive. Each bound is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Elections that a grantor keeps at once. The grantor refuses further elections until a kept
    /// election has ended. Default 65,536.
    pub elections: usize,
    /// Waiting candidates that a grantor keeps for each election. Beyond this number the grantor
    /// evicts the candidate of the lowest rank. The evicted candidate asks again, and a take-over
    /// may have to wait for its request. Default 64.
    pub parked: usize,
    /// Released Starts that a grantor remembers for each election, one for each incarnation. With
    /// too few, a delayed request of a forgotten incarnation takes the grant for one lease, in
    /// vain. Default 64.
    pub watermarks: usize,
    /// Names in conflict that a grantor tracks: a name is in conflict while two incarnations
    /// campaign under it in one election. With too few, two processes with one name go unnoticed.
    /// Default 4,096.
    pub names: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { elections: 65_536, parked: 64, watermarks: 64, names: 4_096 }
    }
}

impl Config {
    /// Maximum number of members of a cluster.
    pub const MEMBERS_MAX: usize = MemberSet::MEMBERS_MAX;
    /// The shortest lease: below it, timers and schedulers decide who leads.
    pub const LEASE_MIN: Duration = Duration::from_millis(10);
    /// The largest `delta_max` and lease: a restarted grantor makes the cluster wait for about a
    /// day at most.
    pub const DELTA_MAX_MAX: Duration = Duration::from_secs(24 * 60 * 60);
    /// The largest ρ, a quarter: a clock that is further off is broken.
    pub const DRIFT_MAX: Drift = match Drift::from_parts_per_billion(250_000_000) {
        Ok(drift) => drift,
        Err(_) => panic!("a quarter is below one"),
    };

    /// The smallest Δ: two readings of clocks that have not moved may differ by as much.
    pub const SKEW_MIN: Duration = Duration::from_millis(1);
    /// The largest Δ: clocks that are further off are not synchronized.
    pub const SKEW_MAX: Duration = Duration::from_secs(60);

    /// The shortest first lease, unless the lease itself is shorter: the work of a new leader needs
    /// time to begin before the first renewal.
    const FIRST_MIN: Duration = Duration::from_secs(1);
    /// The shortest silence before a replacement without an operator.
    const SILENCE_MIN: Duration = Duration::from_secs(10);
    /// The pause between two replacements of one member without an operator.
    const REPLACED_EVERY: Duration = Duration::from_secs(60 * 60);
    /// The shortest pause before a lost renewal is repeated, unless the lease is too short for it.
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
            clock_skew_max: None,
            lease,
            delta_max: lease * 2,
            round_trip: Duration::from_millis(10),
            refresh: Duration::from_millis(250),
            verify_max: lease / 10,
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            lease_auto: false,
            replace: None,
            ring: None,
            limits: Limits::default(),
        }
    }

    /// Sets the lease, and with it the two settings whose default follows it: `delta_max`
    /// (2 × lease) and `verify_max` (a tenth of the lease).
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, delta_max: lease.saturating_mul(2), verify_max: lease / 10, ..self }
    }

    /// Spans for [`replace`](Self::replace): a silence of `(1 + ρ)·delta_max`, at least 10 s, and a
    /// pause of an hour. No lease that the lost memory has granted lasts longer than that silence,
    /// so no leader needs the lost memory any more. A machine that only stood still for some
    /// seconds answers within the silence.
    #[must_use]
    pub fn auto_replace(&self) -> AutoReplace {
        let silence = self.quarantine().max(Self::SILENCE_MIN);
        AutoReplace { silence, pause: Self::REPLACED_EVERY }
    }

    /// δ_first: `max(3R + 2d, 1 s)`, at most the lease. The length of the first lease of a
    /// leadership, which the leader renews at once. If the grantors choose a candidate that has
    /// died, the vacancy lasts for `(1 + ρ)·δ_first` only. A dead candidate stays parked and
    /// eligible for 3R + 2d. (Our extension: succession.)
    #[must_use]
    pub fn lease_first(&self) -> Duration {
        self.first_needed().max(Self::FIRST_MIN).min(self.lease)
    }

    /// `3R + 2d`, the minimum of [`Config::lease_first`].
    pub(crate) const fn first_needed(&self) -> Duration {
        self.parked_for().saturating_add(self.round_trip.saturating_mul(2))
    }

    /// The time of a leader's renewal: `⌊lease / 3⌋` after the Start of the last granted request.
    /// The paper renews at `E − (1+ρ)d` (section 8), the latest possible time, when the work has
    /// already been asked to stop.
    #[must_use]
    pub fn renew_after(&self) -> Duration {
        self.lease / 3
    }

    /// `⌊(1 − ρ)·lease⌋ − ⌊lease / 3⌋`, about two thirds: the rest of a lease on the leader's own
    /// clock when its first renewal is due. The rest must exceed `grace`, `kill_margin` and four
    /// round trips together: a lost renewal and its repetition then fit before the work is asked to
    /// stop.
    #[must_use]
    pub fn usable(&self) -> Duration {
        self.usable_of(self.lease)
    }

    /// `⌊lease / 3⌋ + (usable − grace) / 4`: a leader whose last renewal is older reports the
    /// reason. Until then repetitions make up for a lost message; afterwards the operator has the
    /// rest of the time before the work is asked to stop.
    pub(super) fn overdue_after(&self) -> Duration {
        self.renew_after().saturating_add(self.usable().saturating_sub(self.grace) / 4)
    }

    fn usable_of(&self, lease: Duration) -> Duration {
        self.drift.shrink(lease).saturating_sub(lease / 3)
    }

    /// `d + max(i, (1 + ρ)·remaining)`: the shortest δ of section 10.1 for a leader that renews
    /// with `remaining` (E − C) left. Round trips take `round_trip` (d), and the leader renews
    /// every `interval` (i).
    ///
    /// A checked lease is at least this long by its own settings, whenever a renewal is due. A
    /// leader checks the lease again with measured round trips, and warns when the round trips have
    /// outgrown the lease ([`OwnEvent::LeaseOutgrown`](crate::nerio::OwnEvent::LeaseOutgrown)).
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

    /// `⌈(1 + ρ)·delta_max⌉` on the grantor's own clock: the shortest span for which a grantor that
    /// lost its memory grants nothing. With a bound on skew 2Δ are added to `delta_max`.
    #[must_use]
    pub fn quarantine(&self) -> Duration {
        self.clock_bound().outlasts(self.delta_max)
    }

    pub(in crate::nerio) const fn clock_bound(&self) -> ClockBound {
        ClockBound { drift: self.drift, skew: self.clock_skew_max }
    }

    /// `(1 + ρ)²·lease`: the span on a candidate's clock after which no grantor keeps a grant for a
    /// lease that the candidate has given up. With a bound on skew 2Δ are added to the lease.
    pub(in crate::nerio) fn given_up(&self, lease: Duration) -> Duration {
        self.drift.stretch(self.clock_bound().outlasts(lease))
    }

    /// `3R`: the span for which a grantor keeps a parked request that is not refreshed.
    #[must_use]
    pub const fn parked_for(&self) -> Duration {
        self.refresh.saturating_mul(3)
    }

    /// `2R`: the greatest age of a report of a waiting candidate at which a leader still names this
    /// candidate as the next.
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
