//! The participants: three nodes and three runners.

use std::fmt;

pub(super) const NODES: usize = 3;
pub(super) const RUNNERS: usize = 3;

/// A place in the network. The first are the nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Host(usize);

impl Host {
    const NAMES: [&'static str; NODES + RUNNERS] = ["a", "b", "c", "x", "y", "z"];

    /// A node.
    pub const fn node(index: usize) -> Self {
        assert!(index < NODES);
        Self(index)
    }

    /// A runner.
    pub const fn runner(index: usize) -> Self {
        assert!(index < RUNNERS);
        Self(NODES + index)
    }

    /// Nodes, then runners.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..NODES + RUNNERS).map(Self)
    }

    /// All nodes.
    pub fn nodes() -> impl Iterator<Item = Self> {
        (0..NODES).map(Self)
    }

    /// All runners.
    pub fn runners() -> impl Iterator<Item = Self> {
        (0..RUNNERS).map(Self::runner)
    }

    /// The host with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|host| host.name() == name)
    }

    /// Whether it is no runner.
    pub const fn is_node(self) -> bool {
        self.0 < NODES
    }

    /// Its place among all.
    pub const fn index(self) -> usize {
        self.0
    }

    /// The name of the node, or the id of the candidate.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Host> for &'static str {
    fn from(host: Host) -> Self {
        host.name()
    }
}
