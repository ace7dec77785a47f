//! The reasons why a quorum system is refused.

use core::fmt::{self, Display};

use super::MemberSet;
use crate::name::NodeName;

/// The reason why a quorum system was refused. Members appear by position; [`QuorumError::named`]
/// prints them by name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum QuorumError {
    #[error("a quorum system needs at least one member, better three")]
    NoMembers,
    #[error("there are {count} members, and a quorum system has at most {max}")]
    TooManyMembers { count: usize, max: usize },
    #[error("{}", disjoint(first, second))]
    Disjoint { first: MemberSet, second: MemberSet },
    #[error("every member weighs 0, so there is no quorum; give weight to at least one")]
    NoWeight,
    #[error("{}", too_heavy(MemberSet::EMPTY.with(*member), *weight, *max))]
    WeightTooLarge { member: usize, weight: u32, max: u32 },
    #[error(
        "a threshold of 0 makes the empty set a quorum; give {majority}, which is more than half \
         of the weights"
    )]
    ThresholdZero { majority: u32 },
    #[error(
        "the threshold is {threshold}, but all members together weigh {sum}, so there is no \
         quorum; lower the threshold or raise the weights"
    )]
    ThresholdAboveSum { threshold: u32, sum: u32 },
    #[error("a grid of {rows} x {columns} has no places; it needs at least one row and one column")]
    EmptyGrid { rows: usize, columns: usize },
    #[error(
        "a grid of {rows} x {columns} has {} places and there are {members} members; every \
         member needs one place", rows.saturating_mul(*columns)
    )]
    GridSize { rows: usize, columns: usize, members: usize },
    #[error("no sets are listed, so there is no quorum; list at least one")]
    NoSets,
    #[error("{count} sets are listed; at most {max} are allowed")]
    TooManySets { count: usize, max: usize },
    #[error("set {} of the list is empty; a quorum needs at least one member", index + 1)]
    EmptySet { index: usize },
    #[error(
        "set {} of the list holds member #{member}; there are {members} members, counted from #0",
        index + 1
    )]
    NoSuchMember { index: usize, member: usize, members: usize },
}

impl QuorumError {
    /// Prints the error with the members' names in place of their positions.
    pub fn named(&self, names: &[NodeName]) -> impl Display {
        fmt::from_fn(move |f| match self {
            Self::Disjoint { first, second } => {
                disjoint(first.named(names), second.named(names)).fmt(f)
            }
            Self::WeightTooLarge { member, weight, max } => {
                too_heavy(MemberSet::EMPTY.with(*member).named(names), *weight, *max).fmt(f)
            }
            other => other.fmt(f),
        })
    }
}

fn disjoint(first: impl Display, second: impl Display) -> impl Display {
    fmt::from_fn(move |f| {
        write!(
            f,
            "the quorums {first} and {second} have no member in common, so each could elect a \
             leader of its own; every two quorums must share a member"
        )
    })
}

fn too_heavy(member: impl Display, weight: u32, max: u32) -> impl Display {
    fmt::from_fn(move |f| {
        write!(
            f,
            "member {member} weighs {weight}; a weight may be at most {max}: only the ratios of \
             weights count"
        )
    })
}
