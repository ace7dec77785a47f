//! A set of members as a bit for each.

use core::fmt;

use crate::name::NodeName;

/// A set of members, by their position in a [`Membership`](crate::nerio::Membership).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemberSet(u32);

impl MemberSet {
    /// The set without members.
    pub const EMPTY: Self = Self(0);
    /// The maximum number of members of a quorum system.
    pub const MEMBERS_MAX: usize = 31;

    /// The first `count` members.
    #[must_use]
    pub const fn first(count: usize) -> Self {
        if count >= 32 { Self(u32::MAX) } else { Self((1 << count) - 1) }
    }

    /// This set and `member`. A position of 32 or more adds nothing.
    #[must_use]
    pub const fn with(self, member: usize) -> Self {
        if member < 32 { Self(self.0 | 1 << member) } else { self }
    }

    /// Whether the set has `member`.
    #[must_use]
    pub const fn contains(self, member: usize) -> bool {
        member < 32 && self.0 >> member & 1 == 1
    }

    /// Whether this set has all members of `other`.
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The number of members.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set has no members.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The members of either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members of this set that the other does not have.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The members in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let first = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(first as usize)
        })
    }

    /// Prints the members as `a+c` by their names, and a position without a name as `#4`.
    pub fn named(self, names: &[NodeName]) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            for (nth, member) in self.iter().enumerate() {
                f.write_str(if nth > 0 { "+" } else { "" })?;
                match names.get(member) {
                    Some(name) => write!(f, "{name}")?,
                    None => write!(f, "#{member}")?,
                }
            }
            Ok(())
        })
    }
}

impl FromIterator<usize> for MemberSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        members.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// Prints the positions of the members, such as `#0+#2`.
impl fmt::Display for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.named(&[]), f)
    }
}

impl fmt::Debug for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn position_beyond_last_is_ignored() {
        assert_eq!(MemberSet::EMPTY.with(32), MemberSet::EMPTY);
        assert_eq!(MemberSet::EMPTY.with(usize::MAX), MemberSet::EMPTY);
        assert!(!MemberSet::first(32).contains(32));
        assert!(MemberSet::first(31).contains(30) && !MemberSet::first(31).contains(31));
    }

    #[test]
    fn prints_names_and_positions() {
        let names = ["a", "b"].map(|name| NodeName::new(name).unwrap());
        let set = MemberSet::from_iter([0, 1, 4]);
        assert_eq!(set.named(&names).to_string(), "a+b+#4");
        assert_eq!(set.to_string(), "#0+#1+#4");
    }
}
