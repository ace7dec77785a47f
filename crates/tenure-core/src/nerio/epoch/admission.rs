//! A blank (a node with an empty directory) asks the members for the seat of a lost memory, and the
//! members answer.
//!
//! ```text
//! blank  ── Admit ──> members            <── Admission ── whether this member agrees
//! member ── Admit ──> the other members  <── Admission ── a quorum agrees, and all that answer
//! ```
//!
//! A member agrees once it has asked the lost memory for some time without an answer. The answers
//! decide only whether a member begins a change of members. The members vote on the change itself
//! as on every other change.

use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::config::HostPort;
use super::super::identity::{Inc, Instance};
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::List;

/// A blank asks a member to let it in; or a member that has heard the blank asks another member
/// whether that member agrees.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Admit {
    /// Time of the question on the asker's clock.
    pub start: Time,
    /// Name of the blank, and of the member whose memory is lost.
    pub name: NodeName,
    /// Memory of the blank.
    pub instance: Instance,
    /// From the blank: the host in the blank's settings. From a member: the address of the blank.
    pub host: HostPort,
}

/// The answer to [`Admit`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Admission {
    /// Incarnation that asked.
    pub asker: Inc,
    /// Start of the question.
    pub start: Time,
    pub name: NodeName,
    pub instance: Instance,
    /// The reason why the member does not agree; `None` if it does.
    pub hindrance: Option<Hindrance>,
}

/// The reason why the members do not let a blank in by themselves, or not yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Hindrance {
    /// The answering node leaves replacements to operators.
    Manual,
    /// No member has the name.
    NotMember,
    /// The memory of the blank is an earlier memory of the member.
    Former,
    /// Two blanks have this name.
    Two { addresses: [SocketAddr; 2] },
    /// The blank is not at the hosts of the member, nor at the address that the blank names, or
    /// its name is not proved.
    Elsewhere { address: SocketAddr },
    /// The cluster has no keys, and other machines could forge the question.
    Unsealed,
    /// The member was replaced less than a pause ago.
    Lately { rest: Duration },
    /// The lost memory answered within the span for which it must be silent.
    Heard { ago: Duration, needed: Duration },
    /// The lost memory has been silent for less than the needed span.
    Silent { span: Duration, needed: Duration },
    /// Another change of members is under way, or the answering member has no vote now.
    Busy,
    /// Fewer members than a quorum agree, or a member that answered before does not answer now.
    Few { without: Vec<NodeName> },
}

impl Hindrance {
    /// Whether both are the same reason, whatever their numbers are.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
    }

    /// The hindrance `passed` after its report: silences are longer then, and rests shorter.
    #[must_use]
    pub fn after(&self, passed: Duration) -> Self {
        match self.clone() {
            Self::Lately { rest } => Self::Lately { rest: rest.saturating_sub(passed) },
            Self::Heard { ago, needed } => Self::Heard { ago: ago.saturating_add(passed), needed },
            Self::Silent { span, needed } => {
                Self::Silent { span: span.saturating_add(passed).min(needed), needed }
            }
            other => other,
        }
    }
}

/// A span in seconds with one decimal: members do not measure silences more exactly.
struct Tenths(Duration);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_millis() / 100;
        write!(f, "{}.{}s", tenths / 10, tenths % 10)
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manual => f.write_str("its setting replace is manual"),
            Self::NotMember => {
                f.write_str("no member has this name: run `tenure members add NAME=HOST:PORT`")
            }
            Self::Former => f.write_str(
                "the directory of the node was replaced earlier: start the node with an empty \
                 directory",
            ),
            Self::Two { addresses: [one, other] } => write!(
                f,
                "two nodes of this name have empty directories, at {one} and {other}: stop one of \
                 them"
            ),
            Self::Elsewhere { address } => write!(
                f,
                "the node sends from {address}, and does not answer at the host of the member: \
                 let that host's name lead to the node, or run `tenure members replace \
                 NAME=HOST:PORT`"
            ),
            Self::Unsealed => f.write_str(
                "the cluster has no keys, and without keys the members can change only if all of \
                 them are on loopback: give the cluster keys (`tenure keys new`)",
            ),
            Self::Lately { rest } => {
                write!(
                    f,
                    "the member was replaced lately; it can be replaced again in {}",
                    Tenths(*rest)
                )
            }
            Self::Heard { ago, needed } => write!(
                f,
                "the process with the earlier directory was heard {} ago, and must be silent for \
                 {}: stop that process, or the new node",
                Tenths(*ago),
                Tenths(*needed)
            ),
            Self::Silent { span, needed } => write!(
                f,
                "the process with the earlier directory has been silent for {} of {}",
                Tenths(*span),
                Tenths(*needed)
            ),
            Self::Busy => {
                f.write_str("another change of members runs, or the member is still starting")
            }
            Self::Few { without } => {
                write!(
                    f,
                    "a quorum of members must agree, and so must each member that answers; {} did \
                     not",
                    List(without, ", ")
                )
            }
        }
    }
}

impl fmt::Display for Admit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "admit {} {} start {}", self.name, self.instance, self.start)
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, instance, start, .. } = self;
        match &self.hindrance {
            None => write!(f, "admission of {name} {instance} start {start}"),
            Some(why) => write!(f, "no admission of {name} {instance} start {start}: {why}"),
        }
    }
}
