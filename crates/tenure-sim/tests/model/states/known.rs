//! Values that are hashed once and shared for ever: successive states differ in few values.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::symmetry::TWINS;

/// A print: 128 bits that stand for a value. At 10⁸ states the odds of one collision are below
/// 10⁻²². The keys are fixed, so that the same run visits the same states in the same order.
pub(crate) fn print_of(value: &impl Hash) -> u128 {
    let mut hasher = SipHasher13::new_with_keys(1, 4);
    value.hash(&mut hasher);
    hasher.finish128().as_u128()
}

/// A shared value that is compared and hashed by its print.
pub(crate) struct SharedValue<T>(Rc<Entry<T>>);

struct Entry<T> {
    print: u128,
    /// Prints of the value when nodes change places.
    twins: Cell<[u128; TWINS]>,
    value: T,
}

impl<T> SharedValue<T> {
    pub(crate) fn print(&self) -> u128 {
        self.0.print
    }

    /// Prints of the value's twins, its own first.
    pub(crate) fn twins(&self) -> [u128; TWINS] {
        self.0.twins.get()
    }

    /// Pairs the value with its `twin` under this permutation. The permutation is a symmetry only
    /// if the twin is always the same.
    pub(crate) fn pair(&self, permutation: usize, twin: &Self) {
        let mut twins = self.0.twins.get();
        let known = twins[permutation];
        assert!(known == 0 || known == twin.print(), "the core does not treat these nodes alike");
        twins[permutation] = twin.print();
        self.0.twins.set(twins);
    }
}

impl<T> Clone for SharedValue<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Deref for SharedValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> PartialEq for SharedValue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.print() == other.print()
    }
}

impl<T> Eq for SharedValue<T> {}

impl<T> Hash for SharedValue<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print().hash(state);
    }
}

/// A pool with one copy of each value.
pub(crate) struct Pool<T>(HashMap<u128, SharedValue<T>>);

impl<T: Hash> Pool<T> {
    pub(crate) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(crate) fn keep(&mut self, value: T) -> SharedValue<T> {
        let print = print_of(&value);
        let twins = Cell::new(std::array::from_fn(|n| if n == 0 { print } else { 0 }));
        let known = || SharedValue(Rc::new(Entry { print, twins, value }));
        self.0.entry(print).or_insert_with(known).clone()
    }

    /// The twin of `known` under this permutation.
    pub(crate) fn twin(&self, known: &SharedValue<T>, permutation: usize) -> SharedValue<T> {
        self.0[&known.twins()[permutation]].clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
