//! The participants: three nodes and three runners.

use std::fmt;

pub(crate) const NODES: usize = 3;
pub(crate) const RUNNERS: usize = 3;

/// A participant's place in the network. The nodes come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Host(usize);

impl Host {
    const NAMES: [&'static str; NODES + RUNNERS] = ["a", "b", "c", "x", "y", "z"];

    pub const fn node(index: usize) -> Self {
        assert!(index < NODES);
        Self(index)
    }

    pub const fn runner(index: usize) -> Self {
        assert!(index < RUNNERS);
        Self(NODES + index)
    }

    /// All hosts, the nodes first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..NODES + RUNNERS).map(Self)
    }

    pub fn nodes() -> impl Iterator<Item = Self> {
        (0..NODES).map(Self)
    }

    pub fn runners() -> impl Iterator<Item = Self> {
        (0..RUNNERS).map(Self::runner)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|host| host.name() == name)
    }

    /// Whether the host is a node; otherwise it is a runner.
    pub const fn is_node(self) -> bool {
        self.0 < NODES
    }

    /// Index among all hosts.
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
