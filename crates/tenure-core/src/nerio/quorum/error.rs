//! Why a quorum system was refused.

use core::fmt::{self, Display};

use super::MemberSet;
use crate::name::NodeName;

/// Why a quorum system was refused. Members appear by position; [`QuorumError::named`] prints
/// them by name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuorumError {
    /// Nobody to form a quorum of.
    #[error("a quorum system needs at least one member, better three")]
    NoMembers,
    /// More members than a quorum can be proved for.
    #[error("{count} members; a quorum system is over at most {max}")]
    TooManyMembers {
        /// How many were given.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// Two quorums without a common member: each could elect a leader of its own.
    #[error("{}", disjoint(first, second))]
    Disjoint {
        /// One quorum.
        first: MemberSet,
        /// The other.
        second: MemberSet,
    },
    /// Not one vote anywhere.
    #[error("every member weighs 0, so there is no quorum; give weight to at least one")]
    NoWeight,
    /// A weight for which the proof would be expensive.
    #[error("{}", too_heavy(MemberSet::EMPTY.with(*member), *weight, *max))]
    WeightTooLarge {
        /// The member.
        member: usize,
        /// Its weight.
        weight: u32,
        /// The largest allowed.
        max: u32,
    },
    /// The empty set would be a quorum.
    #[error(
        "with a threshold of 0 nobody at all is a quorum; more than half of the weights is \
         {majority}"
    )]
    ThresholdZero {
        /// The least threshold that always works.
        majority: u32,
    },
    /// Not even everybody is a quorum.
    #[error(
        "the threshold is {threshold}, but all members together weigh {sum}, so there is no \
         quorum; lower the threshold or raise the weights"
    )]
    ThresholdAboveSum {
        /// What a quorum would have to reach.
        threshold: u32,
        /// What everybody reaches.
        sum: u32,
    },
    /// A grid without places.
    #[error("a grid of {rows} x {columns} has no places; it needs at least one row and one column")]
    EmptyGrid {
        /// How many rows.
        rows: usize,
        /// How many columns.
        columns: usize,
    },
    /// A grid has exactly one place for each member.
    #[error(
        "a grid of {rows} x {columns} has {} places and there are {members} members; every \
         member needs one place", rows.saturating_mul(*columns)
    )]
    GridSize {
        /// How many rows.
        rows: usize,
        /// How many columns.
        columns: usize,
        /// How many members there are.
        members: usize,
    },
    /// No set, no quorum.
    #[error("no sets are listed, so there is no quorum; list at least one")]
    NoSets,
    /// More sets than are searched for every message.
    #[error("{count} sets are listed; at most {max} are allowed")]
    TooManySets {
        /// How many were given.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A set of nobody meets no other.
    #[error("set {} of the list is empty; a quorum needs at least one member", index + 1)]
    EmptySet {
        /// Its position in the list, from 0.
        index: usize,
    },
    /// A set names somebody who is not in the list of members.
    #[error(
        "set {} of the list holds member #{member}; there are {members} members, counted from #0",
        index + 1
    )]
    NoSuchMember {
        /// The position of the set in the list, from 0.
        index: usize,
        /// The position that is no member's.
        member: usize,
        /// How many members there are.
        members: usize,
    },
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
        write!(f, "member {member} weighs {weight}; a weight is at most {max}, only ratios count")
    })
}
