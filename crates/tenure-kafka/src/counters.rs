//! Counters of a node.

use std::collections::BTreeMap;

use tenure_core::nele::{OwnEvent, Report, Request, Target};

/// Totals since the start of a node, and the number of roles without a leader now. Kinds and
/// reasons are bounded sets of fixed words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Records that the client has taken, of all partitions.
    pub written: u64,
    /// Records without an acknowledgement in time.
    pub unwritten: u64,
    pub read: u64,
    /// Times that partitions were assigned, revoked or lost.
    pub rebalances: u64,
    /// Interruptions of reading a partition.
    pub broken: u64,
    pub ignored: BTreeMap<&'static str, u64>,
    pub elected: u64,
    /// Leaderships of this node that ended because no record was read in time.
    pub expired: u64,
    /// Roles without a leader now, although this node owns their partitions: other processes stand
    /// for these roles, and this node does not.
    pub unfilled: u32,
    /// Times that another process of this machine, in another group, began to lead a role that this
    /// node led: both processes fail with the machine.
    pub same_host: u64,
}

impl Counters {
    pub(crate) fn hear(&mut self, report: &Report) {
        match report {
            Report::Records { records, .. } => self.read += records.len() as u64,
            Report::Rebalance(_) => self.rebalances += 1,
            Report::Broken { .. } => self.broken += 1,
            Report::Published { outcome: Err(_), .. } => self.unwritten += 1,
            _ => {}
        }
    }

    pub(crate) fn tell(&mut self, event: &OwnEvent) {
        match event {
            OwnEvent::Ignored(reason) => *self.ignored.entry(reason.label()).or_default() += 1,
            OwnEvent::Unfilled { count, .. } => self.unfilled = *count,
            OwnEvent::SameHost { .. } => self.same_host += 1,
            _ => {}
        }
    }

    pub(crate) fn ask(&mut self, request: &Request, partitions: u32) {
        if let Request::Publish { to, .. } = request {
            self.written += match to {
                Target::Every => u64::from(partitions),
                Target::One(_) => 1,
            };
        }
    }
}
