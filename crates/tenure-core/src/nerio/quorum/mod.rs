//! Quorum systems: which sets of grantors suffice, with the proof that any two of them meet.
//!
//! Leader Uniqueness rests on one sentence of section 2 (equation 7): every two quorums have a
//! member in common. Each constructor of [`Quorums`] proves that, so that no other code need check
//! it again.
//!
//! | system | a quorum is | why every two meet |
//! |---|---|---|
//! | majority | more than half of the members | together they would be more than all |
//! | weighted | a set whose weights reach the threshold | the constructor checks all sums |
//! | grid | one full row, and a member of each other row | every quorum has a member of each row |
//! | explicit | any listed set | the constructor compares every pair |
//!
//! Every quorum of the older grid rule, "one full row and one full column", is a quorum of this
//! rule. The quorums have the same size, `rows + columns - 1`, and this rule survives more
//! failures.

mod canonical;
mod error;
mod set;
mod text;
mod weighted;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use error::QuorumError;
pub use set::MemberSet;
pub use text::QuorumTextError;
use weighted::Weighted;

use crate::time::Time;

/// A quorum system over the members of a cluster whose quorums pairwise intersect.
///
/// ```
/// use tenure_core::nerio::{MemberSet, QuorumError, Quorums};
///
/// let quorums = Quorums::weighted(&[3, 1, 1], None)?;
/// assert!(quorums.is_quorum(MemberSet::from_iter([0])));
/// assert!(!quorums.is_quorum(MemberSet::from_iter([1, 2])));
///
/// let refused = Quorums::weighted(&[2, 1, 1], Some(2));
/// let (first, second) = (MemberSet::from_iter([0]), MemberSet::from_iter([1, 2]));
/// assert_eq!(refused, Err(QuorumError::Disjoint { first, second }));
/// # Ok::<(), QuorumError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Quorums {
    members: usize,
    system: System,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum System {
    Majority,
    Weighted(Weighted),
    Grid {
        rows: Vec<MemberSet>,
    },
    /// Minimal, sorted, without repetition.
    Explicit(Vec<MemberSet>),
}

impl Quorums {
    /// The largest weight of a member, so that the proof stays cheap.
    pub const WEIGHT_MAX: u32 = 1_000;
    /// The maximum number of sets an explicit system may list.
    pub const SETS_MAX: usize = 1_024;

    /// Every set of more than half of `members` members.
    pub fn majority(members: usize) -> Result<Self, QuorumError> {
        check_count(members)?;
        Ok(Self::majority_of(members))
    }

    /// A majority for a list that is not checked yet. Majorities meet for any number of members;
    /// [`Config::check`](super::Config::check) refuses an empty list.
    pub(in crate::nerio) const fn majority_of(members: usize) -> Self {
        Self { members, system: System::Majority }
    }

    /// Every set whose weights add up to `threshold`; `None` means more than half of the sum.
    ///
    /// `weights` has one entry for each member, in the members' order, at most
    /// [`WEIGHT_MAX`](Self::WEIGHT_MAX) each. A member of weight 0 takes part and never counts.
    pub fn weighted(weights: &[u32], threshold: Option<u32>) -> Result<Self, QuorumError> {
        check_count(weights.len())?;
        let weighted = Weighted::new(weights, threshold)?;
        Ok(Self { members: weights.len(), system: System::Weighted(weighted) })
    }

    /// The members in `rows` rows of `columns`, in row-major order: the first `columns` members
    /// are the first row. A quorum has all of one row and one member of every other row.
    pub fn grid(rows: usize, columns: usize) -> Result<Self, QuorumError> {
        if rows == 0 || columns == 0 {
            return Err(QuorumError::EmptyGrid { rows, columns });
        }
        let members = rows.saturating_mul(columns);
        check_count(members)?;
        let first = |row: usize| MemberSet::first(row * columns);
        let rows = (0..rows).map(|row| first(row + 1).minus(first(row))).collect();
        Ok(Self { members, system: System::Grid { rows } })
    }

    /// Every set that contains one of `sets`; at most [`SETS_MAX`](Self::SETS_MAX) of them.
    ///
    /// Sets that contain another listed set add nothing and are dropped.
    pub fn explicit(members: usize, sets: &[MemberSet]) -> Result<Self, QuorumError> {
        check_count(members)?;
        if sets.is_empty() {
            return Err(QuorumError::NoSets);
        }
        if sets.len() > Self::SETS_MAX {
            return Err(QuorumError::TooManySets { count: sets.len(), max: Self::SETS_MAX });
        }
        let everyone = MemberSet::first(members);
        for (index, set) in sets.iter().enumerate() {
            if set.is_empty() {
                return Err(QuorumError::EmptySet { index });
            }
            if let Some(member) = set.minus(everyone).iter().next() {
                return Err(QuorumError::NoSuchMember { index, member, members });
            }
        }
        for (index, first) in sets.iter().enumerate() {
            if let Some(second) = sets[index..].iter().find(|other| first.and(**other).is_empty()) {
                return Err(QuorumError::Disjoint { first: *first, second: *second });
            }
        }
        Ok(Self { members, system: System::Explicit(minimal(sets)) })
    }

    /// Whether `set` contains a quorum. Positions without a member are ignored.
    ///
    /// Every message causes a call, so this allocates nothing. Only explicit systems take more than
    /// a few dozen steps.
    #[must_use]
    pub fn is_quorum(&self, set: MemberSet) -> bool {
        let set = set.and(self.everyone());
        match &self.system {
            System::Majority => set.len() > self.members / 2,
            System::Weighted(weighted) => weighted.is_reached_by(set),
            System::Grid { rows } => is_grid_quorum(rows, set),
            System::Explicit(sets) => sets.iter().any(|quorum| set.contains_all(*quorum)),
        }
    }

    /// Whether a quorum is left without the members of `excluded`.
    #[must_use]
    pub fn is_possible(&self, excluded: MemberSet) -> bool {
        self.is_quorum(self.everyone().minus(excluded))
    }

    /// The value that all members of a quorum report; `words` has at most one value of each member.
    /// There is no second such value, because two quorums have a member in common.
    #[must_use]
    pub fn agreed<T: Copy + PartialEq>(&self, words: &[(usize, T)]) -> Option<T> {
        let same = |word: T| words.iter().filter(move |(_, other)| *other == word);
        let is_agreed = |word: &T| self.is_quorum(same(*word).map(|(member, _)| *member).collect());
        words.iter().map(|(_, word)| *word).find(is_agreed)
    }

    /// The quorum whose earliest end is later than that of any other quorum, and this earliest end.
    /// `ends` has the ends and their members.
    pub(in crate::nerio) fn longest(
        &self,
        ends: impl Iterator<Item = (Time, usize)> + Clone,
    ) -> Option<(MemberSet, Time)> {
        let mut members = MemberSet::EMPTY;
        // The members are few, so search for the next member each time, without allocation.
        loop {
            let left = ends.clone().filter(|(_, member)| !members.contains(*member));
            let (end, member) = left.max()?;
            members = members.with(member);
            if self.is_quorum(members) {
                return Some((members, end));
            }
        }
    }

    /// The first instant by which all ends of some quorum have passed. `ends` has the ends and
    /// their members.
    pub(in crate::nerio) fn soonest(
        &self,
        ends: impl Iterator<Item = (Time, usize)> + Clone,
    ) -> Option<Time> {
        let mut members = MemberSet::EMPTY;
        loop {
            let left = ends.clone().filter(|(_, member)| !members.contains(*member));
            let (end, member) = left.min()?;
            members = members.with(member);
            if self.is_quorum(members) {
                return Some(end);
            }
        }
    }

    /// The number of members that the system is over.
    #[must_use]
    pub const fn members(&self) -> usize {
        self.members
    }

    /// All members.
    #[must_use]
    pub const fn everyone(&self) -> MemberSet {
        MemberSet::first(self.members)
    }
}

fn is_grid_quorum(rows: &[MemberSet], set: MemberSet) -> bool {
    let mut has_full_row = false;
    for row in rows {
        let won = set.and(*row);
        if won.is_empty() {
            return false;
        }
        has_full_row |= won == *row;
    }
    has_full_row
}

const fn check_count(members: usize) -> Result<(), QuorumError> {
    let max = MemberSet::MEMBERS_MAX;
    match members {
        0 => Err(QuorumError::NoMembers),
        count if count > max => Err(QuorumError::TooManyMembers { count, max }),
        _ => Ok(()),
    }
}

/// The sets that contain no other set of the list, each once, in order.
fn minimal(sets: &[MemberSet]) -> Vec<MemberSet> {
    let mut kept: Vec<MemberSet> = Vec::new();
    for set in sets {
        if kept.iter().all(|other| !set.contains_all(*other)) {
            kept.retain(|other| !other.contains_all(*set));
            kept.push(*set);
        }
    }
    kept.sort_unstable();
    kept
}
