//! Nodes by their numbers, and sets of them, a bit each.

use std::fmt;

/// A node of the world, where protocols have no addresses of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(pub usize);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// A set of nodes as bits, in the form that incidents use.
pub fn bits(nodes: impl IntoIterator<Item = usize>) -> u64 {
    nodes.into_iter().fold(0, |set, node| set | 1 << node)
}

/// A set of nodes, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nodes(u64);

impl Nodes {
    pub const NONE: Self = Self(0);

    #[must_use]
    pub const fn one(node: usize) -> Self {
        Self(1 << node)
    }
}

impl FromIterator<usize> for Nodes {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        Self(bits(nodes))
    }
}

impl Iterator for Nodes {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let first = (self.0 != 0).then_some(self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_walked_in_order() {
        let nodes: Nodes = [63, 0, 5, 5].into_iter().collect();
        assert_eq!(nodes.collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!(Nodes::one(7).collect::<Vec<_>>(), [7]);
        assert_eq!(Nodes::NONE.count(), 0);
    }
}
