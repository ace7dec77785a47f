//! Counters of a node.

use std::collections::BTreeMap;

use crate::bus::Published;
use crate::subject::Kind;

/// Totals since the start of a node, by kind and reason. Kinds and reasons are fixed words, so each
/// map is bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub sent: BTreeMap<&'static str, u64>,
    /// Bytes of these packets, without subjects.
    pub sent_bytes: u64,
    /// Packets that the node dropped, because it could not publish them at once, by reason.
    pub unsent: BTreeMap<&'static str, u64>,
    /// Packets heard, this node's own included, by kind.
    pub heard: BTreeMap<&'static str, u64>,
    /// Bytes of all messages heard, including messages that are no packets.
    pub heard_bytes: u64,
    /// Messages without effect, by reason: no packets, or packets that the core ignored.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Messages that were lost because the node could not read them fast enough.
    pub lost: u64,
    pub connections: u64,
    pub unreachable: u64,
    pub elected: u64,
    /// Leaderships of this node that ended because their lease was not renewed in time.
    pub expired: u64,
}

impl Counters {
    pub(crate) fn publish(&mut self, kind: Kind, bytes: usize, published: Published) {
        let reason = match published {
            Published::Handed => {
                *self.sent.entry(kind.word()).or_default() += 1;
                self.sent_bytes += bytes as u64;
                return;
            }
            Published::NotConnected => "not_connected",
            Published::Stuck => "stuck",
            Published::TooLarge => "too_large",
        };
        *self.unsent.entry(reason).or_default() += 1;
    }

    pub(crate) fn hear(&mut self, kind: Kind) {
        *self.heard.entry(kind.word()).or_default() += 1;
    }

    pub(crate) fn ignore_for(&mut self, reason: &'static str) {
        *self.ignored.entry(reason).or_default() += 1;
    }
}
