//! Reports of a node to its operator.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use tenure_core::nerio::{HostPort, OwnEvent};
use tenure_core::{ElectionName, NodeName, Time};

use crate::asker;
pub use crate::key_trouble::KeyTrouble;
use crate::state::{Grants, Memory};

/// The part of a grantor's memory that was lost, and the cause. The grantor waits for old leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgot {
    /// The grants: they are of another boot of the machine, or of another time namespace.
    OtherBoot,
    /// The grants: their table is of an earlier memory, which was lost.
    OtherMemory,
    /// The grants: their table was written among the members before a change.
    OtherEpoch,
    /// The grants, if there were any: there is no table of them, as before the first grant.
    NoTable,
    /// The grants: their table is damaged, as [`Notice::GrantsDamaged`] says.
    Damaged,
    /// Everything: the state directory was lost, or the grantor has none.
    Everything,
}

impl Forgot {
    /// The part that a start on this memory has lost.
    pub(crate) const fn of(memory: &Memory) -> Self {
        match memory {
            Memory::Kept { grants: Grants::OtherBoot, .. } => Self::OtherBoot,
            Memory::Kept { grants: Grants::OtherMemory, .. } => Self::OtherMemory,
            Memory::Kept { grants: Grants::OtherEpoch, .. } => Self::OtherEpoch,
            Memory::Kept { grants: Grants::Torn(_), .. } => Self::Damaged,
            Memory::Kept { grants: Grants::Missing | Grants::SameBoot(_), .. } => Self::NoTable,
            Memory::Fresh | Memory::Lost => Self::Everything,
        }
    }
}

impl fmt::Display for Forgot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherBoot => {
                "its grants are from another boot of its machine, or from another time namespace"
            }
            Self::OtherMemory => "its grants are from an earlier state directory, which was lost",
            Self::OtherEpoch => {
                "its grants are from before a change of members, and the process ended before it \
                 had entered the epoch of the new members"
            }
            Self::NoTable => {
                "there is no table of its grants: this node had granted nothing yet, or an \
                 operator removed the table"
            }
            Self::Damaged => "the table of its grants is damaged",
            Self::Everything => {
                "it remembers nothing, because its state directory is new, or it has no state \
                 directory"
            }
        })
    }
}

/// A report about a node, apart from its elections.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A peer runs with another configuration: another cluster or drift bound, or, if both are
    /// members, another members list or quorum system. This node believes no message of that peer.
    /// Reported once in ten minutes for each address.
    Mismatch {
        peer: NodeName,
        address: SocketAddr,
        /// Whether the peer is a member, as far as this node can tell.
        is_member: bool,
        /// Digest of the peer's configuration.
        theirs: u64,
        ours: u64,
        /// Whether the peer is in a cluster of its own, as far as its epoch shows.
        apart: bool,
        /// The difference, if this node has read the peer's document.
        why: Option<String>,
    },
    /// The key of a peer does not fit. Any process can send such datagrams in the name of any
    /// address.
    Key {
        /// The member at `address`, or the name that the peer gives itself; `None` for other peers.
        peer: Option<NodeName>,
        address: SocketAddr,
        /// Whether a member may have the address `address`.
        is_member: bool,
        why: KeyTrouble,
    },
    /// Members with another configuration leave this node no quorum. The node goes on asking.
    /// Reported again after a quorum agreed for a while.
    NoQuorumAgrees { differing: Vec<NodeName>, members: usize },
    /// A quorum of members may run with this node's configuration again.
    QuorumMayAgree,
    /// This grantor receives at another address than the members list names. Behind a relay this is
    /// right; without a relay no node reaches this grantor.
    ListensElsewhere {
        here: SocketAddr,
        /// Host and port of this grantor in the list.
        member: HostPort,
    },
    /// The settings of this grantor differ from the members in its state directory, which the
    /// grantor uses. Reported once, at the start.
    OtherLine {
        /// Members that the settings lack.
        missing: Vec<NodeName>,
        /// Names in the settings that are no members.
        more: Vec<NodeName>,
        /// Whether the settings have another quorum system.
        quorums: bool,
    },
    /// The name of a member's host gives no address. The node looks the name up again after 1 to
    /// 10 s.
    Unresolved {
        member: NodeName,
        /// Host and port of the member in the list.
        host: String,
        error: String,
        /// Whether the name gave an address before. The node still tries that address.
        known: bool,
    },
    /// The name of a member's host gives other addresses than before, or gives addresses again.
    Resolved { member: NodeName, host: String, addresses: Vec<SocketAddr> },
    /// Two members have one address, so one of them is not reached: a member takes no message for
    /// another member.
    AtOneAddress { members: [NodeName; 2], address: SocketAddr },
    /// A member was heard at the address of another member: the members lists differ, or a process
    /// was started under another name.
    Exchanged {
        member: NodeName,
        host: String,
        /// Address at which the member was heard.
        address: SocketAddr,
        /// Member with this address in the list.
        of: NodeName,
    },
    /// A message for another member came here.
    ForAnother {
        peer: NodeName,
        address: SocketAddr,
        member: NodeName,
        host: String,
        /// Member that this node is.
        own: NodeName,
    },
    /// Without keys: a process with the name of a member was heard at an address that the member
    /// does not have here. The node takes that process for a stranger.
    Moved {
        member: NodeName,
        host: String,
        /// Address at which the process was heard.
        address: SocketAddr,
    },
    /// Two processes run as one member at the same time, with copies of one memory or with a memory
    /// each.
    MemberTwice { member: NodeName, addresses: [SocketAddr; 2] },
    /// This grantor was declared new, and `leader` has led `election` since before its start: the
    /// grantor may have granted before, and have forgotten its grants. Reported once.
    LedBefore { leader: NodeName, election: ElectionName },
    /// This grantor lost memory, and grants nothing until every lease has ended.
    Quarantined {
        /// End of the wait on `CLOCK_BOOTTIME`.
        until: Time,
        forgot: Forgot,
    },
    /// The table of this grantor's grants is damaged. The grantor does not believe the table, waits
    /// until all leases have ended, and writes a new table with its next grant.
    GrantsDamaged {
        /// Path of the table, and the damage, in words.
        error: String,
    },
    /// The node cannot write its state directory, and tries again every second. Reported once,
    /// until [`DiskMended`](OwnEvent::DiskMended).
    DiskFailed {
        /// Operation that failed, its path, and the error of the system.
        error: String,
    },
    /// A flush of the state directory has not ended for a second, and goes on. Reported once, until
    /// [`DiskMended`](OwnEvent::DiskMended), or [`DiskFailed`](Self::DiskFailed) when the flush
    /// fails.
    DiskHangs {
        /// Path, and duration of the flush, in words.
        error: String,
    },
    /// The supervisor does not watch this process, or no longer watches it, for this reason.
    Unwatched { supervisor: NodeName, socket: PathBuf, why: String },
    /// The supervisor watches this process.
    Watched { supervisor: NodeName },
    /// An event of the core. The driver knows more about three events, and reports
    /// [`Quarantined`](Self::Quarantined), [`DiskFailed`](Self::DiskFailed) and
    /// [`DiskHangs`](Self::DiskHangs) instead. Before a candidate leads, the driver reports no
    /// [`Obstacle`](OwnEvent::Obstacle): [`Campaign::waiting`](tenure::Campaign::waiting) gives the
    /// reason why the candidate has no quorum.
    Protocol { election: Option<ElectionName>, event: OwnEvent },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { peer: Some(peer), address, why, .. } => {
                write!(f, "{peer} at {address} {why}")
            }
            Self::Key { peer: None, address, why, .. } => write!(f, "a process at {address} {why}"),
            Self::Mismatch { peer, address, why: Some(why), .. } => write!(
                f,
                "{peer} at {address} runs with another configuration: {why}; cluster and drift \
                 must be the same everywhere"
            ),
            Self::Mismatch { peer, address, theirs, ours, apart, .. } => {
                mismatch(peer, *address, (*theirs, *ours), *apart, f)
            }
            Self::NoQuorumAgrees { differing, members } => write!(
                f,
                "{} of {members} members run with another configuration ({}), so no quorum agrees \
                 with this process: cluster, members, quorums and drift must be the same \
                 everywhere",
                differing.len(),
                list(differing)
            ),
            Self::QuorumMayAgree => f.write_str("a quorum of members may agree again"),
            Self::OtherLine { missing, more, quorums } => other_line(missing, more, *quorums, f),
            Self::ListensElsewhere { .. }
            | Self::Unresolved { .. }
            | Self::Resolved { .. }
            | Self::AtOneAddress { .. }
            | Self::Exchanged { .. }
            | Self::ForAnother { .. }
            | Self::Moved { .. }
            | Self::MemberTwice { .. } => places(self, f),
            Self::LedBefore { leader, election } => write!(
                f,
                "{leader} led {election} before this node began with --new, which forgets all \
                 grants and fences: if this node ever granted before, two leaders are possible \
                 now. Stop this node, move its directory away, and start it without --new"
            ),
            Self::Quarantined { until, forgot } => quarantined(*until, *forgot, f),
            Self::GrantsDamaged { error } => damaged(error, f),
            Self::DiskFailed { error } => write!(
                f,
                "{error}; this node refuses requests that it cannot write down, and tries again \
                 every second: make room there (1 MiB is enough), mend the disk, or bring the \
                 directory back"
            ),
            Self::DiskHangs { error } => write!(
                f,
                "{error}; this node answers only after its records are on the disk, so its answers \
                 wait: check the disk, and which other programs write there"
            ),
            Self::Unwatched { supervisor, socket, why } => write!(
                f,
                "{supervisor} does not watch this process through {}: {why}. If this process \
                 crashes, its elections stay taken until its leases have run out. Start node \
                 {supervisor} with --supervise, or correct --supervisor",
                socket.display()
            ),
            Self::Watched { supervisor } => {
                write!(
                    f,
                    "{supervisor} watches this process: when this process ends, its elections are \
                     free at once"
                )
            }
            Self::Protocol { election, event } => {
                event.sentence(election.as_ref(), tenure::clock::now()).fmt(f)
            }
        }
    }
}

fn other_line(
    missing: &[NodeName],
    more: &[NodeName],
    quorums: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str("this node uses the members in its state directory, and its settings differ: ")?;
    let lacks = (!missing.is_empty()).then(|| format!("`members` lacks {}", list(missing)));
    let has = (!more.is_empty()).then(|| format!("`members` has {} in addition", list(more)));
    let other = quorums.then(|| "`quorums` names another system".to_owned());
    let all: Vec<_> = [lacks, has, other].into_iter().flatten().collect();
    write!(
        f,
        "{}; correct the settings. If the settings of the first start were wrong, see \
         \"other-line\" in docs/troubleshooting.md",
        all.join(", ")
    )
}

fn places(notice: &Notice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match notice {
        Notice::ListensElsewhere { here, member } => write!(
            f,
            "this node receives on {here}, but its address in `members` is {member}: no other node \
             reaches this node, unless a relay passes datagrams on to {here}. Leave --listen out, \
             or correct `members` everywhere"
        ),
        Notice::Unresolved { member, host, error, known: false } => write!(
            f,
            "{member} is not found: {host} does not resolve ({error}); this node looks the name up \
             again. Correct the name, or see to its DNS record"
        ),
        Notice::Unresolved { member, host, error, known: true } => write!(
            f,
            "{member} is silent, and {host} does not resolve ({error}); this node tries the last \
             known address, and looks the name up again"
        ),
        Notice::Resolved { member, host, addresses } => {
            let all: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            write!(f, "{host} resolves to {}, where {member} is now", all.join(" or "))
        }
        Notice::AtOneAddress { members: [one, other], address } => write!(
            f,
            "{one} and {other} are both at {address}, by `members` and DNS. Each member needs an \
             address of its own, so one of the two is not found. Correct `members`, or the DNS \
             records"
        ),
        Notice::Exchanged { member, host, address, of } => write!(
            f,
            "{member} answers at {address}, but `members` here has {of} at that address, and \
             {member} at {host}. Either `members` swaps {member} and {of}, here or there, or one \
             of the two was started under the other's name. Correct `members`, the same everywhere"
        ),
        Notice::ForAnother { peer, address, member, host, own } => write!(
            f,
            "{peer} at {address} sends to this node, {own}, a message for {member}, but `members` \
             here has {member} at {host}. Either `members` swaps {member} and {own}, here or \
             there, or one of the two was started under the other's name. Correct `members`, the \
             same everywhere"
        ),
        Notice::Moved { member, host, address } => write!(
            f,
            "{member} sends from {address}, but `members` here has {member} at {host}: without \
             keys a node recognizes a member by its address, so this node takes {member} for a \
             stranger. If {member} has moved, change `members` everywhere, or see to its DNS \
             record; or use keys (docs/howto/keys.md)"
        ),
        Notice::MemberTwice { member, addresses: [one, other] } => write!(
            f,
            "two processes are the member {member}, at {one} and {other}: stop one of them now. If \
             one runs on a copy of the other's state directory, or was started with --new, their \
             grants count together: two leaders are possible. Otherwise stop the process whose log \
             says that it waits to be let in, or was replaced. Give a member's name to one process \
             only, and never copy a state directory"
        ),
        _ => Ok(()),
    }
}

fn mismatch(
    peer: &NodeName,
    address: SocketAddr,
    (theirs, ours): (u64, u64),
    apart: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if apart {
        return write!(
            f,
            "{peer} at {address} is in another cluster, which was founded apart from the one here \
             (digest {theirs:016x}, here {ours:016x}). To make one cluster of both: stop the nodes \
             of the cluster that you give up, move their state directories away, and start them \
             with the members list of the other. To keep both: let no members list have nodes of \
             both, and give each node an address of its own"
        );
    }
    match peer.as_str() {
        asker::NAME => write!(f, "a question from {address} was asked with ")?,
        _ => write!(f, "{peer} at {address} runs with ")?,
    }
    write!(
        f,
        "another configuration (digest {theirs:016x}, here {ours:016x}): cluster, members, quorums \
         and drift must be the same everywhere"
    )
}

fn quarantined(until: Time, forgot: Forgot, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let left = until.since(tenure::clock::now());
    let longer = match forgot {
        Forgot::OtherBoot
        | Forgot::OtherMemory
        | Forgot::OtherEpoch
        | Forgot::NoTable
        | Forgot::Damaged => "",
        Forgot::Everything => ", longer if another node has a larger lease-max",
    };
    write!(
        f,
        "this node grants nothing for {left:.1?}{longer}, until every lease has ended: {forgot}"
    )
}

fn damaged(error: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "{error}; so this node has forgotten its grants, and waits for their end. Check the disk, \
         and which other programs write there"
    )
}

fn list(names: &[NodeName]) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use tenure_core::Fence;

    use super::*;

    #[test]
    fn other_line_says_what_differs() {
        let names = |text: &str| -> Vec<NodeName> {
            text.split_whitespace().map(|name| name.parse().unwrap()).collect()
        };
        let told = |missing: &str, more: &str, quorums| {
            let (missing, more) = (names(missing), names(more));
            let told = Notice::OtherLine { missing, more, quorums }.to_string();
            let begin = "this node uses the members in its state directory, and its settings \
                         differ: ";
            told.strip_prefix(begin).unwrap().to_owned()
        };
        let fix = "; correct the settings. If the settings of the first start were wrong, see \
                   \"other-line\" in docs/troubleshooting.md";
        let what = |told: String| told.strip_suffix(fix).unwrap().to_owned();
        assert_eq!(what(told("c", "", false)), "`members` lacks c");
        let all = "`members` lacks b, c, `members` has d in addition, `quorums` names another \
                   system";
        assert_eq!(what(told("b c", "d", true)), all);
    }

    /// The name of a process that only asks is no member's name.
    #[test]
    fn question_reveals_other_configuration() {
        let mismatch = |peer: &str| Notice::Mismatch {
            peer: peer.parse().unwrap(),
            address: ([127, 0, 0, 1], 7).into(),
            is_member: false,
            theirs: 1,
            ours: 2,
            apart: false,
            why: None,
        };
        let begins = |peer, text: &str| assert!(mismatch(peer).to_string().starts_with(text));
        begins(asker::NAME, "a question from 127.0.0.1:7 was asked with another configuration (");
        begins("b", "b at 127.0.0.1:7 runs with another configuration (digest 0000000000000001");
        let Notice::Mismatch { peer, address, is_member, theirs, ours, .. } = mismatch("b") else {
            unreachable!()
        };
        let other = |why: Option<&str>| {
            let (peer, why) = (peer.clone(), why.map(str::to_owned));
            Notice::Mismatch { peer, address, is_member, theirs, ours, apart: true, why }
        };
        let read = other(Some("the document has another drift"));
        let said = "runs with another configuration: the document has another drift; cluster and";
        assert!(read.to_string().contains(said), "{read}");
        let said = "b at 127.0.0.1:7 is in another cluster, which was founded apart from the one";
        assert!(other(None).to_string().starts_with(said));
    }

    /// Without a table, a node that never granted looks like a node whose table was removed. Every
    /// other memory has a single reason to wait.
    #[test]
    fn wait_names_the_known_reason() {
        let reserve = Fence::NONE;
        let said = |grants| Forgot::of(&Memory::Kept { reserve, grants }).to_string();
        let missing = said(Grants::Missing);
        for why in ["granted nothing yet", "an operator removed the table"] {
            assert!(missing.contains(why), "{missing}");
        }
        let tear = crate::state::Tear::Length { bytes: 0 };
        assert_eq!(said(Grants::Torn(tear)), "the table of its grants is damaged");
        assert!(said(Grants::OtherBoot).contains("another boot"));
        assert!(said(Grants::OtherMemory).contains("an earlier state directory"));
        assert!(said(Grants::OtherEpoch).contains("before a change of members"));
        assert!(Forgot::of(&Memory::Lost).to_string().contains("remembers nothing"));
    }
}
