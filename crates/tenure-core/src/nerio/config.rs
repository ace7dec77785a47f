//! What a cluster agrees on, checked before anything starts.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::hash::Hasher;
use core::net::SocketAddr;
use core::time::Duration;

use siphasher::sip::SipHasher13;

use super::quorum::Quorums;
use crate::drift::Drift;
use crate::name::{ClusterName, NodeName};
use crate::time::nanos;

/// A grantor, and where it is reached.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Its name.
    pub name: NodeName,
    /// Its address.
    pub address: SocketAddr,
}

/// The settings of a Nerio cluster. Build one with [`Config::new`], change what you must, and
/// hand it to [`Config::check`]; every node of a cluster needs the same one (the digest of what
/// must agree travels in every datagram).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Keeps clusters that share a network apart.
    pub cluster: ClusterName,
    /// The grantors, each name and address once, 1 to 31 of them. Three survive the loss of one,
    /// five of two. The order means nothing.
    pub members: Vec<Member>,
    /// Which sets of grantors suffice (section 2). Must intersect pairwise; it is proved when
    /// it is made. Default: majority.
    pub quorums: Quorums,
    /// ρ, the bound on every clock's rate error (section 3). Too small, and two leaders are
    /// possible; larger costs ρ of every lease. Default 10⁻³.
    pub drift: Drift,
    /// δ, the length of a lease, in real time. Short: fast take-over after a crash. Long: the
    /// leader survives longer interruptions. At most `delta_max`. Default 5 s.
    pub lease: Duration,
    /// The longest lease a grantor gives, and so how long a grantor that lost its memory waits
    /// before it grants again. Never lower it on a running cluster: a grantor keeps the largest
    /// it ever had. Default 2 × lease. (Our extension: restart.)
    pub delta_max: Duration,
    /// d, a high percentile of round trips before any was measured (section 8). Too small costs
    /// needless retries, never safety. Default 10 ms.
    pub round_trip: Duration,
    /// R, how often a waiting candidate refreshes its parked requests. A dead candidate is
    /// forgotten after 3 R. Default 250 ms. (Our extension: parked requests.)
    pub refresh: Duration,
    /// The longest promise a verification answer makes (section 10.5), and so the longest that a
    /// resignation can be held up by one. Default: the lease.
    pub verify_max: Duration,
    /// How long before the end of its lease a leader's work is asked to stop (SIGTERM, or
    /// `expiring`). Default 1 s.
    pub grace: Duration,
    /// How long before the end of its lease a leader's work is ended by force. Default 100 ms.
    pub kill_margin: Duration,
    /// What bounds the memory of a node.
    pub limits: Limits,
}

/// Bounds on what a node keeps, whatever arrives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Elections a grantor keeps at once. Further ones are refused until one of the kept ones
    /// has ended. Default 65,536.
    pub elections: usize,
    /// Waiting candidates a grantor keeps for each election; the lowest in the common order is
    /// evicted. Default 64.
    pub parked: usize,
    /// Released candidacies a grantor remembers for each election. Default 64.
    pub watermarks: usize,
    /// Names of participants a grantor remembers to see a name used twice. Default 4,096.
    pub names: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { elections: 65_536, parked: 64, watermarks: 64, names: 4_096 }
    }
}

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nobody to ask.
    #[error("the members list is empty: name at least one grantor, better three")]
    NoMembers,
    /// More grantors than a quorum can be proved for.
    #[error("{count} members; at most {max} are allowed, and more than 7 only cost time")]
    TooManyMembers {
        /// How many were given.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A grantor must have one vote.
    #[error(
        "member {name} is listed twice, at {first} and at {second}; every name may appear once"
    )]
    DuplicateName {
        /// The name.
        name: NodeName,
        /// One address.
        first: SocketAddr,
        /// The other.
        second: SocketAddr,
    },
    /// Two names for one grantor would give it two votes.
    #[error(
        "members {first} and {second} share the address {address}; every grantor needs its own"
    )]
    DuplicateAddress {
        /// One name.
        first: NodeName,
        /// The other.
        second: NodeName,
        /// What they share.
        address: SocketAddr,
    },
    /// An address nobody can send to.
    #[error(
        "member {name} has the address {address}, which nobody can send to; give it a host and a port above 0"
    )]
    Unreachable {
        /// The member.
        name: NodeName,
        /// The address.
        address: SocketAddr,
    },
    /// The quorum system speaks of other members than the list.
    #[error(
        "the quorum system is over {expected} members, the list has {found}; both must come from the same list"
    )]
    QuorumMembers {
        /// Over how many it is.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A setting outside its range.
    #[error("{setting} is {value:?}; it must be {rule}")]
    OutOfRange {
        /// Which one.
        setting: &'static str,
        /// What it was set to.
        value: Duration,
        /// What it must be.
        rule: String,
    },
    /// Too little time between the first renewal and the moment at which the work is stopped.
    #[error(
        "lease {lease:?} is too short: two thirds of it, {usable:?}, must exceed grace {grace:?} + kill margin \
         {kill_margin:?} + 4 round trips of {round_trip:?} = {needed:?}; set the lease above {enough:?} or \
         shorten the grace"
    )]
    LeaseTooShort {
        /// The lease.
        lease: Duration,
        /// Two thirds of it.
        usable: Duration,
        /// The grace.
        grace: Duration,
        /// The kill margin.
        kill_margin: Duration,
        /// d.
        round_trip: Duration,
        /// What two thirds of the lease must exceed.
        needed: Duration,
        /// A lease that would do.
        enough: Duration,
    },
}

impl Config {
    /// The most members a cluster may have.
    pub const MEMBERS_MAX: usize = 31;

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
            verify_max: lease,
            grace: Duration::from_secs(1),
            kill_margin: Duration::from_millis(100),
            limits: Limits::default(),
        }
    }
}
