//! Values that are hashed once and shared for ever: most of a state is the same in the next one.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use siphasher::sip128::{Hasher128, SipHasher13};

/// 128 bits that stand for a value: at 10⁸ states the odds of one collision are below 10⁻²².
/// The keys are fixed, so that the same run visits the same states in the same order.
pub fn print_of(value: &impl Hash) -> u128 {
    let mut hasher = SipHasher13::new_with_keys(1, 4);
    value.hash(&mut hasher);
    hasher.finish128().as_u128()
}

/// A shared value that is compared and hashed by its print.
pub struct Known<T> {
    pub print: u128,
    value: Rc<T>,
}

impl<T> Clone for Known<T> {
    fn clone(&self) -> Self {
        Self { print: self.print, value: Rc::clone(&self.value) }
    }
}

impl<T> Deref for Known<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> PartialEq for Known<T> {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print
    }
}

impl<T> Eq for Known<T> {}

impl<T> Hash for Known<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print.hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// One copy of each value that was ever made.
pub struct Pool<T>(HashMap<u128, Known<T>>);

impl<T: Hash> Pool<T> {
    pub fn new() -> Self {
        Self(HashMap::new())
    }

    pub fn keep(&mut self, value: T) -> Known<T> {
        let print = print_of(&value);
        let known = || Known { print, value: Rc::new(value) };
        self.0.entry(print).or_insert_with(known).clone()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
