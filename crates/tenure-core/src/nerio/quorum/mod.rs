//! Quorum systems: which sets of grantors suffice, with the proof that any two of them meet.

use core::fmt;

/// A set of members, by their position in [`Config::members`](super::Config::members).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemberSet(u32);

impl MemberSet {
    /// Nobody.
    pub const EMPTY: Self = Self(0);

    /// The first `count` members.
    #[must_use]
    pub const fn first(count: usize) -> Self {
        if count >= 32 { Self(u32::MAX) } else { Self((1 << count) - 1) }
    }

    /// This set and `member`.
    #[must_use]
    pub const fn with(self, member: usize) -> Self {
        Self(self.0 | 1 << member)
    }

    /// Whether `member` is in it.
    #[must_use]
    pub const fn contains(self, member: usize) -> bool {
        self.0 >> member & 1 == 1
    }

    /// How many members it has.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether nobody is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Everybody who is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Everybody who is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Everybody who is in this one and not in the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its members in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..32).filter(move |member| self.contains(*member))
    }
}

impl FromIterator<usize> for MemberSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        members.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A quorum system over the members of a cluster whose quorums pairwise intersect.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Quorums {
    /// More than half of the members.
    Majority {
        /// How many members there are.
        members: usize,
    },
}

impl Quorums {
    /// Whether `set` contains a quorum.
    #[must_use]
    pub fn is_quorum(&self, set: MemberSet) -> bool {
        match self {
            Self::Majority { members } => set.len() > members / 2,
        }
    }
}
