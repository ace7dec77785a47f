//! Counters of a driver.

use std::collections::BTreeMap;

/// Totals since the start of a node, by what and why. Both are bounded sets of fixed words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that could not be sent.
    pub unsent: u64,
    /// Messages handled.
    pub messages: u64,
    /// Datagrams or messages dropped unread, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Messages read that had no effect, by reason.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Times this node was elected, and times a leadership of it expired.
    pub elected: u64,
    /// Times a leadership of this node ran out without having been given up.
    pub expired: u64,
    /// Failed writes to the state directory.
    pub write_failures: u64,
    /// Why the last of them failed, until everything is written again.
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
