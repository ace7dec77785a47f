//! Obstacles to the restart of a grantor, in words for operators.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use tenure_core::nerio::{Membership, Raising, Service};
use tenure_core::{ElectionName, NodeName};

use crate::latest_epoch::OldList;

/// The reason why it is not safe to restart another grantor now.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsafe {
    #[error("{member} does not answer")]
    Silent { member: NodeName },
    /// `error` begins with the address.
    #[error("{member} does not answer: this machine cannot send to {error}")]
    Unsent { member: NodeName, error: String },
    #[error(
        "{member} waits to be let in. If the setting replace is auto, the members let it in once \
         its earlier process has been silent for lease-max and for 10 s; tenure node status on its \
         machine says when. Otherwise run tenure members replace {member}"
    )]
    Blank { member: NodeName },
    #[error("{member} is not found: {host} does not resolve ({error})")]
    Unresolved { member: NodeName, host: String, error: String },
    #[error("{member} runs with another configuration")]
    Differs { member: NodeName },
    #[error(transparent)]
    OldList(#[from] OldList),
    #[error("{member} {}", Activity(*service))]
    NotServing { member: NodeName, service: Service },
    #[error("{member} has not granted the latest lease of {election} to {leader}")]
    NotRenewed { election: ElectionName, leader: NodeName, member: NodeName },
    #[error(
        "{member} grants no lease longer than {}, and {leader}, which leads {election}, renews a \
         lease of {}: {member} never grants it",
        Span(*longest), Span(*lease)
    )]
    TooLong {
        election: ElectionName,
        leader: NodeName,
        member: NodeName,
        longest: Duration,
        lease: Duration,
    },
    #[error(
        "{member} grants no lease longer than {}, and {leader} leads {election} with a lease of \
         {}: {member} cannot stand in for a restarted node before that lease ends, in {}",
        Span(*longest), Span(*lease), Span(*remaining)
    )]
    Ending {
        election: ElectionName,
        leader: NodeName,
        member: NodeName,
        longest: Duration,
        lease: Duration,
        remaining: Duration,
    },
    #[error(
        "{member} grants no lease longer than {} for another {}: its lease-max was raised, and \
         other grantors may have forgotten longer leases. {leader} leads {election} with a lease \
         of {}",
        Span(raising.before), Span(raising.remaining), Span(*lease)
    )]
    Later {
        election: ElectionName,
        leader: NodeName,
        member: NodeName,
        raising: Raising,
        lease: Duration,
    },
    #[error(
        "these nodes have no stored state (lost, or never written): {}. The other nodes are too \
         few for a quorum, so these nodes cannot read the fences, and never grant again",
        list(lost)
    )]
    Lost { lost: Vec<NodeName> },
    #[error(
        "{} {} to be let in. Only a quorum of epoch {epoch} lets nodes in, and the other members \
         are too few for a quorum: these nodes never grant again",
        list(blank), if blank.len() == 1 { "waits" } else { "wait" }
    )]
    NoQuorum { blank: Vec<NodeName>, epoch: u64 },
}

impl Unsafe {
    /// The obstacle of a `member` that does not answer. `unsent` has the members to which the
    /// system refuses to send, with the errors.
    pub(super) fn silent(unsent: &BTreeMap<NodeName, String>, member: NodeName) -> Self {
        match unsent.get(&member).cloned() {
            Some(error) => Self::Unsent { member, error },
            None => Self::Silent { member },
        }
    }

    /// The obstacle if the members of `blank` wait to be let in, and the other members of
    /// `membership` are no quorum that could let them in.
    #[must_use]
    pub fn let_in_by_none(membership: &Membership, blank: &BTreeSet<NodeName>) -> Option<Self> {
        let waits: Vec<_> =
            membership.names().iter().filter(|name| blank.contains(*name)).cloned().collect();
        let positions = waits.iter().filter_map(|name| membership.position(name)).collect();
        let rest = membership.everyone().minus(positions);
        let never = !waits.is_empty() && !membership.quorums().is_quorum(rest);
        never.then(|| Self::NoQuorum { blank: waits, epoch: membership.id().number })
    }

    /// The obstacle of `member`, which is one of the members in `blank`.
    #[must_use]
    pub fn blank(membership: &Membership, blank: &BTreeSet<NodeName>, member: NodeName) -> Self {
        match Self::let_in_by_none(membership, blank) {
            Some(Self::NoQuorum { epoch, .. }) => Self::NoQuorum { blank: vec![member], epoch },
            _ => Self::Blank { member },
        }
    }

    /// Whether the obstacle lasts until an operator acts.
    #[must_use]
    pub const fn is_for_ever(&self) -> bool {
        matches!(self, Self::TooLong { .. } | Self::Lost { .. } | Self::NoQuorum { .. })
    }

    /// Advice for the obstacle.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::Silent { member } => format!(
                "start {member}, check the network to it, or look in its log: {member} answers no \
                 node whose key it does not accept"
            ),
            Self::Unsent { member, .. } => format!(
                "correct the routes or the firewall of this machine, or the address of {member} \
                 in members; if --listen is given, {member} must be reachable from its address"
            ),
            Self::Blank { member } => format!(
                "wait for the members, or replace {member}: its state directory is empty. If you \
                 have the earlier directory of {member}, start {member} with that one instead"
            ),
            Self::Unresolved { host, .. } => {
                format!("correct {host} in members, or see to its DNS record")
            }
            Self::Differs { member } => format!(
                "give {member} and this command the same cluster, members, quorums and drift"
            ),
            Self::OldList(old_list) => old_list.fix(),
            Self::NotServing { member, service } => Activity(*service).fix(member),
            Self::NotRenewed { leader, member, .. } => format!(
                "wait: {leader} renews after a third of its lease at the latest; if this lasts, \
                 the log of {leader} says why {member} refuses, or where {leader} looks for \
                 {member}: if {member} is elsewhere, correct the list of {leader}, and restart it"
            ),
            Self::TooLong { leader, member, lease, .. } => format!(
                "start {member} again with a lease-max of {} or more, or {leader} with a shorter \
                 lease",
                Span(*lease)
            ),
            Self::Ending { leader, remaining, .. } => format!(
                "wait {}; if {leader} renews the lease meanwhile, this command says what to change",
                Span(*remaining)
            ),
            Self::Later { raising, .. } => format!("wait {}", Span(raising.remaining)),
            Self::Lost { .. } => format!(
                "if the cluster is new, and only the other nodes began with --new, stop those \
                 nodes and move their state directories away. Then start them without --new. \
                 Otherwise, {RECOVER}"
            ),
            Self::NoQuorum { .. } => RECOVER.to_owned(),
        }
    }

    /// Whether `other` is the same obstacle, even if the remaining times differ.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::NotServing { member, service },
                Self::NotServing { member: another, service: before },
            ) => {
                let kind = std::mem::discriminant::<Service>;
                member == another && kind(service) == kind(before)
            }
            (
                Self::Ending { election, leader, member, .. },
                Self::Ending { election: other, leader: led, member: another, .. },
            ) => (election, leader, member) == (other, led, another),
            (Self::Later { member, .. }, Self::Later { member: another, .. }) => member == another,
            _ => self == other,
        }
    }
}

/// Advice to follow the how-to page.
const RECOVER: &str = "if no lost directory can be restored, stop all nodes and candidates, and \
                       run tenure node recover as docs/howto/lost-quorum.md says";

fn list(names: &[NodeName]) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(", ")
}

/// The activity of a grantor that does not grant, as a verb phrase.
struct Activity(Service);

impl Activity {
    /// Advice for the grantor `member`.
    fn fix(&self, member: &NodeName) -> String {
        match self.0 {
            Service::Quarantine { remaining } => format!("wait {}", Span(remaining)),
            Service::Serving => "ask again".to_owned(),
            Service::Recovering { known: true } => {
                format!(
                    "start enough of the other nodes: without {member}, those that serve must be a \
                     quorum"
                )
            }
            Service::Recovering { known: false } => {
                format!(
                    "start all nodes: only all of them together found a new cluster; if all run, \
                     read the log of {member}"
                )
            }
            Service::Replaced => format!(
                "if an old directory was put back, stop {member} and move that directory away. \
                 Then start {member} with the later directory, or with an empty one if the later \
                 is gone. If two processes are {member}, stop the process with the old directory"
            ),
            Service::Removed => format!(
                "stop {member} where it runs with an old state directory: another node has its \
                 place. To give {member} the place again, stop {member} and move that directory \
                 away. Then start {member} with the present members in its list, and run tenure \
                 members replace {member}"
            ),
            Service::WrongClock => format!(
                "correct the clock of the machine of {member}, then run tenure node clear-breach \
                 there, or start {member} again: its log names the members whose clocks differ"
            ),
            Service::Wedged => format!(
                "wait some milliseconds; if {member} still grants nothing, start the members that \
                 {member} waits for: its log names them"
            ),
            Service::Starting => {
                format!("wait: that takes milliseconds; if it lasts, look at the disk of {member}")
            }
            Service::Failing => {
                format!(
                    "make room in the state directory of {member} (1 MiB is enough), mend its \
                     disk, or bring the directory back: its log and tenure node status say \
                     which"
                )
            }
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Service::Serving => f.write_str("serves"),
            Service::Quarantine { remaining } => {
                let left = Span(remaining);
                write!(
                    f,
                    "grants nothing for {left} more, until the leases that it may have \
                           granted end"
                )
            }
            Service::Recovering { .. } => f.write_str(
                "has no stored state (lost, or never written), and asks the other members",
            ),
            Service::Failing => f.write_str("is unable to write its state directory"),
            Service::Starting => {
                f.write_str("starts, and waits for the first write to its state directory")
            }
            Service::Replaced => {
                f.write_str("has an old state directory: the other members know a later one")
            }
            Service::Wedged => f.write_str("grants nothing until it has entered the next epoch"),
            Service::Removed => f.write_str("is no member any more"),
            Service::WrongClock => f.write_str(
                "grants nothing, because its clock runs apart from those of other members",
            ),
        }
    }
}

/// A span for people: whole units, or two digits behind the point.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            span if span.subsec_nanos() == 0 => write!(f, "{span:?}"),
            span => write!(f, "{span:.2?}"),
        }
    }
}
