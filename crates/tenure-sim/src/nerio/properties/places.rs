//! What properties remember of each node, election and life, at hand by their numbers.

use tenure_core::nerio::Inc;

use super::Plan;

/// A node, and an election or another node.
pub(super) type Place = (usize, usize);

/// Something for each place.
#[derive(Debug, Default)]
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
pub(super) struct ByLife<T> {
    /// Apart from what is kept of them, so that a look at all of them is one at little memory.
    lives: Vec<Inc>,
    kept: Vec<T>,
}

impl<T> Default for ByLife<T> {
    fn default() -> Self {
        Self { lives: Vec::new(), kept: Vec::new() }
    }
}

impl<T> ByLife<T> {
    fn find(&self, inc: Inc) -> Option<usize> {
        self.lives.iter().rposition(|other| *other == inc)
    }

    pub(super) fn get(&self, inc: Inc) -> Option<&T> {
        self.kept.get(self.find(inc)?)
    }

    pub(super) fn get_mut(&mut self, inc: Inc) -> Option<&mut T> {
        let known = self.find(inc)?;
        self.kept.get_mut(known)
    }

    /// What is kept of a life, or what `first` makes of it.
    pub(super) fn get_or(&mut self, inc: Inc, first: impl FnOnce() -> T) -> &mut T {
        let known = self.find(inc).unwrap_or_else(|| self.add(inc, first()));
        &mut self.kept[known]
    }

    pub(super) fn insert(&mut self, inc: Inc, new: T) {
        match self.find(inc) {
            Some(known) => self.kept[known] = new,
            None => {
                self.add(inc, new);
            }
        }
    }

    fn add(&mut self, inc: Inc, new: T) -> usize {
        self.lives.push(inc);
        self.kept.push(new);
        self.lives.len() - 1
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.kept.iter_mut()
    }
}
