//! Counters of a driver.

use std::collections::BTreeMap;

/// Totals since the start of a node, by kind and reason. Kinds and reasons are fixed words, so each
/// map is bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub received: u64,
    pub sent: u64,
    pub unsent: u64,
    pub messages: u64,
    /// Datagrams or messages dropped unread, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Messages read that had no effect, by reason.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Leaderships that this node has won.
    pub elected: u64,
    /// Leaderships of this node whose lease ran out.
    pub expired: u64,
    pub write_failures: u64,
    /// Error of the last failed write, until everything is written again.
    pub write_error: Option<String>,
}

impl Counters {
    pub(crate) fn drop_for(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    pub(crate) fn ignore_for(&mut self, reason: &'static str) {
        *self.ignored.entry(reason).or_default() += 1;
    }
}
