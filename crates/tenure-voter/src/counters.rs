//! Counters of a node.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Totals since the start of a node, by kind and reason. Kinds and reasons are bounded sets of
/// fixed words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub sent: BTreeMap<&'static str, u64>,
    /// Requests without a usable answer, by reason.
    pub failed: BTreeMap<&'static str, u64>,
    /// Requests of others that reached the protocol, by path.
    pub heard: BTreeMap<&'static str, u64>,
    /// Requests of others that did not reach the protocol, by the last word of the problem's type.
    pub refused: BTreeMap<&'static str, u64>,
    pub ignored: BTreeMap<&'static str, u64>,
    /// Times that the state directory could not be written.
    pub write_failures: u64,
    pub elected: u64,
    /// Leaderships of this node that ended because their lease was not renewed in time.
    pub expired: u64,
}

pub(crate) fn count(of: &mut BTreeMap<&'static str, u64>, label: &'static str) {
    *of.entry(label).or_default() += 1;
}

#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, u64>>);

impl Tally {
    pub(crate) fn count(&self, label: &'static str) {
        // Each change is a single addition, so a panic elsewhere leaves the map complete.
        count(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), label);
    }

    pub(crate) fn totals(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
