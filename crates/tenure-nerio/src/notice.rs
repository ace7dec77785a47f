//! What an operator should hear of.

use std::fmt;
use std::net::SocketAddr;

use tenure_core::nerio::{HostPort, OwnEvent};
use tenure_core::{ElectionName, NodeName, Time};

use crate::asker;
pub use crate::key_trouble::KeyTrouble;
use crate::state::{Grants, Memory};

/// What a grantor that waits for old leases has forgotten, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgot {
    /// Its grants, as they are of another boot of its machine, or of another time namespace.
    OtherBoot,
    /// Its grants, as their table is of a memory before this one, which was lost.
    OtherMemory,
    /// Its grants, if there were any: there is no table of them, as before the first grant.
    NoTable,
    /// Its grants, as their table is damaged: [`Notice::GrantsDamaged`].
    Damaged,
    /// Everything: its state directory was lost, or it has none.
    Everything,
}

impl Forgot {
    /// What is forgotten with this memory.
    pub(crate) const fn of(memory: &Memory) -> Self {
        match memory {
            Memory::Kept { grants: Grants::OtherBoot, .. } => Self::OtherBoot,
            Memory::Kept { grants: Grants::OtherMemory, .. } => Self::OtherMemory,
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
                "its grants are of another boot of its machine, or of another time namespace"
            }
            Self::OtherMemory => "its grants are of a memory before this one, which was lost",
            Self::NoTable => {
                "there is no table of its grants: it had granted nothing yet, or somebody removed \
                 it"
            }
            Self::Damaged => "the table of its grants is damaged",
            Self::Everything => {
                "it remembers nothing, as its state directory is new, or it has none"
            }
        })
    }
}

/// Something that happened on a node beside its elections.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A peer runs with another configuration: another cluster, members list, quorum system or
    /// drift bound. Nothing it sends is believed. Said of one address once in ten minutes.
    Mismatch {
        /// The peer's name.
        peer: NodeName,
        /// Its address.
        address: SocketAddr,
        /// Whether it is a member, as far as this node can tell.
        is_member: bool,
        /// The digest of its configuration.
        theirs: u64,
        /// The digest of this node's.
        ours: u64,
    },
    /// The key of a peer does not fit. Anybody can send such datagrams in the name of any address.
    Key {
        /// Whose address it is, or how the peer calls itself; `None` of others.
        peer: Option<NodeName>,
        /// Where it came from.
        address: SocketAddr,
        /// Whether a member may be there.
        is_member: bool,
        /// What is the matter.
        why: KeyTrouble,
    },
    /// So many members run with another configuration that no quorum of this node's is left.
    /// It goes on asking; said again when that was over for a while.
    NoQuorumAgrees {
        /// The members with another configuration.
        differing: Vec<NodeName>,
        /// How many members there are.
        members: usize,
    },
    /// A quorum of members may run with this node's configuration again.
    QuorumMayAgree,
    /// This grantor receives somewhere else than at its address in the members list. Behind a
    /// relay that is right; without one nobody reaches it.
    ListensElsewhere {
        /// Where it receives.
        here: SocketAddr,
        /// Its host and port in the list.
        member: HostPort,
    },
    /// The name of a member's host gives no address. It is looked up again after 1 to 10 s.
    Unresolved {
        /// Which member.
        member: NodeName,
        /// Its host and port in the list.
        host: String,
        /// Why.
        error: String,
        /// Whether it gave one before, which is tried still.
        known: bool,
    },
    /// The name of a member's host gives other addresses than before, or gives some again.
    Resolved {
        /// Which member.
        member: NodeName,
        /// Its host and port in the list.
        host: String,
        /// Where it is now.
        addresses: Vec<SocketAddr>,
    },
    /// Two members are at one address, so one of them is not found: a member takes nothing that is
    /// meant for another one.
    AtOneAddress {
        /// Which ones.
        members: [NodeName; 2],
        /// Where.
        address: SocketAddr,
    },
    /// A member was heard at the address of another one: members are not the same here and there,
    /// or a process was started under another name.
    Exchanged {
        /// Which member, as it says, or shows with a key.
        member: NodeName,
        /// Its host and port in the list.
        host: String,
        /// Where it was heard.
        address: SocketAddr,
        /// Whose address that is here.
        of: NodeName,
    },
    /// What is meant for another member came here.
    ForAnother {
        /// Who sent it.
        peer: NodeName,
        /// From where.
        address: SocketAddr,
        /// For whom it is.
        member: NodeName,
        /// Where that one is, by members here.
        host: String,
        /// The member that this node is.
        own: NodeName,
    },
    /// Without keys: one with the name of a member was heard at an address that the member does not
    /// have here. It is taken for a stranger.
    Moved {
        /// Which member.
        member: NodeName,
        /// Its host and port in the list.
        host: String,
        /// Where it was heard.
        address: SocketAddr,
    },
    /// Two processes are one member at the same time. Whether their memories are one, copied, or
    /// one is the later of the two, is not known here.
    MemberTwice {
        /// Which member.
        member: NodeName,
        /// Where the two are.
        addresses: [SocketAddr; 2],
    },
    /// This grantor lost its memory and grants nothing until every lease has ended.
    Quarantined {
        /// Until then on `CLOCK_BOOTTIME`.
        until: Time,
        /// What it has forgotten.
        forgot: Forgot,
    },
    /// The table of this grantor's grants is damaged: it is not believed, all leases are waited
    /// out, and the first grant after that writes it anew.
    GrantsDamaged {
        /// The table, and what is wrong with it.
        error: String,
    },
    /// The state directory cannot be written. What could not be written is written again every
    /// second; said once, until [`DiskMended`](OwnEvent::DiskMended).
    DiskFailed {
        /// What failed, where, and what the system said.
        error: String,
    },
    /// A flush of the state directory has not ended for a second, and goes on. Said once, until
    /// [`DiskMended`](OwnEvent::DiskMended), or [`DiskFailed`](Self::DiskFailed) when it fails.
    DiskHangs {
        /// Where, and for how long.
        error: String,
    },
    /// The core reports this event. [`Quarantined`](Self::Quarantined),
    /// [`DiskFailed`](Self::DiskFailed) and [`DiskHangs`](Self::DiskHangs) are notices of their own,
    /// as the driver knows more of them. An [`Obstacle`](OwnEvent::Obstacle) is left out before the
    /// candidate leads: [`Campaign::waiting`](tenure::Campaign::waiting) says what keeps it from a
    /// quorum.
    Protocol {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What.
        event: OwnEvent,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { peer: Some(peer), address, why, .. } => {
                write!(f, "{peer} at {address} {why}")
            }
            Self::Key { peer: None, address, why, .. } => write!(f, "somebody at {address} {why}"),
            Self::Mismatch { peer, address, theirs, ours, .. } => {
                mismatch(peer, *address, *theirs, *ours, f)
            }
            Self::NoQuorumAgrees { differing, members } => write!(
                f,
                "{} of {members} members run with another configuration ({}), so no quorum agrees \
                 with this one: cluster, members, quorums and drift must be the same everywhere",
                differing.len(),
                list(differing)
            ),
            Self::QuorumMayAgree => f.write_str("a quorum of members may agree again"),
            Self::ListensElsewhere { .. }
            | Self::Unresolved { .. }
            | Self::Resolved { .. }
            | Self::AtOneAddress { .. }
            | Self::Exchanged { .. }
            | Self::ForAnother { .. }
            | Self::Moved { .. }
            | Self::MemberTwice { .. } => places(self, f),
            Self::Quarantined { until, forgot } => quarantined(*until, *forgot, f),
            Self::GrantsDamaged { error } => damaged(error, f),
            Self::DiskFailed { error } => write!(
                f,
                "{error}; what cannot be written is refused, and tried again every second: make \
                 room there (1 MiB is enough), mend the disk, or bring the directory back"
            ),
            Self::DiskHangs { error } => write!(
                f,
                "{error}; what must be on disk first waits for it: look at the disk, and at what \
                 else writes there"
            ),
            Self::Protocol { election, event } => {
                event.sentence(election.as_ref(), tenure::clock::now()).fmt(f)
            }
        }
    }
}

/// Where members are, or are not.
fn places(notice: &Notice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match notice {
        Notice::ListensElsewhere { here, member } => write!(
            f,
            "receives on {here}, and its address in members is {member}: unless something relays \
             that to here, nobody reaches it. Leave --listen out, or correct members everywhere"
        ),
        Notice::Unresolved { member, host, error, known: false } => write!(
            f,
            "{member} is not found: {host} does not resolve ({error}); it is looked up again. \
             Correct the name, or see to its DNS record"
        ),
        Notice::Unresolved { member, host, error, known: true } => write!(
            f,
            "{member} is silent, and {host} does not resolve ({error}); where it was is tried, and \
             the name is looked up again"
        ),
        Notice::Resolved { member, host, addresses } => {
            let all: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            write!(f, "{member} is at {}, says {host}", all.join(" or "))
        }
        Notice::AtOneAddress { members: [one, other], address } => write!(
            f,
            "{one} and {other} are both at {address}, by members and DNS: each member is one \
             process with an address of its own, so one of them is not found. Correct members, or \
             the DNS records"
        ),
        Notice::Exchanged { member, host, address, of } => write!(
            f,
            "{member} answers at {address}, and by members here that is {of}, and {member} is at \
             {host}: {member} and {of} were exchanged in a members list, here or there, or one was \
             started under the name of the other. Correct members, the same everywhere"
        ),
        Notice::ForAnother { peer, address, member, host, own } => write!(
            f,
            "{peer} at {address} sends to {own} what is for {member}, which is at {host} by \
             members here: {member} and {own} were exchanged in a members list, here or there, or \
             one was started under the name of the other. Correct members, the same everywhere"
        ),
        Notice::Moved { member, host, address } => write!(
            f,
            "{member} sends from {address}, and by members here it is at {host}: without keys an \
             address is who a member is, so it is taken for a stranger. If it has moved, change \
             members everywhere, or see to its DNS record; or use keys (\"Keys\" in \
             docs/operations.md)"
        ),
        Notice::MemberTwice { member, addresses: [one, other] } => write!(
            f,
            "two processes are the member {member}, at {one} and {other}: stop one of them now. If \
             one runs on a copy of the other's state directory, or was started with --new, the \
             grants of both count together, and two leaders are possible. If the later one began \
             with an empty directory, without --new, only that one counts: stop the earlier one. A \
             member's name leads to one process, and its directory is never copied"
        ),
        _ => Ok(()),
    }
}

fn mismatch(
    peer: &NodeName,
    address: SocketAddr,
    theirs: u64,
    ours: u64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
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
        Forgot::OtherBoot | Forgot::OtherMemory | Forgot::NoTable | Forgot::Damaged => "",
        Forgot::Everything => ", longer if another node has a larger lease-max",
    };
    write!(f, "granting nothing for {left:.1?}{longer}, until every lease has ended: {forgot}")
}

fn damaged(error: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "{error}; so this node has forgotten its grants, and waits for their end. Look at the \
         disk, and at who else writes there"
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

    /// The name of a process that only asks is nobody's.
    #[test]
    fn another_configuration_of_a_question_is_told_as_that() {
        let mismatch = |peer: &str| Notice::Mismatch {
            peer: peer.parse().unwrap(),
            address: ([127, 0, 0, 1], 7).into(),
            is_member: false,
            theirs: 1,
            ours: 2,
        };
        let begins = |peer, text: &str| assert!(mismatch(peer).to_string().starts_with(text));
        begins(asker::NAME, "a question from 127.0.0.1:7 was asked with another configuration (");
        begins("b", "b at 127.0.0.1:7 runs with another configuration (digest 0000000000000001");
    }

    /// Without a table nobody can tell a node that never granted from one whose table was removed;
    /// everything else is one reason.
    #[test]
    fn a_wait_names_the_one_reason_that_is_known() {
        let reserve = Fence::NONE;
        let said = |grants| Forgot::of(&Memory::Kept { reserve, grants }).to_string();
        let missing = said(Grants::Missing);
        for why in ["granted nothing yet", "somebody removed it"] {
            assert!(missing.contains(why), "{missing}");
        }
        let tear = crate::state::Tear::Length { bytes: 0 };
        assert_eq!(said(Grants::Torn(tear)), "the table of its grants is damaged");
        assert!(said(Grants::OtherBoot).contains("another boot"));
        assert!(said(Grants::OtherMemory).contains("a memory before this one"));
        assert!(Forgot::of(&Memory::Lost).to_string().contains("remembers nothing"));
    }
}
