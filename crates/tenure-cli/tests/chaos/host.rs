//! The participants: three nodes and three runners.

use std::fmt;

pub(crate) const NODES: usize = 3;
pub(crate) const RUNNERS: usize = 3;

/// A place in the network. The first are the nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Host(usize);

impl Host {
    const NAMES: [&'static str; NODES + RUNNERS] = ["a", "b", "c", "x", "y", "z"];

    pub(crate) const fn node(index: usize) -> Self {
        assert!(index < NODES);
        Self(index)
    }

    pub(crate) const fn runner(index: usize) -> Self {
        assert!(index < RUNNERS);
        Self(NODES + index)
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..NODES + RUNNERS).map(Self)
    }

    pub(crate) fn nodes() -> impl Iterator<Item = Self> {
        (0..NODES).map(Self)
    }

    pub(crate) fn runners() -> impl Iterator<Item = Self> {
        (0..RUNNERS).map(Self::runner)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|host| host.name() == name)
    }

    pub(crate) const fn is_node(self) -> bool {
        self.0 < NODES
    }

    pub(crate) const fn index(self) -> usize {
        self.0
    }

    /// The name of the node, or the id of the candidate.
    pub(crate) const fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
