//! What an operator should hear of.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Refusal, Who};
use tenure_core::{ElectionName, NodeName, Time};

use super::hosts::Host;
pub use super::key_trouble::KeyTrouble;
use super::state::{Grants, Memory};
use super::survey;

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
    pub(super) const fn of(memory: &Memory) -> Self {
        match memory {
            Memory::Kept { grants: Grants::OtherBoot, .. } => Self::OtherBoot,
            Memory::Kept { grants: Grants::OtherMemory, .. } => Self::OtherMemory,
            Memory::Kept { grants: Grants::Torn(_), .. } => Self::Damaged,
            Memory::Kept { grants: Grants::Missing | Grants::SameBoot(_), .. } => Self::NoTable,
            Memory::Fresh | Memory::Founding | Memory::Lost => Self::Everything,
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
    /// This grantor grants from now on.
    Serving,
    /// This grantor was started with a longer lease-max than before, which does not count yet:
    /// leases that another one may have forgotten must end first. Said after
    /// [`Serving`](Self::Serving).
    RaiseWaits {
        /// The longest lease that it gives until then.
        before: Duration,
        /// The longest that it gives afterwards.
        delta_max: Duration,
        /// Until then on `CLOCK_BOOTTIME`.
        until: Time,
    },
    /// That is over.
    Raised {
        /// The longest lease that it gives from now on.
        delta_max: Duration,
    },
    /// This grantor receives somewhere else than at its address in the members list. Behind a
    /// relay that is right; without one nobody reaches it.
    ListensElsewhere {
        /// Where it receives.
        here: SocketAddr,
        /// Its address in the list.
        member: SocketAddr,
    },
    /// The name of a member's host does not resolve, so that nothing can be sent to it unless its
    /// name resolved before. It is tried again as long as somebody has something for it.
    Unresolved {
        /// Which member.
        member: NodeName,
        /// Its host.
        host: Host,
        /// What the resolver said.
        why: String,
    },
    /// That is over.
    Resolved {
        /// Which member.
        member: NodeName,
        /// Its host.
        host: Host,
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
    /// This grantor lost its memory and reads the fences of the others.
    Recovering,
    /// It was told that this is the cluster's first start, and its directory may have been lost.
    Founding {
        /// Leases that were longer than this, or than the longest of those that answer, are not
        /// waited for.
        delta_max: Duration,
    },
    /// A full quorum of others is needed for that, and has not answered yet.
    RecoveryWaits {
        /// Whether it was told that this is the cluster's first start.
        founding: bool,
        /// Whether a leadership is known, or may have been: then it is not the first start.
        led: bool,
        /// Who does not answer.
        silent: Vec<NodeName>,
        /// Who answers that it never granted, and reads the fences of the others, too.
        unfounded: Vec<NodeName>,
    },
    /// It was told that this is the cluster's first start, and another member knows better.
    NotFounded {
        /// Who.
        by: NodeName,
    },
    /// The state directory cannot be written. What could not be written is written again every
    /// second; said once, until [`DiskMended`](Self::DiskMended).
    DiskFailed {
        /// What failed, where, and what the system said.
        error: String,
    },
    /// A flush of the state directory has not ended for a second, and goes on. Said once, until
    /// [`DiskMended`](Self::DiskMended), or [`DiskFailed`](Self::DiskFailed) when it fails.
    DiskHangs {
        /// Where, and for how long.
        error: String,
    },
    /// Everything that could not be written is written, and no flush takes too long.
    DiskMended,
    /// Two processes use one name at the same time.
    NameContested {
        /// The name.
        name: NodeName,
        /// Where the two are.
        addresses: [SocketAddr; 2],
    },
    /// One life of a participant speaks from two addresses.
    AddressContested {
        /// Who.
        who: Who,
        /// The address that holds the grant.
        holder: SocketAddr,
        /// The other.
        other: SocketAddr,
    },
    /// A grantor refused this candidate, which leads by the grants of others, for a reason that
    /// time alone does not mend. Before it leads, [`Campaign::waiting`](crate::Campaign::waiting)
    /// tells what keeps it from a quorum.
    Obstacle {
        /// The election.
        election: ElectionName,
        /// The grantor.
        grantor: NodeName,
        /// Its reason.
        refusal: Refusal,
    },
    /// A grantor says that another process uses this candidate's name.
    NameShared {
        /// The election.
        election: ElectionName,
        /// The grantor.
        grantor: NodeName,
        /// Where the other process is.
        other: SocketAddr,
    },
    /// This grantor's grant of an election went to somebody else.
    Granted {
        /// The election.
        election: ElectionName,
        /// To whom.
        to: Who,
    },
    /// This grantor's grant of an election was given up.
    Freed {
        /// The election.
        election: ElectionName,
        /// By whom.
        by: Who,
    },
}

impl Notice {
    /// The same with other addresses, where those of members are what stands for them.
    pub(super) fn with_addresses(mut self, of: impl Fn(SocketAddr) -> SocketAddr) -> Self {
        match &mut self {
            Self::Mismatch { address, .. }
            | Self::Key { address, .. }
            | Self::NameShared { other: address, .. } => *address = of(*address),
            Self::AddressContested { holder, other, .. } => {
                (*holder, *other) = (of(*holder), of(*other));
            }
            Self::NameContested { addresses, .. } => *addresses = addresses.map(of),
            _ => {}
        }
        self
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { peer: Some(peer), address, why } => write!(f, "{peer} at {address} {why}"),
            Self::Key { peer: None, address, why } => write!(f, "somebody at {address} {why}"),
            Self::Mismatch { peer, address, theirs, ours } => {
                mismatch((peer, *address), (*theirs, *ours), f)
            }
            Self::NoQuorumAgrees { differing, members } => write!(
                f,
                "{} of {members} members run with another configuration ({}), so no quorum agrees \
                 with this one: cluster, members, quorums and drift must be the same everywhere",
                differing.len(),
                list(differing)
            ),
            Self::QuorumMayAgree => f.write_str("a quorum of members may agree again"),
            Self::Serving => f.write_str("granting leases"),
            Self::RaiseWaits { before, delta_max, until } => {
                raise_waits(*before, *delta_max, *until, f)
            }
            Self::Raised { delta_max } => write!(f, "granting leases up to {delta_max:?}"),
            Self::ListensElsewhere { here, member } => write!(
                f,
                "receives on {here}, and its address in members is {member}: unless something \
                 relays that to here, nobody reaches it. Leave --listen out, or correct members \
                 everywhere"
            ),
            Self::Unresolved { member, host, why } => unresolved(member, host, why, f),
            Self::Resolved { member, host } => {
                write!(f, "the name {} of member {member} resolves again", host.name())
            }
            Self::Quarantined { until, forgot } => quarantined(*until, *forgot, f),
            Self::GrantsDamaged { error } => damaged(error, f),
            Self::Recovering => f.write_str("reading the fences of the others"),
            Self::Founding { delta_max } => founding(*delta_max, f),
            Self::RecoveryWaits { founding, led, silent, unfounded } => {
                waits((*founding, *led), silent, unfounded, f)
            }
            Self::NotFounded { by } => not_founded(by, f),
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
            Self::DiskMended => f.write_str("the state directory can be written again"),
            Self::NameContested { name, addresses: [one, other] } => write!(
                f,
                "two processes use the name {name} at the same time, at {one} and {other}: end one \
                 of them, or give it another name"
            ),
            Self::AddressContested { who, holder, other } => {
                write!(f, "{who} speaks from {holder} and from {other}; the first is believed")
            }
            Self::Obstacle { election, grantor, refusal } => {
                let fix = fix(refusal);
                write!(f, "{grantor} refuses this candidate for {election}: {refusal}{fix}")
            }
            Self::NameShared { election, grantor, other } => write!(
                f,
                "{grantor} says that another process, at {other}, uses this candidate's name for \
                 {election}: end one of them, or give it another name"
            ),
            Self::Granted { election, to } => write!(f, "{election} granted to {to}"),
            Self::Freed { election, by } => write!(f, "{election} given up by {by}"),
        }
    }
}

fn fix(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Disk => "; make room in its state directory (1 MiB is enough), or mend its disk",
        Refusal::TooLong { .. } => "; give it a larger --lease-max, or this one less",
        _ => "",
    }
}

fn unresolved(
    member: &NodeName,
    host: &Host,
    why: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(
        f,
        "the name {} of member {member} does not resolve: {why}; it is tried again. Correct the \
         name server, or members everywhere",
        host.name()
    )
}

fn mismatch(
    (peer, address): (&NodeName, SocketAddr),
    (theirs, ours): (u64, u64),
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match peer.as_str() {
        survey::NAME => write!(f, "a question from {address} was asked with ")?,
        _ => write!(f, "{peer} at {address} runs with ")?,
    }
    write!(
        f,
        "another configuration (digest {theirs:016x}, here {ours:016x}): cluster, members, quorums \
         and drift must be the same everywhere"
    )
}

fn quarantined(until: Time, forgot: Forgot, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let left = until.since(crate::clock::now());
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

fn raise_waits(
    before: Duration,
    delta_max: Duration,
    until: Time,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let left = until.since(crate::clock::now());
    write!(
        f,
        "lease-max was raised from {before:?} to {delta_max:?}: no lease longer than {before:?} \
         for {left:.1?}, until those that others may have forgotten have ended"
    )
}

fn founding(delta_max: Duration, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "told that this is the first start of the cluster: serves when leases of {delta_max:?} \
         have ended, and a full quorum of others has answered that nobody led. If there was a \
         cluster with a larger lease-max, stop this node until its leases have ended"
    )
}

fn not_founded(by: &NodeName, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "not the first start of this cluster: {by} took part in a leadership, or was restarted and \
         may have, so what this node remembered may be lost. --new is refused; it goes on as \
         without: it waits until every lease has ended, then reads the fences of the others. Leave \
         --new out next time. If it is the first start all the same, stop the nodes, move all \
         directories away, and start each with --new; if it is not, and too few remember, see \
         \"Too many lost directories\" in docs/operations.md"
    )
}

/// Whom a grantor that lost its memory waits for, and what would help.
fn waits(
    (founding, led): (bool, bool),
    silent: &[NodeName],
    unfounded: &[NodeName],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str(if founding {
        "asking the others whether this is the first start of the cluster"
    } else {
        "still reading the fences of the others"
    })?;
    if !silent.is_empty() {
        let verb = if silent.len() == 1 { "does" } else { "do" };
        let they = if silent.len() == 1 { "it" } else { "them" };
        write!(f, ": {} {verb} not answer: start {they}, or look at the way there", list(silent))?;
    }
    if !unfounded.is_empty() && !founding {
        let (separator, verb) = (
            if silent.is_empty() { ':' } else { ',' },
            if unfounded.len() == 1 { "has" } else { "have" },
        );
        write!(f, "{separator} {} {verb} no memory either, lost or never had. ", list(unfounded))?;
        f.write_str(match led {
            true => {
                "It is not the first start of the cluster, so leave --new out; see \"Too many lost \
                 directories\" in docs/operations.md"
            }
            false => {
                "If this is the first start of the cluster, start each of these nodes and this one \
                 again, with --new; if it is not, see \"Too many lost directories\" in \
                 docs/operations.md"
            }
        })?;
    }
    Ok(())
}

fn list(names: &[NodeName]) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was refused once is not recommended afterwards.
    #[test]
    fn nobody_is_told_to_begin_a_cluster_that_had_a_leader() {
        let told = |led| {
            let (silent, unfounded) = (vec![], vec!["b".parse().unwrap()]);
            Notice::RecoveryWaits { founding: false, led, silent, unfounded }.to_string()
        };
        assert!(told(false).contains("again, with --new"), "{}", told(false));
        assert!(told(true).contains("leave --new out"), "{}", told(true));
        assert!(!told(true).contains("with --new"), "{}", told(true));
    }

    /// The name of a process that only asks is nobody's.
    #[test]
    fn another_configuration_of_a_question_is_told_as_that() {
        let mismatch = |peer: &str| Notice::Mismatch {
            peer: peer.parse().unwrap(),
            address: ([127, 0, 0, 1], 7).into(),
            theirs: 1,
            ours: 2,
        };
        let begins = |peer, text: &str| assert!(mismatch(peer).to_string().starts_with(text));
        begins(survey::NAME, "a question from 127.0.0.1:7 was asked with another configuration (");
        begins("b", "b at 127.0.0.1:7 runs with another configuration (digest 0000000000000001");
    }

    /// Without a table nobody can tell a node that never granted from one whose table was removed;
    /// everything else is one reason.
    #[test]
    fn a_wait_names_the_one_reason_that_is_known() {
        let reserve = tenure_core::Fence::NONE;
        let said = |grants| Forgot::of(&Memory::Kept { reserve, grants }).to_string();
        let missing = said(Grants::Missing);
        for why in ["granted nothing yet", "somebody removed it"] {
            assert!(missing.contains(why), "{missing}");
        }
        let tear = crate::nerio::state::Tear::Length { bytes: 0 };
        assert_eq!(said(Grants::Torn(tear)), "the table of its grants is damaged");
        assert!(said(Grants::OtherBoot).contains("another boot"));
        assert!(said(Grants::OtherMemory).contains("a memory before this one"));
        assert!(Forgot::of(&Memory::Founding).to_string().contains("remembers nothing"));
    }
}
