//! What properties remember of each node, election and life, at hand by their numbers.

use tenure_core::nerio::Inc;

use super::Plan;

/// A node, and an election or another node.
pub(super) type Place = (usize, usize);

/// Something for each place.
#[derive(Debug)]
pub(super) struct Places<T> {
    columns: usize,
    kept: Vec<T>,
}

impl<T: Default> Places<T> {
    /// For each node and election.
    pub(super) fn by_election(plan: &Plan) -> Self {
        Self::new(plan.nodes.len(), plan.elections.len())
    }

    /// For each node and node.
    pub(super) fn by_node(plan: &Plan) -> Self {
        Self::new(plan.nodes.len(), plan.nodes.len())
    }

    fn new(rows: usize, columns: usize) -> Self {
        Self { columns, kept: (0..rows * columns).map(|_| T::default()).collect() }
    }

    /// Forgets everything about a node.
    pub(super) fn forget(&mut self, node: usize) {
        self.of(node).fill_with(T::default);
    }
}

impl<T> Places<T> {
    pub(super) fn at(&self, (node, other): Place) -> &T {
        &self.kept[node * self.columns + other]
    }

    pub(super) fn at_mut(&mut self, (node, other): Place) -> &mut T {
        &mut self.kept[node * self.columns + other]
    }

    /// Everything about a node.
    pub(super) fn of(&mut self, node: usize) -> &mut [T] {
        &mut self.kept[node * self.columns..][..self.columns]
    }
}

/// Something for each life that was met at a place: few, and the latest matter most.
#[derive(Debug)]
pub(super) struct ByLife<T>(Vec<(Inc, T)>);

impl<T> Default for ByLife<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByLife<T> {
    pub(super) fn get(&self, inc: Inc) -> Option<&T> {
        self.0.iter().rev().find(|(other, _)| *other == inc).map(|(_, kept)| kept)
    }

    pub(super) fn get_mut(&mut self, inc: Inc) -> Option<&mut T> {
        self.0.iter_mut().rev().find(|(other, _)| *other == inc).map(|(_, kept)| kept)
    }

    /// What is kept of a life, or what `first` makes of it.
    pub(super) fn get_or(&mut self, inc: Inc, first: impl FnOnce() -> T) -> &mut T {
        let known = self.0.iter().rposition(|(other, _)| *other == inc);
        let known = known.unwrap_or_else(|| {
            self.0.push((inc, first()));
            self.0.len() - 1
        });
        &mut self.0[known].1
    }

    pub(super) fn insert(&mut self, inc: Inc, new: T) {
        match self.get_mut(inc) {
            Some(kept) => *kept = new,
            None => self.0.push((inc, new)),
        }
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, kept)| kept)
    }
}
