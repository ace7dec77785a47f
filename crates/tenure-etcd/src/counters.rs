//! Counters of a node.

use std::collections::BTreeMap;

use tenure_core::etcd::{Op, Reply};

/// Totals since the start of a node, by kind and reason. Kinds and reasons are fixed words, so each
/// map is bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Requests to etcd, by kind. Requests that had no turn in time, and were not sent, count too.
    pub requests: BTreeMap<&'static str, u64>,
    /// Answers of etcd, events of watches included.
    pub answers: u64,
    /// Requests and watches that ended without a known outcome.
    pub unknown: u64,
    /// Requests that etcd refused, or that had no turn in time.
    pub refused: u64,
    pub connections: u64,
    pub unreachable: u64,
    /// Answers and commands that had no effect, by reason.
    pub ignored: BTreeMap<&'static str, u64>,
    pub elected: u64,
    /// Leaderships of this node that ended because their lease was not renewed in time.
    pub expired: u64,
}

impl Counters {
    pub(crate) fn ask(&mut self, op: &Op) {
        let kind = match op {
            Op::Grant { .. } => "grant",
            Op::KeepAlive { .. } => "keep_alive",
            Op::Revoke { .. } => "revoke",
            Op::Txn(_) => "txn",
            Op::Watch { .. } => "watch",
            Op::Unwatch { .. } => "unwatch",
        };
        *self.requests.entry(kind).or_default() += 1;
    }

    pub(crate) fn answer(&mut self, reply: &Reply) {
        self.answers += 1;
        self.unknown += u64::from(matches!(reply, Reply::Unknown { .. }));
        self.refused += u64::from(matches!(reply, Reply::Refused(_)));
    }

    pub(crate) fn ignore_for(&mut self, reason: &'static str) {
        *self.ignored.entry(reason).or_default() += 1;
    }
}
