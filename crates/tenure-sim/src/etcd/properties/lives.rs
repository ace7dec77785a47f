use std::ops::{Index, IndexMut};

use super::Fact;

/// A property's state of each node, by its number; each life of a node begins with a new state.
#[derive(Debug, Default)]
pub(super) struct Lives<L>(Vec<L>);

impl<L: Default> Lives<L> {
    /// Call this with every fact, before reading the state.
    #[inline(always)]
    pub(super) fn see(&mut self, fact: Fact<'_>) {
        if let Fact::Started { node, .. } | Fact::Crashed { node } = fact {
            self.0.resize_with(self.0.len().max(node + 1), L::default);
            self.0[node] = L::default();
        }
    }
}

impl<L> Index<usize> for Lives<L> {
    type Output = L;

    fn index(&self, node: usize) -> &L {
        &self.0[node]
    }
}

impl<L> IndexMut<usize> for Lives<L> {
    fn index_mut(&mut self, node: usize) -> &mut L {
        &mut self.0[node]
    }
}
