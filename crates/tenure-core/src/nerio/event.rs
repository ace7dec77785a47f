//! Events for applications and operators.

mod sentences;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use self::sentences::{awaited, join_waits, old_memory, ordered, recovery_waits, removed};
use super::body::{Refusal, fmt_fence};
use super::candidate::told;
use super::epoch::{ChangeError, DocumentError, Hindrance, Membership, SeatChange};
use super::following_lease::LeaseChange;
use super::founding_trouble::FoundingTrouble;
use super::identity::Who;
pub use super::ignored::Ignored;
use super::oqwbs::ClockFault;
use super::rates::{ClockApart, wrong_clock};
use super::ring::WeakLeader;
use super::timestamp::QuorumTimestamp;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;
use crate::timing::TooShort;
use crate::waiting::List;

/// An event of a node.
pub type Event = crate::event::Event<OwnEvent>;

/// Events that only Nerio has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    /// The leadership that begins has this quorum timestamp, for edicts. Emitted just before
    /// [`Elected`](crate::Event::Elected).
    Stamped {
        fence: Fence,
        timestamp: QuorumTimestamp,
        /// Number of the epoch in which the leadership was won.
        epoch: u64,
    },
    /// The leadership is over, but its release waits for the end of a promise to a verifier.
    /// Emitted just before [`Ended`](crate::Event::Ended).
    Held {
        /// Time on this node's clock.
        until: Time,
    },
    /// A grantor refused this candidate for a reason that time alone does not mend.
    Obstacle {
        grantor: NodeName,
        refusal: Refusal,
    },
    /// The members in `silent` have left requests of this node's leaders unanswered for longer than
    /// a lease. If one more member falls silent, no quorum answers, and no lease is renewed. The
    /// event concerns the node, not an election, and is emitted when these members change.
    NoSpare {
        silent: Vec<NodeName>,
        /// Time since which all these members are silent, on this node's clock.
        since: Time,
    },
    /// The quorums of this node's leaders can miss one more member again.
    SpareAgain,
    /// Quorums answer this node's leaders so slowly that its lease is too short: settings with the
    /// measured round trip would be refused. The event concerns the node, not an election, and is
    /// emitted once, until [`LeaseSuffices`](Self::LeaseSuffices).
    LeaseOutgrown {
        /// Number of renewals that were measured, of which 99 % took at most the round trip of
        /// `short`.
        samples: usize,
        /// The measured round trip, the lease, and the shortest lease that suffices.
        short: Box<TooShort>,
    },
    /// The lease of this node suffices again, even for a round trip that is a quarter longer than
    /// the measured one.
    LeaseSuffices {
        /// Number of renewals that were measured, of which 99 % took at most `round_trip`.
        samples: usize,
        round_trip: Duration,
    },
    /// The lease of this node follows the network: later requests ask for another lease.
    LeaseFollows(LeaseChange),
    /// Oks prove that the clocks of a member and of this node are not both within ρ. If the
    /// member's clock is the faster one, the member's leases no longer count here.
    ClockApart(Box<ClockApart>),
    /// This node takes its own clock to be wrong: without these members, whose clocks are apart
    /// from its own, no quorum is left. Its leaderships end, and its grantor refuses every request,
    /// until [`BreachCleared`](Self::BreachCleared).
    WrongClock {
        apart: Vec<NodeName>,
    },
    /// An operator says that the clocks are right: this node compares them anew.
    BreachCleared,
    /// Another incarnation uses this candidate's name at the same time.
    NameShared {
        grantor: NodeName,
        other: SocketAddr,
    },
    Verified {
        question: Question,
        leader: Who,
        /// Earliest end of the leadership, on this node's clock.
        until: Time,
        fence: Option<Fence>,
    },
    NotVerified {
        question: Question,
        by: Who,
    },
    /// An authorized process orders the leadership with this fence to end. Emitted once for each
    /// order. The leadership goes on unless the application resigns, or hands over to `next`; the
    /// process that gave the order learns only whether the leadership ended in time. The core drops
    /// an order for an earlier leadership. Compare the fence all the same, because this event may
    /// be read late.
    Ordered {
        fence: Fence,
        /// Next leader, if the order names one.
        next: Option<NodeName>,
        /// Member that passed the order on.
        by: NodeName,
        from: SocketAddr,
    },
    /// This grantor's grant went to another candidate, and is written down.
    Granted {
        to: Who,
    },
    /// The holder gave up this grantor's grant, or the holder's process has ended.
    Freed {
        by: Who,
    },
    /// The process of this incarnation has ended, as the member that watches the process reports.
    Gone {
        who: Who,
        by: NodeName,
    },
    Serving,
    /// This grantor was started with a larger `delta_max`, and gives the longer leases only from
    /// `until` on: leases that another grantor may have forgotten must end first. Emitted after
    /// [`Serving`](Self::Serving).
    RaiseWaits {
        /// Longest lease during the wait.
        before: Duration,
        /// Longest lease afterwards.
        delta_max: Duration,
        /// Time on the grantor's clock.
        until: Time,
    },
    /// The wait for longer leases is over.
    Raised {
        delta_max: Duration,
    },
    /// This grantor waits until every lease that it may have given has ended.
    Quarantined {
        /// Time on the grantor's clock.
        until: Time,
    },
    /// This grantor has no memory: it reads the fences of other members, or the cluster is new.
    Recovering,
    /// A recovery waits for members: it needs a full quorum of other members with a memory or, if
    /// no member has one, all members. Emitted when the lists change.
    RecoveryWaits {
        /// Members whose memory is intact.
        whole: Vec<NodeName>,
        /// Members that have not answered.
        silent: Vec<NodeName>,
        /// Members whose directory is empty, too.
        empty: Vec<NodeName>,
        /// Members, among those that answered, that do not recognize this grantor as a member, and
        /// so do not write down its memory.
        strange: Vec<NodeName>,
        /// Members with an empty directory that have asked this grantor, and still lack an answer
        /// of another member.
        deaf: Vec<NodeName>,
        /// Members with an empty directory that answer this grantor, and have not asked it.
        unasked: Vec<NodeName>,
    },
    /// The cluster is founded: no member had a memory, and the members' present memories are the
    /// founders.
    Founded,
    /// The founding by a document waits.
    Founding(FoundingTrouble),
    /// Others know a later memory of this grantor: its state directory is out of date, or another
    /// process has its name. The grantor no longer grants.
    Replaced,
    /// An ok of `member` was ignored, because `by` knows a later memory of `member`.
    OldMemory {
        member: NodeName,
        by: NodeName,
    },
    /// A write to the state directory failed. Emitted once, until [`DiskMended`](Self::DiskMended).
    DiskFailed,
    /// A flush has taken more than a second, and goes on. Emitted once, until
    /// [`DiskMended`](Self::DiskMended), or [`DiskFailed`](Self::DiskFailed) when the flush fails.
    DiskHangs {
        /// Start of the flush, on the grantor's clock.
        since: Time,
    },
    /// Every record is written, and no flush takes too long.
    DiskMended,
    NameContested {
        name: NodeName,
        /// Addresses of the two incarnations, in ascending order.
        addresses: [SocketAddr; 2],
    },
    /// An incarnation of a participant speaks from two addresses; the grantor keeps the first
    /// address.
    AddressContested {
        who: Who,
        /// Address from which the holder asked for the grant.
        holder: SocketAddr,
        other: SocketAddr,
    },
    /// The memberships of the epochs of this node, at most four. The first membership is that of
    /// its candidates. The others are of the previous epoch, of its grantor's epoch, and of a
    /// proposed or decided epoch. Emitted when they change, before all other effects of an input.
    /// Before the first event, the only membership is that of the
    /// [settings](super::Checked::membership). A start on a memory that names another membership
    /// emits that membership.
    Epochs(Vec<Arc<Membership>>),
    /// An operator has asked this grantor for a change of members, and the change begins.
    Changing {
        what: SeatChange,
        by: NodeName,
        from: SocketAddr,
    },
    /// A node with an empty directory, maybe this node, asks for the place of the member with its
    /// name. The members do not let the node in, or not yet. Emitted when the reasons change.
    Awaited {
        name: NodeName,
        /// Members that do not agree, with their reasons.
        why: Vec<(NodeName, Hindrance)>,
        /// Time at which the spans in these reasons were measured, on this node's clock.
        at: Time,
    },
    /// No node asks for the place of this member any more.
    AwaitedNoMore {
        name: NodeName,
    },
    /// This grantor begins a replacement by itself: a quorum of members has heard nothing of the
    /// memory of a member, and the memory of the node at `address` takes its place.
    Replacing {
        name: NodeName,
        address: SocketAddr,
    },
    /// The members refused this grantor's replacement of a member.
    ReplacementFailed {
        name: NodeName,
        error: ChangeError,
    },
    /// This grantor has accepted the members of the next epoch. The grantor, and each later process
    /// on its memory, grants nothing until it has entered that epoch.
    Wedged {
        /// Number of the epoch.
        next: u64,
    },
    /// The members of this epoch are decided.
    Decided {
        epoch: u64,
        members: Vec<NodeName>,
    },
    /// This grantor is a member of a decided epoch, and waits until the silent members report the
    /// leases that may last. Emitted when the list of silent members changes.
    JoinWaits {
        epoch: u64,
        silent: Vec<NodeName>,
    },
    /// This grantor has entered this epoch, and grants there.
    Entered {
        epoch: u64,
        members: Vec<NodeName>,
    },
    /// This grantor is no member of this decided epoch, and no longer grants.
    Removed {
        epoch: u64,
        members: Vec<NodeName>,
        /// Whether a member has the name of this node, with another memory.
        replaced: bool,
    },
    /// A member is in another cluster, which this node does not join: the document does not fit the
    /// settings, or the node's own members do not agree with that member. Emitted each time the
    /// member names the epoch.
    OtherDocument {
        by: NodeName,
        address: SocketAddr,
        /// Digest of the document of epoch 0, as the member gave it.
        founding: u64,
        /// The reason why the document does not fit; `None` if the node has read no such document.
        error: Option<Box<DocumentError>>,
    },
    /// A member names an epoch, but does not send its document, or sends it damaged or too long.
    /// Emitted after each attempt to read that document.
    UnreadableDocument {
        by: NodeName,
        address: SocketAddr,
    },
    /// The weak leader of the partition in which this node sees itself has changed; `None` while it
    /// is unknown. Nodes with a ring emit this.
    WeakLeader(Option<WeakLeader>),
    /// This node and another node cannot compare their wall clocks, because of `fault`. Emitted
    /// with each message that proves the fault.
    ClocksApart {
        who: NodeName,
        fault: Box<ClockFault>,
    },
    Ignored(Ignored),
}

/// A verification. Several verifications of one election may be on their way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Question {
    pub leader: SocketAddr,
    pub start: Time,
}

impl OwnEvent {
    /// The event for operators at `now`, with its election and a remedy. `Display` prints some
    /// events shorter, for traces.
    pub fn sentence(&self, election: Option<&ElectionName>, now: Time) -> impl fmt::Display {
        fmt::from_fn(move |f| match (self, election) {
            (Self::Serving, _) => f.write_str("granting leases"),
            (Self::Recovering, _) => f.write_str("reading the fences of the other members"),
            (Self::DiskMended, _) => f.write_str("the state directory can be written again"),
            (Self::RaiseWaits { before, delta_max, until }, _) => write!(
                f,
                "lease-max was raised from {before:?} to {delta_max:?}. For {:.1?} this node still \
                 gives no lease longer than {before:?}: other grantors may have forgotten longer \
                 leases, and these must end first",
                until.since(now)
            ),
            (Self::NameContested { name, addresses: [one, other] }, _) => write!(
                f,
                "two processes use the name {name} at the same time, at {one} and {other}: end one \
                 of the two, or give one of them another name"
            ),
            (Self::Obstacle { grantor, refusal }, Some(election)) => {
                write!(f, "{grantor} refuses this candidate for {election}: {}", told(refusal).1)
            }
            (Self::NoSpare { silent, since }, _) => write!(
                f,
                "no answer from {} for {:.1?}, and no spare node is left: if one more falls \
                 silent, this process loses what it leads. Start {2}, or check the network to {2}",
                List(silent, ", "),
                now.since(*since),
                if silent.len() == 1 { "it" } else { "them" }
            ),
            (Self::SpareAgain, _) => f.write_str("a spare node answers again"),
            (Self::LeaseOutgrown { samples, short }, _) => write!(
                f,
                "the network has become too slow for the lease: 99 % of the last {samples} \
                 renewals waited up to {:?} for a quorum, and {short}",
                short.beside.round_trip
            ),
            (Self::LeaseSuffices { samples, round_trip }, _) => write!(
                f,
                "the lease suffices for the network again: 99 % of the last {samples} renewals \
                 waited up to {round_trip:?} for a quorum"
            ),
            (Self::ClockApart(apart), _) => apart.sentence(f),
            (Self::NameShared { grantor, other }, Some(election)) => write!(
                f,
                "{grantor} reports that another process, at {other}, uses this candidate's name \
                 for {election}: end one of the two, or give one of them another name"
            ),
            (Self::UnreadableDocument { by, address }, _) => write!(
                f,
                "{by} at {address} does not show its members list: check the network to {by}, or \
                 run the version of {by} here"
            ),
            (Self::Ordered { .. }, Some(election)) => write!(f, "{election}: {self}"),
            (Self::Removed { epoch, members, replaced }, _) => {
                removed(*epoch, members, *replaced, f)
            }
            (Self::JoinWaits { epoch, silent }, _) => join_waits(*epoch, silent, f),
            (Self::ClocksApart { who, fault }, _) => match &**fault {
                ClockFault::Ahead { by, skew } | ClockFault::Behind { by, skew } => write!(
                    f,
                    "the wall clock of {who} is ahead of this node's by {by:.1?} or more, and \
                     clock-skew-max is {skew:?}: set both clocks right"
                ),
                _ => write!(f, "this node and {who} cannot compare their wall clocks: {fault}"),
            },
            (Self::Awaited { name, why, at }, _) => awaited(name, why, now.since(*at), f),
            (Self::Granted { to }, Some(election)) => write!(f, "{election} granted to {to}"),
            (Self::Freed { by }, Some(election)) => write!(f, "{election} given up by {by}"),
            _ if self.is_of_this_node() => write!(f, "this node {self}"),
            _ => write!(f, "{self}"),
        })
    }
}

const FOUNDED: &str = "founds the cluster: the directories of all members are empty. The fences of \
                       this cluster are above those of an earlier cluster, if there was one";
const REPLACED: &str = "the other members know a later state directory of this node, so this node \
                        grants no more. If an old directory was put back here: stop this node and \
                        move that directory away. Then start this node with the later directory, \
                        or with an empty one if the later is gone. If another process runs under \
                        this name with the later directory: stop one of the two for good. If this \
                        node is to stay, start it with an empty directory";

impl fmt::Display for OwnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stamped { fence, timestamp, .. } => write!(f, "fence {fence} has {timestamp}"),
            Self::Held { until } => write!(f, "held until {until}"),
            Self::Obstacle { grantor, refusal } => write!(f, "obstacle at {grantor}: {refusal}"),
            Self::NoSpare { silent, since } => {
                write!(f, "no spare: no answer from {} since {since}", List(silent, ", "))
            }
            Self::SpareAgain => f.write_str("a spare again"),
            Self::NameShared { grantor, other } => {
                write!(f, "name shared with {other}, says {grantor}")
            }
            Self::Verified { leader, until, fence, .. } => {
                write!(f, "verified {leader} until {until}")?;
                fmt_fence(*fence, f)
            }
            Self::NotVerified { by, .. } => write!(f, "{by} does not lead"),
            Self::Ordered { fence, next, by, from } => {
                write!(f, "an order from {from}, passed on by {by}, to ")?;
                ordered(*fence, next.as_ref(), f)
            }
            Self::Granted { to } => write!(f, "granted to {to}"),
            Self::Freed { by } => write!(f, "freed by {by}"),
            Self::Gone { who, by } => write!(f, "{by} has seen the end of the process of {who}"),
            Self::Serving => f.write_str("serving"),
            Self::RaiseWaits { before, delta_max, until } => {
                write!(f, "gives no lease longer than {before:?} until {until}, then {delta_max:?}")
            }
            Self::Raised { delta_max } => write!(f, "granting leases up to {delta_max:?}"),
            Self::Quarantined { until } => write!(f, "in quarantine until {until}"),
            Self::Recovering => f.write_str("recovering"),
            Self::RecoveryWaits { whole, silent, empty, strange, deaf, unasked } => {
                recovery_waits([whole, silent, empty, strange], [deaf, unasked], f)
            }
            Self::Founded => f.write_str(FOUNDED),
            Self::Founding(trouble) => trouble.fmt(f),
            Self::Replaced => f.write_str(REPLACED),
            Self::OldMemory { member, by } => old_memory(member, by, f),
            Self::DiskFailed => f.write_str("cannot write"),
            Self::DiskHangs { since } => write!(f, "has written nothing since {since}"),
            Self::DiskMended => f.write_str("can write again"),
            Self::NameContested { name, addresses: [one, other] } => {
                write!(f, "name {name} contested by {one} and {other}")
            }
            Self::AddressContested { who, holder, other } => {
                write!(f, "{who} sends from {holder} and {other}; this node believes {holder}")
            }
            Self::Epochs(_)
            | Self::Changing { .. }
            | Self::Awaited { .. }
            | Self::AwaitedNoMore { .. }
            | Self::Replacing { .. }
            | Self::ReplacementFailed { .. }
            | Self::Wedged { .. }
            | Self::Decided { .. }
            | Self::JoinWaits { .. }
            | Self::Entered { .. }
            | Self::Removed { .. }
            | Self::OtherDocument { .. }
            | Self::UnreadableDocument { .. } => self.fmt_epoch(f),
            Self::LeaseOutgrown { .. }
            | Self::LeaseSuffices { .. }
            | Self::LeaseFollows(_)
            | Self::ClockApart(_)
            | Self::WrongClock { .. }
            | Self::BreachCleared
            | Self::ClocksApart { .. } => self.fmt_time(f),
            Self::WeakLeader(Some(leader)) => write!(f, "the weak leader is {leader}"),
            Self::WeakLeader(None) => f.write_str("the weak leader is unknown"),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}

impl OwnEvent {
    /// Whether `Display` begins with a verb whose subject is this node.
    const fn is_of_this_node(&self) -> bool {
        matches!(
            self,
            Self::RecoveryWaits { .. }
                | Self::Founded
                | Self::BreachCleared
                | Self::Changing { .. }
                | Self::Replacing { .. }
                | Self::ReplacementFailed { .. }
                | Self::Wedged { .. }
                | Self::Entered { .. }
        )
    }

    fn fmt_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseOutgrown { short, .. } => write!(f, "lease outgrown: {short}"),
            Self::LeaseSuffices { round_trip, .. } => {
                write!(f, "lease suffices for round trips of {round_trip:?}")
            }
            Self::LeaseFollows(change) => write!(f, "{change}"),
            Self::ClockApart(apart) => write!(f, "{apart}"),
            Self::WrongClock { apart } => f.write_str(&wrong_clock(apart)),
            Self::BreachCleared => f.write_str("compares all clocks anew"),
            Self::ClocksApart { who, fault } => write!(f, "clocks apart with {who}: {fault}"),
            _ => Ok(()),
        }
    }

    fn fmt_epoch(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epochs(all) => {
                let numbers = all.iter().map(|one| one.id().number).collect::<Vec<_>>();
                write!(f, "takes messages for epochs {}", List(&numbers, ", "))
            }
            Self::Changing { what, by, from } => {
                write!(f, "begins a change of members: {what}, for {by} at {from}")
            }
            Self::Awaited { name, why, .. } => awaited(name, why, Duration::ZERO, f),
            Self::AwaitedNoMore { name } => {
                write!(f, "no node with an empty directory asks for the place of {name} any more")
            }
            Self::Replacing { name, address } => write!(
                f,
                "replaces the directory of {name} by the directory of the node at {address}: a \
                 quorum of members has heard nothing from {name}"
            ),
            Self::ReplacementFailed { name, error } => {
                write!(f, "cannot replace the directory of {name}: {error}")
            }
            Self::Wedged { next } => {
                write!(f, "grants nothing until it has entered epoch {next}")
            }
            Self::Decided { epoch, members } => {
                write!(f, "epoch {epoch} is decided: {}", List(members, ", "))
            }
            Self::JoinWaits { epoch, silent } => {
                write!(f, "waits to enter epoch {epoch}: no answer from {}", List(silent, ", "))
            }
            Self::Entered { epoch, members } => {
                write!(f, "grants in epoch {epoch}, with the members {}", List(members, ", "))
            }
            Self::Removed { epoch, members, .. } => {
                write!(f, "is no member of epoch {epoch}: {}", List(members, ", "))
            }
            Self::OtherDocument { by, error: Some(error), .. } => {
                write!(f, "{by} has another members document: {error}")
            }
            Self::OtherDocument { by, error: None, .. } => write!(f, "{by} is in another cluster"),
            Self::UnreadableDocument { by, .. } => {
                write!(f, "cannot read the members document of {by}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn missing_spare_is_named() {
        let silent = ["c".parse().unwrap()].into();
        let event = OwnEvent::NoSpare { silent, since: Time::from_nanos(1_000_000_000) };
        assert_eq!(
            event.sentence(None, Time::from_nanos(7_700_000_000)).to_string(),
            "no answer from c for 6.7s, and no spare node is left: if one more falls silent, this \
             process loses what it leads. Start it, or check the network to it"
        );
    }

    #[test]
    fn recovery_names_the_missing_members() {
        let names = |names: &[&str]| -> Vec<NodeName> {
            names.iter().map(|of| of.parse().unwrap()).collect()
        };
        let said = |whole: &[&str], silent: &[&str], empty: &[&str], strange: &[&str]| {
            let [whole, silent, empty, strange] = [whole, silent, empty, strange].map(names);
            let [deaf, unasked] = [Vec::new(), Vec::new()];
            OwnEvent::RecoveryWaits { whole, silent, empty, strange, deaf, unasked }.to_string()
        };
        let new = said(&[], &["c"], &["b"], &[]);
        assert!(new.contains("c does not answer: start it"), "{new}");
        assert!(new.contains("b has no stored state either"), "{new}");
        assert!(new.ends_with("it is founded when all members are there"), "{new}");
        let lost = said(&["c"], &[], &["b"], &[]);
        assert!(lost.contains("c remembers the cluster, but a quorum is needed"), "{lost}");
        let moved = said(&["b", "c"], &[], &[], &["b", "c"]);
        assert!(moved.contains("b, c take this node for a stranger"), "{moved}");
        let apart = |empty: &[&str], deaf: &[&str], unasked: &[&str]| {
            let [empty, deaf, unasked] = [empty, deaf, unasked].map(names);
            let [whole, silent, strange] = [Vec::new(), Vec::new(), Vec::new()];
            OwnEvent::RecoveryWaits { whole, silent, empty, strange, deaf, unasked }.to_string()
        };
        let begin = "has no stored state (lost, or never written), and asks the other members: b, \
                     c have no stored state either. The cluster is founded when all members hear \
                     each other. ";
        let mend = "on b, or mend the network between them";
        assert_eq!(
            [apart(&["b", "c"], &["b"], &[]), apart(&["b", "c"], &[], &["b"])],
            [
                format!(
                    "{begin}b has not heard from c: correct the address of c in `members` {mend}"
                ),
                format!(
                    "{begin}b has not asked this node: correct the address of this node in \
                     `members` {mend}"
                ),
            ]
        );
        let five = apart(&["b", "c", "d", "e"], &["b"], &[]);
        assert!(five.contains("b has not heard from all of c, d, e: its log names the "), "{five}");
    }
}
